package conformance

import "testing"

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		pattern, got string
		want         bool
	}{
		{`["OK","a",true,""]`, `["OK","a",true,""]`, true},
		{`["OK","a",true,""]`, `["OK","a",false,""]`, false},
		{`["OK","a",true]`, `["OK","a",true,""]`, false},
		{`["OK","a",true,…]`, `["OK","a",true,""]`, true},
		{`["OK","a",true,…]`, `["OK","a",true]`, true},
		{`["OK","a",…]`, `["OK"]`, false},
		{`["OK",…,true,""]`, `["OK",{"x":1},true,""]`, true},
		{`["NOTICE","invalid:…"]`, `["NOTICE","invalid: what"]`, true},
		{`["NOTICE","invalid:…"]`, `["NOTICE","so invalid: what"]`, false},
		{`["NOTICE","…: …"]`, `["NOTICE","what"]`, false},
		{`["a\"…\\","…"]`, `["a\"b\\",null]`, true},
		{`["EOSE","s"]`, `["EOSE","s",["finish"]]`, true},
		{`["EOSE","s",["more"]]`, `["EOSE","s",["finish"]]`, false},
		{`["EOSE","s",["more"]]`, `["EOSE","s"]`, false},
		{`{"a":1}`, `{"b":[],"a":1}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{}`, false},
		{`{"a?":1}`, `{}`, true},
		{`{"a?":1}`, `{"a":2}`, false},
		{`{"a":{"b?":"…int"}}`, `{"a":{"b":1.5}}`, false},
		{`["…int","…bool","…text","…list"]`, `[7,true,"",[]]`, true},
		{`["…int"]`, `["7"]`, false},
		{`["…ints"]`, `[[1,2]]`, true},
		{`["…ints"]`, `[[1,"2"]]`, false},
		{`["…url"]`, `["https://x.y/z"]`, true},
		{`["…url"]`, `["mailto:x@y"]`, true},
		{`["…url"]`, `["git"]`, false},
		{`["…hex"]`, `["e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"]`, true},
		{`["…hex"]`, `["E3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"]`, false},
		{`null`, `null`, true},
		{`[1]`, `[1.0]`, false},
	} {
		p, err := newPattern(test.pattern, false)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(test.got)
		if err != nil {
			t.Fatal(err)
		}
		if p.matches(got) != test.want {
			t.Errorf("%s and %s: %v", test.pattern, test.got, !test.want)
		}
	}
}

func TestMatchesExactly(t *testing.T) {
	for _, test := range []struct {
		pattern, got string
		want         bool
	}{
		{`["EVENT",{"a":1}]`, `["EVENT",{"a":1}]`, true},
		{`["EVENT",{"a":1}]`, `["EVENT",{"a":1,"b":2}]`, false},
		{`["EVENT",{"a":1,"b?":2}]`, `["EVENT",{"a":1}]`, true},
		{`["EOSE","s"]`, `["EOSE","s",["finish"]]`, false},
	} {
		p, err := newPattern(test.pattern, true)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := decode(test.got); p.matches(got) != test.want {
			t.Errorf("%s and %s: %v", test.pattern, test.got, !test.want)
		}
	}
}
