package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr/nip19"
)

// fromNode converts a value of a file to the type of the key's field.
func (k *Key) fromNode(n Node) (any, error) {
	switch v := n.Value.(type) {
	case bool:
		if k.Type == Bool {
			return v, nil
		}
	case int64:
		if k.Type == Int || k.Type == Size {
			return k.number(v)
		}
	case string:
		if k.Type != Bool && k.Type != Int {
			return k.fromText(v)
		}
	case []Node:
		if k.Type == Kinds || k.Type == Ints {
			return k.fromList(v)
		}
	}
	return nil, k.unexpected(describe(n.Value))
}

// fromList converts a list of numbers by way of its text, so that both
// spellings have the same rules.
func (k *Key) fromList(list []Node) (any, error) {
	items := make([]string, len(list))
	for i, n := range list {
		v, ok := n.Value.(int64)
		if !ok {
			return nil, k.unexpected("a list with " + describe(n.Value))
		}
		items[i] = strconv.FormatInt(v, 10)
	}
	return k.fromText(strings.Join(items, ","))
}

// fromText converts a text, as the environment and --set give it, to the type
// of the key's field.
func (k *Key) fromText(s string) (any, error) {
	switch k.Type {
	case Bool:
		if s == "true" || s == "false" {
			return s == "true", nil
		}
	case Int:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return k.number(n)
		}
	case Size:
		if n, ok := parseSize(s); ok {
			return k.number(n)
		}
	case String:
		return s, nil
	case Pubkey:
		if h, err := parsePubkey(s); err == nil {
			return h, nil
		}
	case Kinds:
		if list, ok := parseList[uint16](s, math.MaxUint16); ok {
			return list, nil
		}
	case Ints:
		if list, ok := parseList[int](s, math.MaxInt32); ok {
			return list, nil
		}
	}
	return nil, k.unexpected(strconv.Quote(s))
}

// number checks the bounds of a number and gives it the type of the field.
func (k *Key) number(n int64) (any, error) {
	if n < k.Min || n > k.most() {
		return nil, k.unexpected(strconv.FormatInt(n, 10))
	}
	if k.Type == Int {
		return int(n), nil
	}
	return n, nil
}

// most returns the largest number that the key can have.
func (k *Key) most() int64 {
	switch {
	case k.Max != 0:
		return k.Max
	case k.Type != Int:
		return math.MaxInt64
	case k.Unit == "seconds":
		return math.MaxInt64 / int64(time.Second) // what a time.Duration holds, 292 years
	}
	return math.MaxInt32
}

// unexpected is the error of a value that the key cannot have.
func (k *Key) unexpected(found string) error {
	return fmt.Errorf("%s: expected %s, found %s", k.Name, k.expected(), found)
}

// expected says in words what values the key can have.
func (k *Key) expected() string {
	switch k.Type {
	case Bool:
		return "true or false"
	case Int:
		if k.Unit != "" {
			return "a whole number of " + k.Unit + k.bounds()
		}
		return "a whole number" + k.bounds()
	case Size:
		return `a size in bytes, as a number or a text such as "64 MiB"` + k.bounds()
	case Pubkey:
		return "a public key, as 64 hex digits or as npub"
	case Kinds:
		return `a list of kinds (0 to 65535), such as "4, 1059"`
	case Ints:
		return `a list of whole numbers, such as "1, 11"`
	}
	return "a text in double quotes"
}

func (k *Key) bounds() string {
	if k.Max != 0 {
		return fmt.Sprintf(" (%d to %d)", k.Min, k.Max)
	}
	return fmt.Sprintf(" (at least %d)", k.Min)
}

// describe says in words what a file has given.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		return "the text " + strconv.Quote(v)
	case []Node:
		return "a list"
	case Block:
		return "a block"
	}
	return fmt.Sprint(v)
}

// sizeUnits are the units of sizes, longest first: "KiB" ends in "B" too.
var sizeUnits = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}, {"", 1}}

// parseSize reads a number of bytes, with or without a unit.
func parseSize(s string) (int64, bool) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			return 0, false
		}
		return n * u.bytes, true
	}
	return 0, false
}

// parsePubkey reads a public key, or none, and returns it as lower-case hex.
func parsePubkey(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	if prefix, v, err := nip19.Decode(s); err == nil && prefix == "npub" {
		return v.(string), nil
	}
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 32 {
		return "", errors.New("not a public key")
	}
	return hex.EncodeToString(b), nil
}

// parseList reads numbers up to most with commas between them; brackets
// around them may be there or not.
func parseList[T uint16 | int](s string, most uint64) ([]T, bool) {
	s = strings.TrimSpace(s)
	if inner, ok := strings.CutPrefix(s, "["); ok {
		if s, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, false
		}
	}
	if strings.TrimSpace(s) == "" {
		return nil, true
	}
	var list []T
	for item := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(item), 10, 64)
		if err != nil || n > most {
			return nil, false
		}
		list = append(list, T(n))
	}
	return slices.Clip(list), true
}
