package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"wok/nostr"
)

// A Compression says in which form events of each kind are to be kept. The zero
// value is "off": all plain.
type Compression struct {
	rules []kindForm // the narrowest first
}

// A kindForm is the form of a span of kinds, both ends inclusive.
type kindForm struct {
	from, to uint16
	form     Form
}

// ParseCompression reads a Compression from text:
//
//	off                         all plain
//	3                           all with dictionary 3
//	1=3 30000-39999=4 *=5       by kind, span of kinds, all others
//	1059=off *=0                0: without a dictionary, which pays for long ones only
//
// Commas may stand for spaces. Of two that hold for a kind the narrower one
// counts, and of equal ones the first.
func ParseCompression(text string) (Compression, error) {
	var c Compression
	for item := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		r, err := parseKindForm(item)
		if err != nil {
			return Compression{}, fmt.Errorf("%q: %w", item, err)
		}
		c.rules = append(c.rules, r)
	}
	slices.SortStableFunc(c.rules, func(a, b kindForm) int { return cmp.Compare(a.to-a.from, b.to-b.from) })
	return c, nil
}

func parseKindForm(item string) (r kindForm, err error) {
	kinds, form, ok := strings.Cut(item, "=")
	if !ok {
		kinds, form = "*", item
	}
	if r.form, err = parseForm(form); err != nil {
		return r, err
	}
	if kinds == "*" {
		r.to = math.MaxUint16
		return r, nil
	}
	from, to, isSpan := strings.Cut(kinds, "-")
	if !isSpan {
		to = from
	}
	low, err := strconv.ParseUint(from, 10, 16)
	high, err2 := strconv.ParseUint(to, 10, 16)
	if err != nil || err2 != nil || low > high {
		return r, fmt.Errorf("expected a kind, a span such as 30000-39999, or *, before the =")
	}
	r.from, r.to = uint16(low), uint16(high)
	return r, nil
}

func parseForm(text string) (Form, error) {
	if text == "off" {
		return Plain, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return Plain, fmt.Errorf("expected off or the id of a dictionary")
	}
	return Form(n), nil
}

// Form returns the form in which events of a kind are to be kept.
func (c Compression) Form(kind uint16) Form {
	for _, r := range c.rules {
		if r.from <= kind && kind <= r.to {
			return r.form
		}
	}
	return Plain
}

// Off reports whether all events are to be kept plain.
func (c Compression) Off() bool {
	return !slices.ContainsFunc(c.rules, func(r kindForm) bool { return r.form != Plain })
}

// String returns c as ParseCompression reads it.
func (c Compression) String() string {
	if len(c.rules) == 0 {
		return "off"
	}
	var items []string
	for _, r := range c.rules {
		form := "off"
		if r.form != Plain {
			form = strconv.Itoa(int(r.form))
		}
		switch {
		case r.from == 0 && r.to == math.MaxUint16:
			items = append(items, "*="+form)
		case r.from == r.to:
			items = append(items, fmt.Sprintf("%d=%s", r.from, form))
		default:
			items = append(items, fmt.Sprintf("%d-%d=%s", r.from, r.to, form))
		}
	}
	return strings.Join(items, " ")
}

// Dictionaries returns the dictionaries that c names.
func (c Compression) Dictionaries() (ids []uint32) {
	for _, r := range c.rules {
		if id := uint32(r.form); r.form > 0 && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// SetCompression makes [DB.Encode] and [DB.KeepCompressed] follow c from now on.
// Events for which it names a dictionary that is not there stay plain until
// there is one.
func (db *DB) SetCompression(c Compression) { db.compression.Store(&c) }

// Lacking returns the dictionaries that c names and that are not there, or about
// to be removed.
func (tx *Txn) Lacking(c Compression) ([]uint32, error) {
	lacking := c.Dictionaries()
	there, err := tx.Dictionaries()
	for _, d := range there {
		if !d.Retired {
			lacking = slices.DeleteFunc(lacking, func(id uint32) bool { return id == d.ID })
		}
	}
	return lacking, err
}

// Encode returns the payload of ev, to be handed to [Batch.PutEncoded], in the
// form that the compression asks for; nil where that is plain, or nearly as
// short, or cannot be had. It takes some 50 us and is for many goroutines, so
// that the one writer need not compress.
func (db *DB) Encode(ev *nostr.Event) []byte {
	c := db.compression.Load()
	if c == nil {
		return nil
	}
	form := c.Form(ev.Packed.Kind())
	if form == Plain {
		return nil
	}
	codec, err := db.codec(context.Background(), form)
	if err != nil {
		return nil
	}
	enc, err := codec.quick()
	if err != nil {
		return nil
	}
	payload, ok := codec.appendFrame(nil, enc, ev.JSON)
	if !ok {
		return nil
	}
	return payload
}

// codec is that of a transaction of its own.
func (db *DB) codec(ctx context.Context, f Form) (c *codec, err error) {
	if c := db.codecs.get(uint32(f)); c != nil {
		return c, nil
	}
	err = db.View(ctx, func(tx *Txn) (err error) {
		c, err = tx.codec(uint32(f))
		return err
	})
	return c, err
}
