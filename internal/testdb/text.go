package testdb

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
)

const (
	vocabulary = 4000 // different words
	hexDigits  = "0123456789abcdef"
	bech32     = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
)

// commonWords come first in the vocabulary, so most text is made of them.
var commonWords = strings.Fields(`the to and a of i is in it you that for this on be with not are my
	but have just we all so was as if can what they at or like your from do one about no more people out
	will get up how when there an time good me by has would who think some know has new now day them see
	why than make bitcoin nostr relay zap note really only other then into because world today first us
	want need way work right been here even still its could going should very most too much where life
	years never always something great thanks love back made over app money free every man real read use
	don't it's i'm can't that's block price node keys open code client server sats run build fiat gm`)

// oddWords are what a tokenizer, an escaper or a truncation may stumble over.
var oddWords = []string{
	"café", "naïve", "Größe", "привет", "спасибо", "こんにちは", "ありがとう", "你好", "比特币", "안녕하세요",
	"مرحبا", "שלום", "नमस्ते", "ขอบคุณ", "🔥", "🤙", "⚡️", "😂😂", "👩‍👩‍👧", "🇨🇭", "e\u0301", "zero\u200bwidth",
	`"quoted"`, `C:\path\file`, "tab\there", "<b>&amp;</b>", "a\u2028b", "it\u2019s", "\u201cnice\u201d", "{\"json\":[1,2]}", "1/2", "\u007f",
}

var domains = []string{"image.example", "news.example", "video.example.com", "blog.example.org", "cdn.example.net", "git.example"}

var relays = []string{
	"wss://relay.example.com/", "wss://relay.example.org/", "wss://nos.example/", "wss://relay.example.net/inbox",
	"wss://filter.example.com/", "wss://eden.example/", "wss://purple.example/", "wss://relay.xn--exmple-cua.example/",
}

// A writer invents text.
type writer struct {
	rng      *rand.Rand
	words    []string
	wordRank chooser
	hashtags chooser
}

func newWriter(rng *rand.Rand, hashtags int) *writer {
	words := append([]string(nil), commonWords...)
	for len(words) < vocabulary {
		words = append(words, inventWord(rng))
	}
	return &writer{
		rng:      rng,
		words:    words,
		wordRank: newZipf(vocabulary, 4),
		hashtags: newZipf(hashtags, 2),
	}
}

func inventWord(rng *rand.Rand) string {
	const starts, ends = "bdfghklmnprstvwz", "nrslt"
	var b strings.Builder
	for range between(rng, 1, 4) {
		b.WriteByte(starts[rng.IntN(len(starts))])
		b.WriteByte("aeiouy"[rng.IntN(6)])
		if oneIn(rng, 2) {
			b.WriteByte(ends[rng.IntN(len(ends))])
		}
	}
	return b.String()
}

func (w *writer) word() string {
	if oneIn(w.rng, 50) {
		return oddWords[w.rng.IntN(len(oddWords))]
	}
	return w.words[w.wordRank.pick(w.rng)]
}

// text returns n words in sentences and paragraphs.
func (w *writer) text(n int) string {
	var b strings.Builder
	b.Grow(6 * n)
	for i := range n {
		b.WriteString(w.word())
		switch {
		case i == n-1:
		case oneIn(w.rng, 60):
			b.WriteString(".\n\n")
		case oneIn(w.rng, 12):
			b.WriteString(". ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// hashtag returns a tag's word without the #; few of them make up most.
func (w *writer) hashtag() string {
	i := w.hashtags.pick(w.rng)
	if i < vocabulary {
		return w.words[vocabulary-1-i]
	}
	return fmt.Sprintf("%s%d", w.words[i%vocabulary], i/vocabulary)
}

// url returns a web address; one in forty is longer than 255 bytes.
func (w *writer) url() string {
	u := "https://" + w.oneOf(domains) + "/" + w.word2()
	if oneIn(w.rng, 40) {
		return u + "?q=" + w.chars(hexDigits, between(w.rng, 240, 700))
	}
	return u + "/" + w.chars(hexDigits, 12)
}

// word2 joins two plain words, as slugs do.
func (w *writer) word2() string {
	return w.words[w.wordRank.pick(w.rng)] + "-" + w.words[w.wordRank.pick(w.rng)]
}

func (w *writer) image() string {
	return "https://" + w.oneOf(domains) + "/" + w.hex(32) + ".jpg"
}

func (w *writer) relay() string { return w.oneOf(relays) }

func (w *writer) oneOf(list []string) string { return list[w.rng.IntN(len(list))] }

// chars returns n characters of the alphabet.
func (w *writer) chars(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[w.rng.IntN(len(alphabet))]
	}
	return string(b)
}

// bytes returns n random bytes.
func (w *writer) bytes(n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += 8 {
		r := w.rng.Uint64()
		for j := i; j < min(i+8, n); j++ {
			b[j] = byte(r)
			r >>= 8
		}
	}
	return b
}

func (w *writer) hex(n int) string { return hex.EncodeToString(w.bytes(n)) }

func (w *writer) base64(n int) string { return base64.StdEncoding.EncodeToString(w.bytes(n)) }
