package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// parts maps the names of key parts to the constants of package index.
var parts = map[string]string{"every": "Every", "pubkey": "Pubkey", "kind": "Kind", "tag": "Tag"}

var (
	goNameRule = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	keyRule    = regexp.MustCompile(`^[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9]*)*$`)
)

// check reports everything that is wrong with the declaration.
func (s *Spec) check() error {
	var errs []error
	errs = append(errs, s.checkTables()...)
	errs = append(errs, s.checkGroups()...)
	errs = append(errs, s.checkConfig()...)
	return errors.Join(errs...)
}

// A names notices names that are given twice.
type names map[string]bool

func (n names) add(kind, name string) error {
	if n[name] {
		return fmt.Errorf("%s %s is declared twice", kind, name)
	}
	n[name] = true
	return nil
}

func (s *Spec) checkTables() (errs []error) {
	seen, goSeen := names{}, names{}
	common := func(kind, name, goName, help string) {
		if name == "" {
			errs = append(errs, fmt.Errorf("a %s has no name", kind))
		}
		if !goNameRule.MatchString(goName) {
			errs = append(errs, fmt.Errorf("%s %s: go name %q is not an exported Go name", kind, name, goName))
		}
		if help == "" {
			errs = append(errs, fmt.Errorf("%s %s has no help", kind, name))
		}
		errs = append(errs, seen.add(kind, name), goSeen.add("go name", goName))
	}
	for _, t := range s.Tables {
		common("table", t.Name, t.Go, t.Help)
		if t.DupFixed && !t.DupSort {
			errs = append(errs, fmt.Errorf("table %s: dupFixed needs dupSort", t.Name))
		}
	}
	for _, d := range s.Indexes {
		common("index", d.Name, d.Go, d.Help)
		errs = append(errs, d.checkKey())
	}
	return errs
}

func (d Index) checkKey() error {
	if len(d.Key) == 0 {
		return fmt.Errorf("index %s has no key", d.Name)
	}
	for i, p := range d.Key {
		if parts[p] == "" {
			return fmt.Errorf("index %s: unknown key part %q", d.Name, p)
		}
		if slices.Contains(d.Key[:i], p) {
			return fmt.Errorf("index %s: key part %s stands twice", d.Name, p)
		}
		if p == "tag" && i != len(d.Key)-1 {
			return fmt.Errorf("index %s: tag has no fixed size and must stand last", d.Name)
		}
	}
	return nil
}

func (s *Spec) checkGroups() (errs []error) {
	seen := names{"": true}
	for _, g := range s.Groups {
		if !keyRule.MatchString(g.Name) {
			errs = append(errs, fmt.Errorf("group %q is not a dotted name", g.Name))
		}
		if g.Help == "" {
			errs = append(errs, fmt.Errorf("group %s has no help", g.Name))
		}
		if !seen[parent(g.Name)] {
			errs = append(errs, fmt.Errorf("group %s stands before its parent", g.Name))
		}
		errs = append(errs, seen.add("group", g.Name))
	}
	return errs
}

func (s *Spec) checkConfig() (errs []error) {
	seen, env := names{}, names{envName("config"): true}
	for _, g := range s.Groups {
		seen[g.Name] = true
	}
	for _, k := range s.Config {
		errs = append(errs, seen.add("key", k.Name), env.add("environment variable", envName(k.Name)))
		if err := s.checkKey(k); err != nil {
			errs = append(errs, fmt.Errorf("key %s: %w", k.Name, err))
		}
	}
	return errs
}

func (s *Spec) checkKey(k Key) error {
	p := parent(k.Name)
	switch {
	case !keyRule.MatchString(k.Name):
		return errors.New("not a dotted name")
	case p != "" && !slices.ContainsFunc(s.Groups, func(g Group) bool { return g.Name == p }):
		return fmt.Errorf("group %s is not declared", p)
	case !goNameRule.MatchString(k.Go):
		return fmt.Errorf("go name %q is not an exported Go name", k.Go)
	case k.Help == "":
		return errors.New("no help")
	case k.Default == nil && k.Ignored == "":
		return errors.New("no default")
	case k.Ignored != "" && k.Restart:
		return errors.New("an ignored key cannot need a restart")
	}
	t, ok := types[k.Type]
	if !ok {
		return fmt.Errorf("unknown type %q", k.Type)
	}
	if !t.ranged && (k.Min != 0 || k.Max != 0) {
		return fmt.Errorf("type %s has no range", k.Type)
	}
	if k.Default == nil {
		return nil
	}
	_, err := t.literal(k)
	return err
}
