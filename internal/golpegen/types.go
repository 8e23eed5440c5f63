package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A keyType says how a type of golpe.yaml looks in Go.
type keyType struct {
	config  string // the constant of package config
	goType  string
	ranged  bool
	literal func(Key) (string, error) // the default as a Go expression
}

var types = map[string]keyType{
	"bool":   {"Bool", "bool", false, boolLiteral},
	"int":    {"Int", "int", true, intLiteral(math.MaxInt32)},
	"size":   {"Size", "int64", true, intLiteral(math.MaxInt64)},
	"string": {"String", "string", false, stringLiteral},
	"pubkey": {"Pubkey", "string", false, stringLiteral},
	"kinds":  {"Kinds", "[]uint16", false, listLiteral("[]uint16", 16)},
	"ints":   {"Ints", "[]int", false, listLiteral("[]int", 32)},
}

func boolLiteral(k Key) (string, error) {
	b, ok := k.Default.(bool)
	if !ok {
		return "", fmt.Errorf("default %v is not a boolean", k.Default)
	}
	return strconv.FormatBool(b), nil
}

// intLiteral returns the literal function for integers up to most: an int must
// fit into 32 bits, so that the configuration means the same everywhere.
func intLiteral(most int64) func(Key) (string, error) {
	return func(k Key) (string, error) {
		n, ok := k.Default.(uint64)
		if !ok || n > uint64(most) {
			return "", fmt.Errorf("default %v is not an integer between 0 and %d", k.Default, most)
		}
		if int64(n) < k.Min || k.Max != 0 && int64(n) > k.Max {
			return "", fmt.Errorf("default %d is out of its range", n)
		}
		if k.Max > most {
			return "", fmt.Errorf("max %d is more than the type holds", k.Max)
		}
		return strconv.FormatUint(n, 10), nil
	}
}

func stringLiteral(k Key) (string, error) {
	s, ok := k.Default.(string)
	if !ok {
		return "", fmt.Errorf("default %v is not a string", k.Default)
	}
	return strconv.Quote(s), nil
}

// listLiteral returns the literal function for lists of integers of some bits,
// whose default is a string with commas.
func listLiteral(goType string, bits int) func(Key) (string, error) {
	return func(k Key) (string, error) {
		s, ok := k.Default.(string)
		if !ok {
			return "", fmt.Errorf("default %v is not a string with commas", k.Default)
		}
		if s == "" {
			return goType + "(nil)", nil
		}
		var out []string
		for item := range strings.SplitSeq(s, ",") {
			item = strings.TrimSpace(item)
			if _, err := strconv.ParseUint(item, 10, bits); err != nil {
				return "", fmt.Errorf("default: %w", err)
			}
			out = append(out, item)
		}
		return goType + "{" + strings.Join(out, ", ") + "}", nil
	}
}
