package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"", "either --url or --wok"},
		{"--url ws://x --wok y", "either --url or --wok"},
		{"ws://x y", `what is "ws://x"?`},
		{"--unknown", "unknown"},
		{"--url ws://127.0.0.1:1 --only 01-R1", "reach the relay"},
		{"--url ws://127.0.0.1:1 --only 99-R1", "no rule is called 99-R1"},
		{"--wok /nowhere/wok --only 01-R1", "start wok"},
	} {
		var out bytes.Buffer
		_, err := run(context.Background(), strings.Fields(test.args), &out, &out)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", test.args, err, test.want)
		}
	}
}

func TestList(t *testing.T) {
	var out bytes.Buffer
	if _, err := run(context.Background(), []string{"--list"}, &out, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "01-R1    MUST   the id is the hash") {
		t.Error(out.String())
	}
}
