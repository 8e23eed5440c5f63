package packed

import (
	"fmt"
	"io"
	"time"
)

// Dump writes v to w for a person: one line a field with its offset, its bytes
// in hex and what they mean.
func Dump(w io.Writer, v View) error {
	d := dumper{w: w}
	d.field(v, offID, offPubkey, "id")
	d.field(v, offPubkey, offCreatedAt, "pubkey")
	d.field(v, offCreatedAt, offKind, "created_at %d (%s)", v.CreatedAt(), utc(v.CreatedAt()))
	d.field(v, offKind, offExpiration, "kind %d", v.Kind())
	if e := v.Expiration(); e != 0 {
		d.field(v, offExpiration, HeaderSize, "expiration %d (%s)", e, utc(e))
	} else {
		d.field(v, offExpiration, HeaderSize, "expiration never")
	}
	at := HeaderSize
	ts := v.Tags()
	for t, ok := ts.Next(); ok; t, ok = ts.Next() {
		d.field(v, at, at+len(t), "%-4s %s", t.Form(), t)
		at += len(t)
	}
	return d.err
}

// A dumper keeps the first error of a run of writes.
type dumper struct {
	w   io.Writer
	err error
}

// bytesShown is how much of a field is written in hex before it is cut.
const bytesShown = 36

func (d *dumper) field(v View, from, to int, format string, args ...any) {
	if d.err != nil {
		return
	}
	hex, more := v[from:to], ""
	if len(hex) > bytesShown {
		hex, more = hex[:bytesShown], "..."
	}
	_, d.err = fmt.Fprintf(d.w, "%5d  %-75s  %s\n", from, fmt.Sprintf("%x%s", hex, more), fmt.Sprintf(format, args...))
}

// utc writes unix seconds as a date, as far as RFC 3339 has years for it.
func utc(sec uint64) string {
	const year10000 = 253402300800
	if sec >= year10000 {
		return "after the year 9999"
	}
	return time.Unix(int64(sec), 0).UTC().Format(time.RFC3339)
}
