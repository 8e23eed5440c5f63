package arch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestViolations breaks each rule once, in a tree of its own.
func TestViolations(t *testing.T) {
	for _, c := range []struct{ name, file, src, want string }{
		{"upwards", "index/a.go", "package index\nimport _ \"wok/store\"",
			"index/a.go:2: index must not import wok/store: index may import [packed]"},
		{"sideways", "relay/a.go", "package relay\n\nimport (\n\t_ \"wok/mesh\"\n)",
			"relay/a.go:4: relay must not import wok/mesh: "},
		{"config", "store/a.go", "package store\nimport _ \"wok/internal/config\"",
			"store/a.go:2: store must not import wok/internal/config: "},
		{"below", "store/inner/a.go", "package inner\nimport _ \"wok/relay\"",
			"store/inner/a.go:2: store/inner must not import wok/relay: "},
		{"of a test", "packed/a_test.go", "package packed_test\nimport _ \"wok/store\"",
			"packed/a_test.go:2: packed must not import wok/store: "},
		{"testdb", "packed/a.go", "package packed\nimport _ \"wok/internal/testdb\"",
			"packed/a.go:2: packed must not import wok/internal/testdb: "},
		{"unknown target", "relay/a.go", "package relay\nimport _ \"wok/util\"",
			"relay/a.go:2: relay must not import wok/util: it is not in the table"},
		{"unknown package", "util/a.go", "package util",
			"util/a.go: package util is not in the table of internal/arch/rules_test.go"},
		{"lmdb", "store/a.go", "package store\nimport _ \"github.com/PowerDNS/lmdb-go/lmdb\"",
			"store/a.go:2: only internal/lmdbx may import github.com/PowerDNS/lmdb-go/lmdb"},
		{"unsafe", "store/a_test.go", "package store\nimport _ \"unsafe\"",
			"store/a_test.go:2: only internal/lmdbx may import unsafe"},
		{"cgo", "relay/a.go", "package relay\nimport \"C\"",
			"relay/a.go:2: only nostr may import C"},
		{"exit", "relay/a.go", "package relay\nfunc f() {\n\tos.Exit(1)\n}",
			"relay/a.go:3: only func main may call os.Exit"},
		{"exit of main's friend", "cmd/wok/a.go", "package main\nfunc f() {\n\tlog.Fatalf(`x`)\n}",
			"cmd/wok/a.go:3: only func main may call log.Fatalf"},
		{"init", "relay/a.go", "package relay\nfunc init() {}",
			"relay/a.go:2: no init functions"},
		{"no doc.go", "relay/a.go", "// Package relay has its comment elsewhere.\npackage relay",
			"relay/doc.go:1: package relay needs a doc.go"},
		{"empty doc.go", "relay/doc.go", "package relay",
			"relay/doc.go:1: package relay needs a doc.go"},
	} {
		got := violations(treeOf(t, c.file, c.src))
		if !slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, c.want) }) {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAllowed: what the rules permit is not reported.
func TestAllowed(t *testing.T) {
	for _, c := range []struct{ name, file, src string }{
		{"downwards", "store/doc.go", "// Package store is documented.\npackage store\nimport _ \"wok/internal/lmdbx\""},
		{"below", "store/inner/doc.go", "// Package inner is documented.\npackage inner\nimport _ \"wok/store\""},
		{"main", "cmd/wok/doc.go", "// Command wok.\npackage main\nimport _ \"wok/internal/config\"\nfunc main() { os.Exit(1) }"},
		{"testdb in a test", "packed/a_test.go", "package packed_test\nimport _ \"wok/internal/testdb\""},
		{"unsafe", "internal/lmdbx/doc.go", "// Package lmdbx is documented.\npackage lmdbx\nimport _ \"unsafe\""},
		{"a method named init", "relay/doc.go", "// Package relay is documented.\npackage relay\nfunc (c *conn) init() {}"},
	} {
		if got := violations(treeOf(t, c.file, c.src)); len(got) != 0 {
			t.Errorf("%s: found %q", c.name, got)
		}
	}
}

// treeOf returns the tree of a single file.
func treeOf(t *testing.T, name, src string) []*source {
	t.Helper()
	root := t.TempDir()
	full := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	return tree(t, root)
}
