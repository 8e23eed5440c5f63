package main

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"wok/internal/testdb"
	"wok/store"
)

func TestParseRules(t *testing.T) {
	rules, err := parseRules(" kind=20000-29999,7 age=90d;; perAuthor=1000\n kind=1   maxEvents=5000000;maxSize=50GB; age=3600 ; kind=0-65535 age=2w")
	if err != nil {
		t.Fatal(err)
	}
	one := []store.KindRange{{First: 1, Last: 1}}
	want := []retentionRule{
		{"kind=20000-29999,7 age=90d", store.Rule{Kinds: []store.KindRange{{First: 20000, Last: 29999}, {First: 7, Last: 7}}, Age: 90 * 86400}},
		{"perAuthor=1000", store.Rule{PerAuthor: 1000}},
		{"kind=1 maxEvents=5000000", store.Rule{Kinds: one, MaxEvents: 5_000_000}},
		{"maxSize=50GB", store.Rule{MaxBytes: 50_000_000_000}},
		{"age=3600", store.Rule{Age: 3600}},
		{"kind=0-65535 age=2w", store.Rule{Kinds: []store.KindRange{{First: 0, Last: 65535}}, Age: 14 * 86400}},
	}
	if !reflect.DeepEqual(rules, want) {
		t.Errorf("%+v\nwant\n%+v", rules, want)
	}
	for text, reason := range map[string]string{
		"kind=1":                 "a rule has one bound",
		"age=1d perAuthor=3":     "a rule has one bound",
		"age=1d age=2d":          "age stands twice",
		"age=0":                  "0 would remove everything",
		"maxEvents=":             `maxEvents: "" is not a number`,
		"maxEvents=5k":           `"5k" is not a number`,
		"age=-1d":                `"-1d" is not a number`,
		"age=1.5d":               `"1.5d" is not a number`,
		"age=99999999999999999y": "is not a number",
		"maxSize=50 GB":          `nothing is called "GB"`,
		"kind=1,,2 age=1d":       `"" is neither a kind`,
		"kind=5-1 age=1d":        `"5-1" is neither a kind`,
		"kind=65536 age=1d":      `"65536" is neither a kind`,
		"size=3":                 `nothing is called "size"`,
	} {
		if _, err := parseRules(text); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %q", text, err, reason)
		}
	}
}

// A relay applies its rules by itself, and a mistake in them keeps it from
// starting.
func TestRelayRetains(t *testing.T) {
	dir, _ := closedDB(t, 300)
	p, _ := startRelay(t, "--db", dir, "--set", "retention.rules=kind=1 maxEvents=10; perAuthor=1", "--set", "retention.intervalSeconds=1")
	m := p.await(`msg="removed events by a rule of retention" rule="kind=1 maxEvents=10" events=(\d+)`)
	p.await(`msg="removed events by a rule of retention" rule="perAuthor=1" events=\d+`)
	p.kill()
	db, err := store.Open(store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	testdb.Check(t, db)
	in, err := db.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range in.Kinds {
		if k.Kind == 1 && k.Events > 10 {
			t.Errorf("%s events of kind 1 were removed, and %d are left", m[1], k.Events)
		}
	}

	var talk bytes.Buffer
	code := execute(t.Context(), []string{"--db", dir, "--set", "retention.rules=age=soon", "relay"}, stdio{err: &talk})
	if code != exitUsage || !strings.Contains(talk.String(), `configuration: retention.rules: "age=soon": age: `) {
		t.Errorf("exit code %d, said %s", code, talk.String())
	}
}
