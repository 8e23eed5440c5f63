package config

import (
	"slices"
	"testing"
)

func TestFindFile(t *testing.T) {
	all := []string{"/etc/wok.conf", "./wok.conf", "/etc/strfry.conf", "./strfry.conf"}
	both := map[string]string{"WOK_CONFIG": "w", "STRFRY_CONFIG": "s"}
	for _, c := range []struct {
		flag   string
		env    map[string]string
		exists []string
		want   string
	}{
		{"f", both, all, "f"},
		{"", both, all, "w"},
		{"", map[string]string{"STRFRY_CONFIG": "s"}, all, "/etc/wok.conf"},
		{"", map[string]string{"STRFRY_CONFIG": "s"}, all[1:], "./wok.conf"},
		{"", map[string]string{"STRFRY_CONFIG": "s"}, all[2:], "s"},
		{"", nil, all[2:], "/etc/strfry.conf"},
		{"", nil, all[3:], "./strfry.conf"},
		{"", nil, nil, ""},
	} {
		got := FindFile(c.flag,
			func(name string) string { return c.env[name] },
			func(path string) bool { return slices.Contains(c.exists, path) })
		if got != c.want {
			t.Errorf("FindFile(%q, %v, %v) = %q, want %q", c.flag, c.env, c.exists, got, c.want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"port", "prot", 2}, {"kitten", "sitting", 3}, {"relay.port", "relay.ports", 1}} {
		if got := edits(c.a, c.b); got != c.want {
			t.Errorf("edits(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
