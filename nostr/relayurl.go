package nostr

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"
)

// A RelayURL is the address of a relay in the one form in which equal strings
// mean the same relay: host in lower case and path, without scheme, query,
// trailing slash, or a port that is the default of either scheme. Whether ws or
// wss is spoken makes no other relay of it, as a proxy may do the encryption.
//
//	WSS://Relay.Example.com:443/   relay.example.com
//	ws://relay.example.com/inbox/  relay.example.com/inbox
type RelayURL string

// maxRelayURL bounds what is parsed as the URL of a relay, in bytes.
const maxRelayURL = 2048

var errRelayURL = errors.New("not the URL of a relay")

// ParseRelayURL returns the relay that text names. The scheme is ws, wss, http
// or https.
func ParseRelayURL(text string) (RelayURL, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxRelayURL {
		return "", fmt.Errorf("%w: %d bytes", errRelayURL, len(text))
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil {
		return "", fmt.Errorf("%w: %s", errRelayURL, Excerpt(text))
	}
	switch u.Scheme {
	case "ws", "wss", "http", "https":
	default:
		return "", fmt.Errorf("%w: %s", errRelayURL, Excerpt(text))
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "" || !isHost(host) {
		return "", fmt.Errorf("%w: %s", errRelayURL, Excerpt(text))
	}
	if strings.Contains(host, ":") {
		ip, err := netip.ParseAddr(host)
		if err != nil {
			return "", fmt.Errorf("%w: %s", errRelayURL, Excerpt(text))
		}
		host = "[" + ip.String() + "]" // of the many ways to write it
	}
	switch p := u.Port(); p {
	case "", "80", "443":
	default:
		host += ":" + p
	}
	normal := RelayURL(host + strings.TrimRight(u.EscapedPath(), "/"))
	if len("https://")+len(normal) > maxRelayURL { // escapes take three times the room
		return "", fmt.Errorf("%w: %d bytes", errRelayURL, len(normal))
	}
	return normal, nil
}

// isHost reports whether a lower-case host is made of what hosts are made of;
// letters beyond ASCII are for whoever resolves them.
func isHost(host string) bool {
	emptyLabel := strings.HasPrefix(host, ".") || strings.HasSuffix(host, ".") || strings.Contains(host, "..")
	return !emptyLabel && !strings.ContainsFunc(host, func(r rune) bool {
		return r < utf8.RuneSelf && !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune(".-_:", r))
	})
}

// Host returns the relay's host, with its port unless that is the default one.
func (u RelayURL) Host() string {
	host, _, _ := strings.Cut(string(u), "/")
	return host
}
