package main

import (
	"strings"
	"unicode"
)

// initialisms are the words that Go writes in its own way.
var initialisms = map[string]string{
	"Db": "DB", "Ip": "IP", "Tcp": "TCP", "Url": "URL", "Nips": "NIPs",
}

// goName turns a name of golpe.yaml into an exported Go name:
// realIpHeader becomes RealIPHeader.
func goName(s string) string {
	var b strings.Builder
	for _, w := range words(exported(s)) {
		if i, ok := initialisms[w]; ok {
			w = i
		}
		b.WriteString(w)
	}
	return b.String()
}

// words splits a name before each upper-case letter.
func words(s string) []string {
	var ws []string
	at := 0
	for i, r := range s {
		if i > at && unicode.IsUpper(r) {
			ws = append(ws, s[at:i])
			at = i
		}
	}
	return append(ws, s[at:])
}

func exported(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// last returns the part of a dotted name after the last dot.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// parent returns the part of a dotted name before the last dot.
func parent(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i]
	}
	return ""
}

// envName returns the environment variable that overrides a key.
func envName(name string) string {
	return "WOK_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// oneLine joins the lines of a folded text.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// wrap breaks text into lines of at most width characters, each with prefix.
func wrap(text, prefix string, width int) string {
	var b strings.Builder
	n := 0
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
			b.WriteString(prefix)
			n = len(prefix)
		case n+1+len(w) > width:
			b.WriteString("\n" + prefix)
			n = len(prefix)
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(w)
		n += len(w)
	}
	return b.String()
}
