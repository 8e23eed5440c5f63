package main

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"path"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// outputs lists the generated files by their path from the repository's root.
// The template of each has its base name.
var outputs = []string{
	"index/index_gen.go",
	"index/tables_gen.go",
	"internal/config/config_gen.go",
	"docs/config.md",
	"wok.conf",
}

// generate returns the content of the output named.
func (s *Spec) generate(output string) ([]byte, error) {
	name := path.Base(output) + ".tmpl"
	t, err := template.New(name).Funcs(funcs).ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, s); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(output, ".go") {
		return b.Bytes(), nil
	}
	src, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", output, err)
	}
	return src, nil
}

// Parts returns the index's key as constants of package index.
func (d Index) Parts() string {
	var ps []string
	for _, p := range d.Key {
		ps = append(ps, parts[p])
	}
	return strings.Join(ps, ", ")
}
