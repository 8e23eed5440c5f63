package conformance

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestLoad holds the suite itself against the list of rules: none missing, none
// twice, each with its reason.
func TestLoad(t *testing.T) {
	suite := loaded(t)
	if len(suite.Rules) < 100 || len(suite.Without) == 0 {
		t.Errorf("%d rules and %d without a script", len(suite.Rules), len(suite.Without))
	}
	var list strings.Builder
	suite.List(&list)
	if n := strings.Count(list.String(), "\n"); n != len(suite.Rules)+len(suite.Without) {
		t.Errorf("%d lines for %d rules", n, len(suite.Rules)+len(suite.Without))
	}
}

func TestBadSuites(t *testing.T) {
	for _, test := range []struct{ name, script, without, want string }{
		{"missing", "rule 09-R1 MUST x", "nip 09 2", "rule 09-R2 has neither a script nor a reason"},
		{"twice", "rule 09-R1 MUST x\nrule 09-R1 MUST x", "nip 09 1", "is in scripts/a.txt:1 as well"},
		{"in both", "rule 09-R1 MUST x", "nip 09 1\n09-R1 MUST x\nbecause y", "is in scripts/a.txt:1 as well"},
		{"unknown", "rule 09-R2 MUST x", "nip 09 0", "scripts/a.txt:1: there is no rule 09-R2"},
		{"no reason", "", "nip 09 1\n09-R1 MUST x", "has no reason"},
		{"no number", "", "nip 09 x", "without.txt:1"},
		{"reason alone", "", "because y", "without.txt:1"},
		{"no level", "rule 09-R1 WOULD x", "", "scripts/a.txt:1: rule 09-R1 has no level"},
		{"no id", "rule R1 MUST x", "", `"R1" is no id`},
		{"no text", "rule 09-R1 MUST", "", "has no text"},
		{"no rule", "publish a", "", `"publish" outside of a rule`},
		{"case alone", "case a", "", "a case outside of a rule"},
		{"no verb", "rule 09-R1 MUST x\npulbish a", "", `scripts/a.txt:2: what is "pulbish"?`},
		{"nothing to go on with", "rule 09-R1 MUST x\n& a", "", `nothing before "&"`},
		{"another client", "rule 09-R1 MUST x\n< []\n2& []", "", `"&" cannot follow "<"`},
		{"another verb", "rule 09-R1 MUST x\nhttp GET\n| []", "", `"|" cannot follow "http"`},
		{"need of what", "needs", "", "scripts/a.txt:1: needs"},
		{"need of which", "needs nip x", "", "scripts/a.txt:1:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(fstest.MapFS{
				"scripts/a.txt": {Data: []byte(test.script)},
				"without.txt":   {Data: []byte(test.without)},
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// Lines before the first case are part of each, needs as well.
func TestCases(t *testing.T) {
	rules, err := parse("a.txt", `
needs nip 1
rule 09-R1 MUST one
needs nip 2
event a
case first
needs x=1
publish a
case second
2< []
| {}
2& null
rule 09-R2 MAY two
publish b
`)
	if err != nil {
		t.Fatal(err)
	}
	first, second, only := rules[0].Cases[0], rules[0].Cases[1], rules[1].Cases[0]
	if len(rules[0].Cases) != 2 || len(rules[1].Cases) != 1 {
		t.Fatalf("%d and %d cases", len(rules[0].Cases), len(rules[1].Cases))
	}
	if len(first.steps) != 2 || len(second.steps) != 2 || len(second.steps[1].more) != 2 || len(only.steps) != 1 {
		t.Errorf("steps %v, %v, %v", first.steps, second.steps, only.steps)
	}
	if len(first.Needs) != 3 || len(second.Needs) != 2 || len(only.Needs) != 1 {
		t.Errorf("needs %v, %v, %v", first.Needs, second.Needs, only.Needs)
	}
	if s := second.steps[1]; s.client != "2" || s.String() != "a.txt:10" {
		t.Errorf("client %q at %s", s.client, s)
	}
}

// A mistake in a script ends the run; the relay is not blamed for it.
func TestBadScripts(t *testing.T) {
	url := startToy(t, "")
	for _, line := range []string{
		"publish a",
		"> {nobody}",
		"> {alice.spelled}",
		"event a by=nobody",
		"event a knid=1",
		"event a bits=x",
		"event a bits=1", // nothing to try
		"< [",
		"find {}",
		"wait long",
		"hll h {hex} a",
	} {
		rules, err := parse("a.txt", "rule 09-R1 MUST x\n"+line)
		if err != nil {
			t.Fatal(err)
		}
		suite := &Suite{Rules: rules}
		_, err = suite.Run(t.Context(), At(url, "", nil), Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "a.txt:2: ") {
			t.Errorf("%s: error %v", line, err)
		}
	}
}
