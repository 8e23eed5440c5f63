package conformance

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// people are the names for keys in scripts.
var people = []string{"alice", "bob", "carol", "dave", "erin"}

// expand puts in what stands in braces. A brace that no letter, digit or #
// follows is JSON's own.
func (p *player) expand(client, text string) (string, error) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		word, after, _ := strings.Cut(rest, "}")
		if word == "" || strings.ContainsAny(word[:1], "\"{ }") {
			b.WriteByte('{')
			text = rest
			continue
		}
		value, err := p.value(client, word)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		text = after
	}
}

// value returns what a word in braces stands for.
func (p *player) value(client, word string) (string, error) {
	if n, char, ok := strings.Cut(word, "*"); ok {
		if n, err := strconv.Atoi(n); err == nil {
			return strings.Repeat(char, n), nil
		}
	}
	if at, ok, err := p.time(word); ok || err != nil {
		return strconv.FormatInt(at, 10), err
	}
	name, part, _ := strings.Cut(word, ".")
	if e, ok := p.events[name]; ok {
		return e.part(part)
	}
	if v, ok := p.values[word]; ok {
		return v, nil
	}
	switch {
	case slices.Contains(people, name):
		return spelled(pubkeyOf(p.key(name)), part)
	case name == "word":
		return pubkeyOf(p.key(word))[:16], nil
	case name == "hex":
		return pubkeyOf(p.key(word)), nil
	case name == "relay":
		return relayURL(p.target.Own, part)
	case name == "challenge":
		return p.challenge(client)
	}
	return "", fmt.Errorf("nothing is called {%s}", word)
}

// time reads t, now, and either with seconds added or taken away: t+10. t is a
// little before the case began, so that what a few seconds are added to is not
// in the future.
func (p *player) time(word string) (at int64, ok bool, err error) {
	base, sign := word, ""
	if i := strings.IndexAny(word, "+-"); i >= 0 {
		base, sign = word[:i], word[i:]
	}
	switch base {
	case "t":
		at = p.began
	case "now":
		at = time.Now().Unix()
	default:
		return 0, false, nil
	}
	if sign == "" {
		return at, true, nil
	}
	n, err := strconv.ParseInt(sign, 10, 64)
	return at + n, true, err
}

// part returns a part of an event, the whole of it for "".
func (e *event) part(name string) (string, error) {
	name, spelling, _ := strings.Cut(name, ".")
	switch name {
	case "":
		return e.json, nil
	case "id":
		return spelled(e.id, spelling)
	case "pubkey":
		return spelled(e.pubkey, spelling)
	case "sig":
		return spelled(e.sig, spelling)
	case "at":
		return string(appendValue(nil, e.createdAt, escaped)), nil
	case "quoted": // as a string within JSON
		return string(appendString(nil, e.json, escaped)), nil
	}
	return "", fmt.Errorf("an event has no part %q", name)
}

func spelled(hex, how string) (string, error) {
	switch how {
	case "":
		return hex, nil
	case "upper":
		return strings.ToUpper(hex), nil
	case "half":
		return hex[:len(hex)/2], nil
	}
	return "", fmt.Errorf("no spelling %q", how)
}

// relayURL returns a URL of the relay in other words.
func relayURL(own, how string) (string, error) {
	u, err := url.Parse(own)
	if err != nil {
		return "", err
	}
	switch how {
	case "":
	case "host":
		return u.Hostname(), nil
	case "upper":
		return strings.Replace(strings.Replace(own, u.Host, strings.ToUpper(u.Host), 1), u.Scheme, strings.ToUpper(u.Scheme), 1), nil
	case "slash": // with one at the end, or without
		if rest, ok := strings.CutSuffix(own, "/"); ok {
			return rest, nil
		}
		return own + "/", nil
	case "port": // with the default one spelled out
		if u.Port() == "" {
			u.Host += map[string]string{"ws": ":80", "wss": ":443"}[u.Scheme]
		}
		return u.String(), nil
	default:
		return "", fmt.Errorf("no spelling %q of a URL", how)
	}
	return own, nil
}
