package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"wok/nostr"
)

// parseFilters reads the FILTER of a command line: one filter object or an
// array of them. The operator is under no limits.
func parseFilters(arg string) ([]*nostr.Filter, error) {
	texts := []json.RawMessage{json.RawMessage(arg)}
	if strings.HasPrefix(strings.TrimSpace(arg), "[") {
		if err := json.Unmarshal([]byte(arg), &texts); err != nil {
			return nil, usageError{fmt.Errorf("filters: %w", err)}
		}
	}
	filters := make([]*nostr.Filter, len(texts))
	for i, text := range texts {
		f, err := nostr.ParseFilter(text, nostr.FilterLimits{Each: true})
		switch {
		case err != nil && len(texts) > 1:
			return nil, usageError{fmt.Errorf("filter %d: %w", i+1, err)}
		case err != nil:
			return nil, usageError{fmt.Errorf("filter: %w", err)}
		}
		filters[i] = f
	}
	return filters, nil
}
