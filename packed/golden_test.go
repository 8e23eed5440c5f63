package packed

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// everyForm is an event with a tag of each form and the values that could be
// taken for another: none, 32 bytes, 64 digits of upper case, 255 and 256
// bytes.
func everyForm() View {
	h := Header{CreatedAt: 1700000000, Kind: 30023, Expiration: 1800000000}
	for i := range h.ID {
		h.ID[i], h.Pubkey[i] = byte(i), 0xff-byte(i)
	}
	b := AppendHeader(nil, &h)
	for _, tag := range []struct {
		letter byte
		value  string
	}{
		{'d', ""},
		{'t', "nostr"},
		{'e', strings.Repeat("0123456789abcdef", 4)},
		{'E', strings.Repeat("0123456789ABCDEF", 4)},
		{'x', strings.Repeat("0123456789abcdef", 2)},
		{'r', strings.Repeat("r", MaxText)},
		{'r', strings.Repeat("r", MaxText+1)},
		{'Z', "\x00é\"\n"},
	} {
		b = AppendTag(b, tag.letter, tag.value)
	}
	return View(b)
}

// The bytes on disk do not change unseen, nor does what a person is shown.
func TestGolden(t *testing.T) {
	var dump bytes.Buffer
	if err := Dump(&dump, everyForm()); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/event.packed", everyForm())
	golden(t, "testdata/event.dump", dump.Bytes())
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s, want\n%s", path, got, want)
	}
}

// A writer that fails is told of, not written to again.
func TestDumpWriteError(t *testing.T) {
	w := &fullWriter{room: 1}
	if err := Dump(w, everyForm()); err != os.ErrClosed || w.room != -1 {
		t.Errorf("%v, room %d", err, w.room)
	}
}

type fullWriter struct{ room int }

func (w *fullWriter) Write(b []byte) (int, error) {
	w.room--
	if w.room < 0 {
		return 0, os.ErrClosed
	}
	return len(b), nil
}
