package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func declaration(t *testing.T) []byte {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(root, "golpe.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestOutputsAreCurrent(t *testing.T) {
	spec, err := parse(declaration(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range outputs {
		want, err := spec.generate(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale or was edited; change golpe.yaml, then run: go generate ./...", name)
		}
	}
}

// TestCheck breaks a small declaration in one place at a time.
func TestCheck(t *testing.T) {
	const good = `
tables:
  - {name: Meta, help: h}
indexes:
  - {name: tag, go: ByTag, key: [pubkey, tag], help: h}
groups:
  - {name: relay, help: h}
config:
  - {name: relay.port, type: int, default: 7777, max: 65535, help: h}
  - {name: relay.kinds, type: kinds, default: "1, 2", help: h}
`
	if _, err := parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"name: Meta, help: h", "name: Meta, help: h, dupsort: true", "dupsort"},
		{"name: Meta, help: h", "name: Meta, name: M, help: h", "already defined"},
		{"name: Meta, help: h", "name: Meta", "table Meta has no help"},
		{"name: Meta, help: h", "help: h", "has no name"},
		{"name: Meta, help: h", "name: tag, go: T, help: h", "index tag is declared twice"},
		{"name: Meta, help: h", "name: Meta, go: ByTag, help: h", "go name ByTag is declared twice"},
		{"name: Meta, help: h", "name: Meta, go: B-T, help: h", "not an exported Go name"},
		{"name: Meta, help: h", "name: Meta, dupFixed: true, help: h", "dupFixed needs dupSort"},
		{"[pubkey, tag]", "[pubkey, sig]", `unknown key part "sig"`},
		{"[pubkey, tag]", "[tag, pubkey]", "must stand last"},
		{"[pubkey, tag]", "[pubkey, pubkey]", "stands twice"},
		{"[pubkey, tag]", "[]", "has no key"},
		{"name: relay, help: h", "name: relay", "group relay has no help"},
		{"name: relay, help: h", "name: relay.info, help: h", "before its parent"},
		{"name: relay, help: h", "name: Relay, help: h", "not a dotted name"},
		{"name: relay, help: h", "name: mesh, help: h", "group relay is not declared"},
		{"name: relay.port", "name: relay.kinds", "key relay.kinds is declared twice"},
		{"name: relay.port", "name: relay.KINDS", "environment variable WOK_RELAY_KINDS is declared twice"},
		{"name: relay.port", "name: config", "environment variable WOK_CONFIG is declared twice"},
		{"name: relay.port", "name: relay", "key relay is declared twice"},
		{"type: int", "type: integer", `unknown type "integer"`},
		{"type: int", "type: bool", "type bool has no range"},
		{"default: 7777", "default: 70000", "out of its range"},
		{"default: 7777", "default: -1", "not an integer"},
		{"default: 7777", `default: "7777"`, "not an integer"},
		{"default: 7777, ", "", "no default"},
		{"default: 7777", "default: 7777, ignored: i, restart: true", "cannot need a restart"},
		{"max: 65535", "max: 5000000000", "more than the type holds"},
		{"max: 65535, help: h", "max: 65535", "key relay.port: no help"},
		{`"1, 2"`, `"1, x"`, "default"},
		{`"1, 2"`, `"65536"`, "out of range"},
		{`"1, 2"`, "12", "not a string with commas"},
	} {
		src := strings.Replace(good, c.from, c.to, 1)
		if src == good {
			t.Fatalf("%q is not in the declaration", c.from)
		}
		if _, err := parse([]byte(src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.to, err, c.want)
		}
	}
}

func TestGoName(t *testing.T) {
	for in, want := range map[string]string{
		"db": "DB", "dbParams": "DBParams", "realIpHeader": "RealIPHeader", "bind": "Bind",
		"enableTcpKeepalive": "EnableTCPKeepalive", "serviceUrl": "ServiceURL", "nips": "NIPs",
	} {
		if got := goName(in); got != want {
			t.Errorf("goName(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	if got, want := wrap("aa bb  cc\ndddd", "# ", 7), "# aa bb\n# cc\n# dddd"; got != want {
		t.Errorf("wrap = %q, want %q", got, want)
	}
}
