package main

import (
	"fmt"
	"strconv"
	"strings"
)

// Value returns the default as it stands in the configuration file.
func (k Key) Value() string {
	switch v := k.Default.(type) {
	case nil:
		return ""
	case string:
		return strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}

// Shown returns the default as documentation shows it, with its unit.
func (k Key) Shown() string {
	switch n, isInt := k.Default.(uint64); {
	case k.Default == "":
		return "none"
	case isInt && k.Type == "size":
		return humanSize(n)
	case isInt && k.Unit != "":
		return fmt.Sprintf("`%d` %s", n, k.Unit)
	}
	return fmt.Sprintf("`%v`", k.Default)
}

// humanSize shows a size in the largest unit that divides it.
func humanSize(n uint64) string {
	text := fmt.Sprintf("`%d` bytes", n)
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if size := uint64(1) << (40 - 10*i); n != 0 && n%size == 0 {
			return fmt.Sprintf("%s (%d %s)", text, n/size, unit)
		}
	}
	return text
}

// Range returns the bounds of a number in words, "" where there are none.
func (k Key) Range() string {
	switch {
	case k.Max != 0:
		return fmt.Sprintf("%d to %d", k.Min, k.Max)
	case k.Min != 0:
		return fmt.Sprintf("at least %d", k.Min)
	}
	return ""
}

// Note returns what stands below a key in the configuration file, "" where
// there is nothing to say.
func (k Key) Note() string {
	if r := k.Range(); r != "" {
		return strings.TrimSpace(r + " " + k.Unit)
	}
	return ""
}

// cell escapes text for a cell of a Markdown table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
