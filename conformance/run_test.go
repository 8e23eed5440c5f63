package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// toyRules are rules that a toy without a fault holds.
var toyRules = []string{
	"01-R1", "01-R9", "01-R11", "01-R12", "01-R13", "01-R14", "01-R15", "01-R16", "01-R17",
	"01-R23", "01-R26", "01-R27", "01-R28", "01-R30", "01-R32", "01-R33", "01-R36",
	"01-R38", "01-R39", "01-R40", "01-R42", "01-R43", "01-R45", "11-R1", "11-R2",
}

// TestFaults plays the suite with relays that are wrong in one thing each, and
// wants to see that reported under the rules that it breaks, and no others.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		fault  string
		breaks string
		got    string // part of what each failure says
	}{
		{"", "", ""},
		{"any id", "01-R1 01-R38 01-R39", `,true,""]`},
		{"no prefix", "01-R1 01-R39", `,"wrong id"]`},
		{"no reason", "01-R1 01-R39", `,""]`},
		{"OK of three", "01-R38", `true]`},
		{"duplicates fail", "01-R33 01-R38 01-R40", `false,"duplicate: known"]`},
		{"duplicates are silent", "01-R33 01-R38 01-R40", "nothing within"},
		{"ephemeral events are kept", "01-R13", "a b"},
		{"older versions are live", "01-R12 01-R16 01-R33", ""},
		{"oldest first", "01-R30", "a"},
		{"limit is ignored", "01-R28 01-R30 01-R33", ""},
		{"nothing is live", "01-R13 01-R23 01-R28 01-R32 01-R33", "nothing within"},
		{"EOSE twice", "01-R9 01-R13 01-R23 01-R28 01-R32 01-R33 01-R36", `["EOSE","`},
		{"NOTICE for CLOSED", "01-R26", `nothing within 500ms, after ["NOTICE",`},
		{"CLOSE is answered", "01-R36", `["CLOSED","s",""]`},
		{"any path", "01-R45", "101"},
		{"no CORS", "11-R2", "Access-Control-Allow-Origin: "},
		{"silent", "01-R42", "nothing within"},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			url := startToy(t, test.fault)
			breaks := strings.Fields(test.breaks)
			if len(breaks) > 0 {
				report := run(t, url, Options{Only: breaks, Timeout: 500 * time.Millisecond})
				for _, r := range report.Results {
					expectBroken(t, r, test.got)
				}
			}
			if test.fault == "silent" {
				return // breaks everything
			}
			rest := slices.DeleteFunc(slices.Clone(toyRules), func(id string) bool { return slices.Contains(breaks, id) })
			for _, r := range run(t, url, Options{Only: rest, Timeout: time.Minute}).Results {
				if r.Outcome != Held {
					t.Errorf("not held:")
					r.Print(t.Output(), true)
				}
			}
		})
	}
}

func expectBroken(t *testing.T, r *Result, got string) {
	t.Helper()
	said := slices.ContainsFunc(r.Failures, func(f *Failure) bool { return strings.Contains(f.Got, got) })
	if r.Outcome != Broken || !said {
		t.Errorf("not broken by %q:", got)
		r.Print(t.Output(), true)
	}
}

// run plays the suite with a relay that is there.
func run(t *testing.T, url string, o Options, options ...string) *Report {
	t.Helper()
	report, err := loaded(t).Run(context.Background(), At(url, "", options), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func loaded(t *testing.T) *Suite {
	t.Helper()
	suite, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return suite
}

// What a relay does not offer is not held against it.
func TestNotApplicable(t *testing.T) {
	url := startToy(t, "")
	for _, test := range []struct{ rule, reason string }{
		{"42-R3", "NIP-42 is not advertised"},
		{"13-R1", "the relay was not started with pow=8"},
	} {
		r := run(t, url, Options{Only: []string{test.rule}}).Results[0]
		if r.Outcome != NotApplicable || r.Reason != test.reason {
			t.Errorf("%s: %s, %s", test.rule, r.Outcome, r.Reason)
		}
	}
	// Said to be there, it is.
	r := run(t, url, Options{Only: []string{"13-R3"}, Timeout: time.Minute}, "pow=8").Results[0]
	expectBroken(t, r, `,true,""]`)
}

// A relay that is not there is an error of the run, and no rule is broken.
func TestUnreachable(t *testing.T) {
	for _, url := range []string{"ws://127.0.0.1:1", "http://127.0.0.1:1", "ws://[", ""} {
		report, err := loaded(t).Run(context.Background(), At(url, "", nil), Options{})
		if err == nil || len(report.Results) > 0 {
			t.Errorf("%q: %v, %d results", url, err, len(report.Results))
		}
	}
}

// The same seed makes the same keys, another one others.
func TestSeed(t *testing.T) {
	a, b := pubkeyOf(keyFor("seed", "alice")), pubkeyOf(keyFor("other", "alice"))
	if a == b || a != pubkeyOf(keyFor("seed", "alice")) {
		t.Error("keys do not follow from the seed")
	}
	url := startToy(t, "")
	one := run(t, url, Options{Only: []string{"01-R42"}})
	two := run(t, url, Options{Only: []string{"01-R42"}})
	if one.Seed == two.Seed || one.Seed == "" {
		t.Errorf("seeds %q and %q", one.Seed, two.Seed)
	}
}

func TestOnly(t *testing.T) {
	r := &Rule{ID: "01-R26", Level: Must, place: place{File: "scripts/01-4-requests.txt"}}
	for word, want := range map[string]bool{
		"01-R26": true, "01-r26": true, "01": true, "must": true, "01-4-requests": true,
		"01-R2": false, "1": false, "MAY": false, "01-4": false, "": false,
	} {
		if got := r.among([]string{word}); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
	if !r.among(nil) {
		t.Error("none asked for is not all")
	}
}
