package arch

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTree holds the whole repository against the rules.
func TestTree(t *testing.T) {
	all := tree(t, "../..")
	if len(all) < 10 {
		t.Fatalf("only %d files found", len(all))
	}
	for _, v := range violations(all) {
		t.Error(v)
	}
}

// violations returns everything that breaks a rule, each with the place to
// change.
func violations(all []*source) []string {
	var vs []string
	for _, s := range all {
		vs = append(vs, s.imports()...)
		if !s.test {
			vs = append(vs, s.calls()...)
		}
	}
	return append(vs, undocumented(all)...)
}

// imports checks the import lines of a file.
func (s *source) imports() (vs []string) {
	home, ok := ruled(s.pkg)
	if !ok {
		return []string{fmt.Sprintf("%s: package %s is not in the table of internal/arch/rules_test.go; add it, with what it may import", s.name, s.pkg)}
	}
	for _, spec := range s.file.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		if inner, ours := strings.CutPrefix(name, module+"/"); ours {
			if why := s.refuses(home, inner); why != "" {
				vs = append(vs, fmt.Sprintf("%s: %s must not import %s: %s", s.at(spec.Pos()), s.pkg, name, why))
			}
		}
		for foreign, users := range only {
			if within(name, foreign) && !slices.Contains(users, home) {
				vs = append(vs, fmt.Sprintf("%s: only %s may import %s", s.at(spec.Pos()), strings.Join(users, ", "), name))
			}
		}
	}
	return vs
}

// refuses says why a file of the package home must not import inner, a package
// of this module; "" where it may.
func (s *source) refuses(home, inner string) string {
	target, ok := ruled(inner)
	users := allowed[home]
	switch {
	case !ok:
		return "it is not in the table of internal/arch/rules_test.go"
	case target == home, slices.Contains(users, anything), slices.Contains(users, target):
		return ""
	case s.test && slices.Contains(forTests, target):
		return ""
	}
	return fmt.Sprintf("%s may import [%s]", home, strings.Join(users, " "))
}

// calls finds init functions, and ends of the process outside of func main.
func (s *source) calls() (vs []string) {
	for _, decl := range s.file.Decls {
		f, isFunc := decl.(*ast.FuncDecl)
		if isFunc && f.Recv == nil && f.Name.Name == "init" {
			vs = append(vs, s.at(f.Pos())+": no init functions; let the constructor do it")
		}
		if isFunc && f.Recv == nil && f.Name.Name == "main" && s.file.Name.Name == "main" {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if name := ender(call); name != "" {
					vs = append(vs, fmt.Sprintf("%s: only func main may call %s; return an error", s.at(call.Pos()), name))
				}
			}
			return true
		})
	}
	return vs
}

// ender returns the name of a called function that ends the process.
func ender(call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	switch name := pkg.Name + "." + sel.Sel.Name; name {
	case "os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln":
		return name
	}
	return ""
}

// undocumented finds packages without a package comment in doc.go.
func undocumented(all []*source) (vs []string) {
	documented := map[string]bool{}
	for _, s := range all {
		if !s.test {
			doc := path.Base(s.name) == "doc.go" && s.file.Doc != nil
			documented[s.pkg] = documented[s.pkg] || doc
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(documented)) {
		if !documented[pkg] {
			vs = append(vs, fmt.Sprintf("%s/doc.go:1: package %s needs a doc.go with a package comment", pkg, pkg))
		}
	}
	return vs
}
