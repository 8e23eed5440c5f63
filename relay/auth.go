package relay

import (
	"crypto/rand"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"wok/nostr"
	"wok/packed"
)

// Auth says how clients prove who they are (NIP-42).
type Auth struct {
	Enabled bool
	// URLs are the relay's own, as clients know them; an AUTH must be for one of
	// their hosts. Without any, AUTH is offered only to clients that name the
	// relay by a loopback address: a name that nobody has vouched for may be
	// that of another relay, which passes our challenge on to its clients.
	URLs []nostr.RelayURL
	// Gate is before the events that only those involved may read.
	Gate nostr.Gate
	// AnyKey opens the gate to every client that has authenticated.
	AnyKey bool
}

const (
	kindAuth = 22242
	// authWindow is how far the time of an AUTH may lie from ours (42-R4).
	authWindow = 10 * time.Minute
	// maxKeys is how many keys a connection may authenticate.
	maxKeys = 64
)

// An identity is what a connection has proved of its client.
type identity struct {
	challenge string           // "" where AUTH is not offered
	urls      []nostr.RelayURL // that an AUTH may be for
	keys      [][32]byte       // authenticated, in the order they came; replaced, never changed
	reminded  bool             // the challenge has been sent once more
}

// newIdentity returns the beginning of a connection asked for by r.
func (s *Server) newIdentity(r *http.Request) identity {
	urls := s.opts.Auth.URLs
	if len(urls) == 0 && isLoopback(r.Host) {
		if u, err := nostr.ParseRelayURL("ws://" + r.Host); err == nil {
			urls = []nostr.RelayURL{u}
		}
	}
	if !s.opts.Auth.Enabled || len(urls) == 0 {
		return identity{}
	}
	return identity{challenge: rand.Text(), urls: urls}
}

// isLoopback reports whether host, with a port or without, is this machine by
// name or address.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// authenticate reads an AUTH, and answers it (42-R2). Its key counts from the
// next message on, beside those that came before (42-R3, 42-R7).
func (c *conn) authenticate(raw []byte) {
	id, _ := nostr.FindID(raw)
	ev, err := nostr.ParseEvent(raw, nostr.Limits{})
	if err == nil {
		id = ev.ID()
		err = c.checkAuth(ev)
	}
	if err == nil {
		err = c.admit([32]byte(ev.Packed.Pubkey()))
	}
	switch {
	case err == nil:
		c.send(nostr.AppendOK(nil, id, true, ""))
	case id == "":
		c.send(nostr.AppendNotice(nil, nostr.RefusalOf(err).Error()))
	default:
		c.send(nostr.AppendOK(nil, id, false, nostr.RefusalOf(err).Error()))
	}
}

// checkAuth returns what is wrong with an AUTH, the cheap to find first (42-R4).
func (c *conn) checkAuth(ev *nostr.Event) error {
	v := ev.Packed
	now, at := c.srv.opts.Now(), time.Unix(int64(v.CreatedAt()), 0)
	switch {
	case v.Kind() != kindAuth:
		return nostr.Refuse(nostr.PrefixInvalid, "an AUTH is of kind %d", kindAuth)
	case at.Before(now.Add(-authWindow)) || at.After(now.Add(authWindow)):
		return nostr.Refuse(nostr.PrefixInvalid, "an AUTH is of now, give or take %s", authWindow)
	case !hasValue(ev, "challenge", func(text string) bool { return text == c.identity.challenge }):
		return nostr.Refuse(nostr.PrefixInvalid, "this is not the challenge of this connection")
	case !hasValue(ev, "relay", c.identity.is):
		return nostr.Refuse(nostr.PrefixInvalid, "this AUTH is for another relay")
	}
	return ev.Verify()
}

// is reports whether text is a URL of this relay; its host is enough.
func (id *identity) is(text string) bool {
	u, err := nostr.ParseRelayURL(text)
	return err == nil && slices.ContainsFunc(id.urls, func(own nostr.RelayURL) bool { return own.Host() == u.Host() })
}

// hasValue reports whether the first value of some tag of that name passes.
func hasValue(ev *nostr.Event, name string, passes func(string) bool) bool {
	for tag := range ev.Tags() {
		if len(tag) > 1 && string(tag[0]) == name && passes(string(tag[1])) {
			return true
		}
	}
	return false
}

var errManyKeys = nostr.Refuse(nostr.PrefixBlocked, "a connection may authenticate %d keys", maxKeys)

// admit adds an authenticated key.
func (c *conn) admit(key [32]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := c.identity.keys
	if slices.Contains(keys, key) {
		return nil
	}
	if len(keys) == maxKeys {
		return errManyKeys
	}
	c.identity.keys = append(slices.Clip(keys), key)
	c.src.Authed = c.identity.keys
	return nil
}

// remind sends the challenge once more, before the first answer that begins with
// the word for AUTH: some clients pass over one that comes before they ask for
// anything (42-R1, 70-R2).
func (c *conn) remind(word nostr.Prefix) {
	if word != nostr.PrefixAuthRequired || c.identity.challenge == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.identity.reminded {
		c.identity.reminded = true
		c.sendText(nil, nostr.AppendAuth(nil, c.identity.challenge))
	}
}

// keys returns the authenticated keys, which are not changed.
func (c *conn) keys() [][32]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.identity.keys
}

// allows reports whether a client with these keys may see v.
func (a *Auth) allows(v packed.View, keys [][32]byte) bool {
	return a.Gate.Allows(v, keys) || a.AnyKey && len(keys) > 0
}

// viewer returns what a client with these keys may see of the matches of the
// filters, nil where that is all.
func (a *Auth) viewer(filters []*nostr.Filter, keys [][32]byte) func(packed.View) bool {
	if !slices.ContainsFunc(filters, a.Gate.Touches) || a.AnyKey && len(keys) > 0 {
		return nil
	}
	return func(v packed.View) bool { return a.allows(v, keys) }
}

// barred returns why a request with these filters cannot give anything to a
// client with these keys, nil where it can.
func (a *Auth) barred(filters []*nostr.Filter, keys [][32]byte) *nostr.Refusal {
	only := len(filters) > 0
	foreign := !a.AnyKey
	for _, f := range filters {
		only = only && a.Gate.Only(f)
		foreign = foreign && a.Gate.Foreign(f, keys)
	}
	switch {
	case !only:
		return nil
	case len(keys) == 0:
		return nostr.Refuse(nostr.PrefixAuthRequired, "these events are for those involved in them; authenticate first")
	case foreign:
		return nostr.Refuse(nostr.PrefixRestricted, "these events are between others")
	}
	return nil
}
