package config

import (
	"iter"
	"reflect"
	"slices"
	"strings"
)

// A Type is the type of a key's value.
type Type uint8

// The types of keys, with the type of their field.
const (
	Bool   Type = iota // bool
	Int                // int
	Size               // int64, bytes
	String             // string
	Pubkey             // string, 64 hex digits or empty; given as hex or npub
	Kinds              // []uint16
	Ints               // []int
)

// A Key declares one configuration key.
type Key struct {
	Name     string // dotted
	Type     Type
	Unit     string // of a number
	Min, Max int64  // of a number; a Max of 0 is none
	Restart  bool   // cannot change in a running relay
	Help     string
	Ignored  string // why the key has no effect; empty for all others
	harmless any    // the value of an ignored key that asks for nothing else
}

// Keys returns every key, in the order of golpe.yaml.
func Keys() []Key { return slices.Clone(keys[:]) }

// Env returns the name of the environment variable that overrides the key.
func (k *Key) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// find returns the number of the key that is named name.
func find(name string) (int, bool) {
	i := slices.IndexFunc(keys[:], func(k Key) bool { return k.Name == name })
	return i, i >= 0
}

// isGroup reports whether name is a group of keys.
func isGroup(name string) bool {
	return slices.ContainsFunc(keys[:], func(k Key) bool { return strings.HasPrefix(k.Name, name+".") })
}

// A Setting is a key and the value it has.
type Setting struct {
	Key    Key
	Value  any    // bool, int, int64, string, []uint16 or []int
	Source string // "default", "FILE:LINE", the variable's name, or "--set"
}

// Settings yields every key that has an effect, with its value.
func (c *Config) Settings() iter.Seq[Setting] {
	return func(yield func(Setting) bool) {
		for i, f := range c.fields() {
			if f != nil && !yield(Setting{keys[i], deref(f), c.source(i)}) {
				return
			}
		}
	}
}

func (c *Config) source(i int) string {
	if c.sources[i] == "" {
		return "default"
	}
	return c.sources[i]
}

// A Change is a key that has different values in two configurations.
type Change struct {
	Key      Key
	Old, New any
}

// Diff returns the keys whose values differ between two configurations.
func Diff(old, new *Config) []Change {
	var cs []Change
	of, nf := old.fields(), new.fields()
	for i := range keys {
		if of[i] == nil {
			continue
		}
		if o, n := deref(of[i]), deref(nf[i]); !reflect.DeepEqual(o, n) {
			cs = append(cs, Change{keys[i], o, n})
		}
	}
	return cs
}

// deref returns what the pointer to a field points to.
func deref(field any) any { return reflect.ValueOf(field).Elem().Interface() }
