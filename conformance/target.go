package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A Target is a relay to be asked.
type Target struct {
	URL  string // where it is reached: ws:// or wss://
	Own  string // the URL by which it knows itself; AUTH and vanish name it
	NIPs []int  // that it advertises; none without a document
}

// open completes a target by what its document says. A relay without one
// advertises nothing.
func (t *Target) open(ctx context.Context, timeout time.Duration) error {
	if t.Own == "" {
		t.Own = t.URL
	}
	address, err := t.http("")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/nostr+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("reach the relay: %w", err)
	}
	defer resp.Body.Close()
	var doc struct {
		NIPs []int `json:"supported_nips"`
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return fmt.Errorf("read the relay's document: %w", err)
	}
	if json.Unmarshal(body, &doc) == nil {
		t.NIPs = doc.NIPs
	}
	return nil
}

// http returns the URL for plain requests, with path added to its own.
func (t *Target) http(path string) (string, error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return "", fmt.Errorf("url %q: %w", t.URL, err)
	}
	switch u.Scheme {
	case "ws":
		u.Scheme = "http"
	case "wss":
		u.Scheme = "https"
	default:
		return "", fmt.Errorf("url %q: neither ws:// nor wss://", t.URL)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/" + strings.TrimPrefix(path, "/")
	return u.String(), nil
}

// A Source gives a relay that has been started with the options, nil where
// there is none such. The same options may be asked for again.
type Source func(ctx context.Context, options []string) (*Target, error)

// At is the source of one running relay. own is its URL as it knows itself, ""
// if that is url; options are what it has been started with, beside what its
// document tells.
func At(address, own string, options []string) Source {
	t := &Target{URL: address, Own: own}
	return func(_ context.Context, wanted []string) (*Target, error) {
		for _, o := range wanted {
			if !slices.Contains(options, o) {
				return nil, nil
			}
		}
		return t, nil
	}
}
