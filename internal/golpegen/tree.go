package main

import (
	"fmt"
	"slices"
	"strings"
)

// A Struct is a Go struct of the configuration: the whole or one group.
type Struct struct {
	Type   string
	Field  string // in its parent
	Name   string // dotted, "" for the root
	Doc    string
	Help   string
	Keys   []Key
	Groups []*Struct
}

// Root reports whether the struct is the whole configuration.
func (st *Struct) Root() bool { return st.Name == "" }

// Structs returns the structs of the configuration, the root first, groups
// before their subgroups. Keys without effect have no field, and groups of
// nothing but such keys no struct.
func (s *Spec) Structs() []*Struct {
	root := &Struct{Type: "Config", Doc: "the whole configuration, a plain value."}
	all := []*Struct{root}
	byName := map[string]*Struct{"": root}
	for _, g := range s.Groups {
		st := &Struct{
			Type:  goPath(g.Name, ""),
			Field: goName(last(g.Name)),
			Name:  g.Name,
			Help:  g.Help,
			Doc:   fmt.Sprintf("the group %s: %s", g.Name, g.Help),
		}
		byName[g.Name] = st
		all = append(all, st)
	}
	for _, k := range s.Live() {
		st := byName[parent(k.Name)]
		st.Keys = append(st.Keys, k)
	}
	for _, st := range slices.Backward(all[1:]) {
		if p := byName[parent(st.Name)]; len(st.Keys)+len(st.Groups) > 0 {
			p.Groups = slices.Insert(p.Groups, 0, st)
		}
	}
	return slices.DeleteFunc(all, func(st *Struct) bool { return len(st.Keys)+len(st.Groups) == 0 })
}

// Live returns the keys that have an effect.
func (s *Spec) Live() []Key {
	return slices.DeleteFunc(slices.Clone(s.Config), func(k Key) bool { return k.Ignored != "" })
}

// Dead returns the keys that have none.
func (s *Spec) Dead() []Key {
	return slices.DeleteFunc(slices.Clone(s.Config), func(k Key) bool { return k.Ignored == "" })
}

// Differing returns the keys whose default is not strfry's.
func (s *Spec) Differing() []Key {
	return slices.DeleteFunc(slices.Clone(s.Config), func(k Key) bool { return k.Strfry == "" })
}

// goPath turns a dotted name into its Go names, joined by sep.
func goPath(name, sep string) string {
	var ps []string
	for p := range strings.SplitSeq(name, ".") {
		ps = append(ps, goName(p))
	}
	return strings.Join(ps, sep)
}

// Path returns the Go selector of the key's field in Config.
func (k Key) Path() string {
	if p := parent(k.Name); p != "" {
		return goPath(p, ".") + "." + k.Go
	}
	return k.Go
}

// GoType returns the Go type of the key's field.
func (k Key) GoType() string { return types[k.Type].goType }

// Constant returns the type's constant of package config.
func (k Key) Constant() string { return types[k.Type].config }

// HasDefault reports whether the key has a default; only ignored ones may not.
func (k Key) HasDefault() bool { return k.Default != nil }

// Literal returns the default as a Go expression. The check has seen to it
// that there is one.
func (k Key) Literal() (string, error) { return types[k.Type].literal(k) }

// Doc returns the comment of the key's field.
func (k Key) Doc() string {
	if k.Unit == "" {
		return k.Help
	}
	return fmt.Sprintf("%s (%s)", k.Help, k.Unit)
}
