package main

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// A Spec is golpe.yaml.
type Spec struct {
	Tables  []Table `yaml:"tables"`
	Indexes []Index `yaml:"indexes"`
	Groups  []Group `yaml:"groups"`
	Config  []Key   `yaml:"config"`
}

// A Table is a table of the database that is not an index.
type Table struct {
	Name       string `yaml:"name"`
	Go         string `yaml:"go"` // Go name, the name itself where empty
	IntegerKey bool   `yaml:"integerKey"`
	DupSort    bool   `yaml:"dupSort"`
	DupFixed   bool   `yaml:"dupFixed"`
	Help       string `yaml:"help"`
}

// An Index is a table of postings.
type Index struct {
	Name string   `yaml:"name"`
	Go   string   `yaml:"go"`
	Key  []string `yaml:"key"` // names of key parts
	Help string   `yaml:"help"`
}

// A Group is a group of configuration keys.
type Group struct {
	Name string `yaml:"name"` // dotted
	Help string `yaml:"help"`
}

// A Key is one configuration key.
type Key struct {
	Name    string `yaml:"name"` // dotted
	Go      string `yaml:"go"`   // Go name of the last part
	Type    string `yaml:"type"`
	Unit    string `yaml:"unit"`
	Default any    `yaml:"default"` // nil only where ignored
	Min     int64  `yaml:"min"`
	Max     int64  `yaml:"max"` // 0: none
	Restart bool   `yaml:"restart"`
	Strfry  string `yaml:"strfry"`  // strfry's default, where worth a word
	Ignored string `yaml:"ignored"` // why the key has no effect
	Help    string `yaml:"help"`
}

// parse reads and checks a declaration. Fields that it does not know are
// errors, as are keys given twice.
func parse(src []byte) (*Spec, error) {
	var s Spec
	if err := yaml.UnmarshalWithOptions(src, &s, yaml.Strict()); err != nil {
		return nil, err
	}
	s.fill()
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("golpe.yaml: %w", err)
	}
	return &s, nil
}

// fill derives what may be left out.
func (s *Spec) fill() {
	for i := range s.Tables {
		if t := &s.Tables[i]; t.Go == "" {
			t.Go = t.Name
		}
		s.Tables[i].Go = exported(s.Tables[i].Go)
		s.Tables[i].Help = oneLine(s.Tables[i].Help)
	}
	for i := range s.Indexes {
		s.Indexes[i].Help = oneLine(s.Indexes[i].Help)
	}
	for i := range s.Groups {
		s.Groups[i].Help = oneLine(s.Groups[i].Help)
	}
	for i := range s.Config {
		k := &s.Config[i]
		if k.Go == "" {
			k.Go = goName(last(k.Name))
		}
		if k.Type == "size" && k.Unit == "" {
			k.Unit = "bytes"
		}
		k.Help = oneLine(k.Help)
	}
}
