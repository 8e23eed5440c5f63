package nostr_test

import (
	"strings"
	"testing"

	"wok/nostr"
)

// 42-R4, 62-R1: what names the same relay.
func TestParseRelayURL(t *testing.T) {
	for text, want := range map[string]string{
		"wss://relay.example.com":                 "relay.example.com",
		"WSS://Relay.EXAMPLE.com:443/":            "relay.example.com",
		" ws://relay.example.com:80// ":           "relay.example.com",
		"https://relay.example.com.":              "relay.example.com",
		"http://relay.example.com":                "relay.example.com",
		"wss://relay.example.com:7777":            "relay.example.com:7777",
		"ws://relay.example.com:443":              "relay.example.com",
		"wss://relay.example.com/Inbox/":          "relay.example.com/Inbox",
		"wss://relay.example.com/a?b=C":           "relay.example.com/a",
		"wss://relay.example.com/#there":          "relay.example.com",
		"ws://[::1]:80":                           "[::1]",
		"ws://[FE80::1]:7777/x":                   "[fe80::1]:7777/x",
		"wss://user@relay.example.com":            "",
		"relay.example.com":                       "",
		"ALL_RELAYS":                              "",
		"wss://":                                  "",
		"wss:relay.example.com":                   "",
		"ftp://relay.example.com":                 "",
		"wss://relay.example.com:x":               "",
		"":                                        "",
		"wss://a b":                               "",
		"ws://::":                                 "",
		"ws://[::]":                               "[::]",
		"ws://[0:0::1]:7777":                      "[::1]:7777",
		"wss://.":                                 "",
		"wss://bücher.example":                    "bücher.example",
		"wss://\x00":                              "",
		"wss://" + strings.Repeat("x", 3000):      "",
		"wss://relay.example.com/%2F" + "/" + "/": "relay.example.com/%2F",
	} {
		got, err := nostr.ParseRelayURL(text)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%.60q is %q, %v; want %q", text, got, err, want)
		}
		if err == nil {
			if again, err := nostr.ParseRelayURL("wss://" + string(got)); err != nil || again != got {
				t.Errorf("%q parsed again is %q, %v", got, again, err)
			}
		}
	}
	if got := nostr.RelayURL("[::1]:7777/x").Host(); got != "[::1]:7777" {
		t.Errorf("host %q", got)
	}
}

func FuzzParseRelayURL(f *testing.F) {
	for _, text := range []string{"wss://a.b/c?d#e", "ws://[::1]:80", "wss://a:443//", "wss://%41", "http://a?"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := nostr.ParseRelayURL(text)
		if err != nil {
			return
		}
		if again, err := nostr.ParseRelayURL("wss://" + string(u)); err != nil || again != u {
			t.Errorf("%q is %q, and that %q, %v", text, u, again, err)
		}
	})
}
