package relay

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

func (r *testRelay) request(method, path string, header ...string) (*http.Response, string) {
	r.t.Helper()
	req, err := http.NewRequest(method, "http://"+r.addr+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res, string(body)
}

// TestDocument asks for the NIP-11 document (11-R1, 11-R3, 11-R4, 11-R7).
func TestDocument(t *testing.T) {
	r := startRelay(t, func(o *Options) {
		o.Info = Info{Name: "a <b>", Description: "d", Pubkey: strings.Repeat("1", 64), Contact: "mailto:x", Software: "https://example.com/wok"}
		o.Limits = Limits{MaxMessageBytes: 1000, MaxSubs: 7, MaxLimit: 50, DefaultLimit: 20,
			MaxEventTags: 9, MaxEventBytes: 500, NewestEvent: 15 * time.Minute}
		o.Hints = true
		o.Version = "1.2.3"
	})
	res, body := r.request("GET", "/", "Accept", nostrJSON)
	if got := res.Header.Get("Content-Type"); got != nostrJSON {
		t.Errorf("Content-Type %q", got)
	}
	want := `{"name":"a <b>","description":"d","pubkey":"` + strings.Repeat("1", 64) + `","contact":"mailto:x",` +
		`"supported_nips":[1,2,9,11,40,45,62,67],"software":"https://example.com/wok","version":"1.2.3","limitation":{"max_message_length":1000,` +
		`"max_subscriptions":7,"max_limit":50,"default_limit":20,"max_subid_length":64,"max_event_tags":9,` +
		`"max_content_length":500,"min_pow_difficulty":0,"auth_required":false,"payment_required":false,` +
		`"restricted_writes":false,"created_at_upper_limit":900}}` + "\n"
	if body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}

// TestNIPsAreTrue checks that only what is on is claimed (11-R7).
func TestNIPsAreTrue(t *testing.T) {
	r := startRelay(t, func(o *Options) { o.Limits.NoCount = true })
	_, body := r.request("GET", "/", "Accept", nostrJSON)
	var doc struct {
		SupportedNIPs []int `json:"supported_nips"`
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(doc.SupportedNIPs, []int{1, 2, 9, 11, 40, 62}) {
		t.Errorf("claims %v", doc.SupportedNIPs)
	}
}

func TestWantsDocument(t *testing.T) {
	for accept, want := range map[string]bool{
		"application/nostr+json":                        true,
		"Application/Nostr+JSON; charset=utf-8":         true,
		"text/html;q=0.5, application/nostr+json":       true,
		"application/json, application/nostr+json, */*": true,
		"application/nostr+json;q=0.3, text/html":       false,
		"application/nostr+json;q=0":                    false,
		"text/html,application/xhtml+xml,*/*;q=0.8":     false,
		"*/*":                        false,
		"":                           false,
		"application/nostr+json+rpc": false,
		"text/plain, application/nostr+json ; q = nonsense": false,
	} {
		if got := wantsDocument([]string{accept}); got != want {
			t.Errorf("Accept: %s: %v", accept, got)
		}
	}
	if !wantsDocument([]string{"text/plain", nostrJSON}) {
		t.Error("a second header line is not read")
	}
}

// TestRoutes: one path only (01-R45); any web page may ask (11-R2).
func TestRoutes(t *testing.T) {
	r := startRelay(t)
	tests := []struct {
		method, path string
		status       int
	}{
		{"GET", "/", 200}, {"HEAD", "/", 200}, {"GET", "/?x=1", 200}, {"OPTIONS", "/", 204},
		{"GET", "/relay", 404}, {"OPTIONS", "/relay", 404}, {"GET", "//", 404}, {"GET", "/favicon.ico", 404},
		{"POST", "/", 405}, {"DELETE", "/", 405},
	}
	for _, tt := range tests {
		res, _ := r.request(tt.method, tt.path)
		if res.StatusCode != tt.status {
			t.Errorf("%s %s: %d, want %d", tt.method, tt.path, res.StatusCode, tt.status)
		}
		for _, name := range []string{"Origin", "Headers", "Methods"} {
			if res.Header.Get("Access-Control-Allow-"+name) == "" {
				t.Errorf("%s %s: no Access-Control-Allow-%s", tt.method, tt.path, name)
			}
		}
	}
	_, res, err := websocket.DefaultDialer.Dial(r.url()+"/relay", nil)
	if err == nil || res.StatusCode != 404 {
		t.Errorf("a websocket on another path: %v", err)
	}
	ws, _, err := websocket.DefaultDialer.Dial(r.url(), http.Header{"Origin": {"https://elsewhere.example"}})
	if err != nil {
		t.Fatalf("a websocket of a web page: %v", err)
	}
	ws.Close()
}

// TestLanding checks that what the operator wrote is text on the page.
func TestLanding(t *testing.T) {
	r := startRelay(t, func(o *Options) {
		o.Info = Info{Name: "<script>alert(1)</script>", Description: `"&<`, Icon: "javascript:alert(2)"}
	})
	res, body := r.request("GET", "/")
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		t.Errorf("Content-Type %q", res.Header.Get("Content-Type"))
	}
	for _, bad := range []string{"<script", "javascript:"} {
		if strings.Contains(body, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	for _, good := range []string{"ws://" + r.addr, "&lt;script&gt;", "&amp;&lt;"} {
		if !strings.Contains(body, good) {
			t.Errorf("the page has no %s", good)
		}
	}
}

func TestWebsocketURL(t *testing.T) {
	for _, tt := range []struct{ host, proto, want string }{
		{"relay.example.com", "", "wss://relay.example.com"},
		{"relay.example.com", "http", "ws://relay.example.com"},
		{"relay.example.com:7777", "", "ws://relay.example.com:7777"},
		{"127.0.0.1", "", "ws://127.0.0.1"},
		{"localhost", "https", "wss://localhost"},
	} {
		req := httptest.NewRequest("GET", "/", nil)
		req.Host = tt.host
		if tt.proto != "" {
			req.Header.Set("X-Forwarded-Proto", tt.proto)
		}
		if got := websocketURL(req); got != tt.want {
			t.Errorf("%s, %q: %s, want %s", tt.host, tt.proto, got, tt.want)
		}
	}
}

func TestSource(t *testing.T) {
	for _, tt := range []struct {
		header string
		values []string
		want   string
	}{
		{"", []string{"1.2.3.4"}, "IP4 192.0.2.1"},
		{"X-Real-Ip", nil, "IP4 192.0.2.1"},
		{"X-Real-Ip", []string{"1.2.3.4"}, "IP4 1.2.3.4"},
		{"X-Real-Ip", []string{"::ffff:1.2.3.4"}, "IP4 1.2.3.4"},
		{"X-Real-Ip", []string{"[2001:db8::1]:443"}, "IP6 2001:db8::1"},
		{"X-Real-Ip", []string{"fe80::1%eth0"}, "IP6 fe80::1"},
		{"X-Real-Ip", []string{"9.9.9.9, 1.2.3.4"}, "IP4 1.2.3.4"},
		{"X-Real-Ip", []string{"9.9.9.9", "1.2.3.4:55"}, "IP4 1.2.3.4"},
		{"X-Real-Ip", []string{"nonsense"}, "IP4 192.0.2.1"},
	} {
		s := New(nil, Options{RealIPHeader: tt.header})
		req := httptest.NewRequest("GET", "/", nil)
		for _, v := range tt.values {
			req.Header.Add("X-Real-Ip", v)
		}
		src := s.source(req)
		if got := src.Kind.String() + " " + src.Info; got != tt.want {
			t.Errorf("%s %q: %s, want %s", tt.header, tt.values, got, tt.want)
		}
	}
}

// TestDeflateOffers has clients offer compression in all ways. What cannot be
// kept to is declined.
func TestDeflateOffers(t *testing.T) {
	r := startRelay(t, func(o *Options) { o.Compression = true })
	for offer, want := range map[string]bool{
		"":                   false,
		"permessage-deflate": true,
		"permessage-deflate; client_max_window_bits":                           true,
		"permessage-deflate; server_max_window_bits=9":                         false,
		"permessage-deflate; server_max_window_bits=9, permessage-deflate":     true,
		"permessage-bzip2, permessage-deflate; server_no_context_takeover":     true,
		"permessage-deflate;client_max_window_bits; server_max_window_bits=12": false,
	} {
		req, err := http.NewRequest(http.MethodGet, "http://"+r.addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
			"Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}, extensions: {offer}}
		answer, err := http.DefaultTransport.RoundTrip(req)
		if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
			t.Fatal(offer, answer, err)
		}
		answer.Body.Close()
		if got := answer.Header.Get(extensions) != ""; got != want {
			t.Errorf("%q: answered %q", offer, answer.Header.Get(extensions))
		}
	}
}
