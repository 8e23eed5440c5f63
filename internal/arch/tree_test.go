package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const module = "wok"

// A source is one parsed Go file.
type source struct {
	name string // path from the root
	pkg  string // directory from the root
	test bool
	file *ast.File
	fset *token.FileSet
}

// at names a place for people to go to.
func (s *source) at(p token.Pos) string {
	return fmt.Sprintf("%s:%d", s.name, s.fset.Position(p).Line)
}

// tree parses every Go file under root, testdata and hidden directories aside.
func tree(t *testing.T, root string) []*source {
	t.Helper()
	var all []*source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		s, err := parse(root, name)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func parse(root, name string) (*source, error) {
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return nil, err
	}
	rel = filepath.ToSlash(rel)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	return &source{rel, path.Dir(rel), strings.HasSuffix(rel, "_test.go"), file, fset}, err
}

// within reports whether a path is dir or lies below it.
func within(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// ruled returns the package whose rules hold for pkg: itself or the nearest
// parent in the table.
func ruled(pkg string) (string, bool) {
	for ; pkg != "."; pkg = path.Dir(pkg) {
		if _, ok := allowed[pkg]; ok {
			return pkg, true
		}
	}
	return "", false
}
