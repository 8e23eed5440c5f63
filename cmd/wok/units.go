package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A unit is a word behind a number, and what it makes of it.
type unit struct {
	name  string
	times uint64
}

// Units, those first that others end in.
var (
	timeUnits = []unit{{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 7 * 86400}, {"y", 365 * 86400}, {"", 1}}
	sizeUnits = []unit{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
	}
	countUnits = []unit{{"", 1}}
)

// parseUnits reads a number with one of the units behind it: 90d, 50GB.
func parseUnits(text string, units []unit) (uint64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || n > math.MaxInt64/u.times {
			break
		}
		return n * u.times, nil
	}
	var names []string
	for _, u := range units {
		if u.name != "" {
			names = append(names, u.name)
		}
	}
	if len(names) == 0 {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return 0, fmt.Errorf("%q is not a number, with %s behind it or nothing", text, strings.Join(names, ", "))
}
