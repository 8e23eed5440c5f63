package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wok/index"
	"wok/internal/testdb"
)

const (
	pageSize   = 4096
	pageHeader = 16
)

// spoil damages a closed database: branches that lead to a page which is one of
// those lead to no page. It returns how many do.
func spoil(t *testing.T, dir string, is func(page []byte) bool) int {
	t.Helper()
	name := filepath.Join(dir, "data.mdb")
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lost := map[uint32]bool{}
	for at := 2 * pageSize; at < len(file); at += pageSize {
		if is(file[at : at+pageSize]) {
			lost[uint32(at/pageSize)] = true
		}
	}
	spoiled := 0
	for at := 2 * pageSize; at < len(file); at += pageSize {
		const branch = 0x01
		page := file[at : at+pageSize]
		if binary.NativeEndian.Uint16(page[10:]) != branch {
			continue
		}
		for i := pageHeader; i < int(binary.NativeEndian.Uint16(page[12:])); i += 2 {
			node := page[binary.NativeEndian.Uint16(page[i:]):]
			if lost[binary.NativeEndian.Uint32(node)] {
				binary.NativeEndian.PutUint32(node, 1<<31)
				spoiled++
			}
		}
	}
	if err := os.WriteFile(name, file, 0o666); err != nil {
		t.Fatal(err)
	}
	return spoiled
}

// closedDB makes a database and returns its directory and events.
func closedDB(t *testing.T, n int) (string, []testdb.Event) {
	t.Helper()
	db, events := stored(t, n)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return db.Dir(), events
}

// eventPage tells the pages of the table Event that hold an event: nowhere else
// does its author follow its id.
func eventPage(t *testing.T, ev testdb.Event) func([]byte) bool {
	t.Helper()
	begin, err := hex.DecodeString(ev.ID + ev.Pubkey)
	if err != nil {
		t.Fatal(err)
	}
	return func(page []byte) bool { return bytes.Contains(page, begin) }
}

// listPage tells the pages of a list of all events that hold one of that second:
// of other long lists, one kind or one author has all.
func listPage(second int64) func([]byte) bool {
	return func(page []byte) bool {
		const leaf2 = 0x20
		if binary.NativeEndian.Uint16(page[10:])&leaf2 == 0 {
			return false
		}
		n := int(binary.NativeEndian.Uint16(page[12:])-pageHeader) / 2
		kinds, authors, found := map[uint16]bool{}, map[uint16]bool{}, false
		for i := range min(n, (pageSize-pageHeader)/index.PostingSize) {
			p := index.ReadPosting(page[pageHeader+i*index.PostingSize:])
			kinds[p.Kind()], authors[p.Author()] = true, true
			found = found || p.Time() == uint64(second)
		}
		return found && len(kinds) > 3 && len(authors) > 10
	}
}

// A page of events that is none ends nothing: what lies on others is read.
func TestDamagedPage(t *testing.T) {
	dir, events := closedDB(t, 400)
	if spoil(t, dir, eventPage(t, events[200])) == 0 {
		t.Fatal("the event is on no page")
	}
	for _, args := range [][]string{{"export"}, {"export", "--reverse"}, {"scan", "{}"}, {"scan", `{"since":1}`}, {"export", "--since", "1"}, {"scan", `{"kinds":[0,1,3,6,7,9735,30023,10002,4]}`}} {
		var out, talk bytes.Buffer
		code := execute(t.Context(), append([]string{"--db", dir}, args...), stdio{out: &out, err: &talk})
		n := strings.Count(out.String(), "\n")
		lost := regexp.MustCompile(`: (\d+) events could not be read; see wok check`).FindStringSubmatch(talk.String())
		if code != exitFailed || lost == nil || n < 300 {
			t.Errorf("%v: exit code %d, %d of %d events, said\n%s", args, code, n, len(events), talk.String())
			continue
		}
		if args[0] == "export" && fmt.Sprint(len(events)-n) != lost[1] {
			t.Errorf("%v: %d events and %s lost make not %d", args, n, lost[1], len(events))
		}
	}
}

// So does a page of the list of all events, from which an export begins.
func TestDamagedList(t *testing.T) {
	dir, events := closedDB(t, 3000)
	if spoil(t, dir, listPage(events[1500].CreatedAt)) == 0 {
		t.Fatal("the event is on no page")
	}
	for _, args := range [][]string{{"export"}, {"export", "--reverse"}} {
		var out, talk bytes.Buffer
		code := execute(t.Context(), append([]string{"--db", dir}, args...), stdio{out: &out, err: &talk})
		got := decode(t, out.String())
		if code != exitFailed || !strings.Contains(talk.String(), "the index created_at is damaged between") {
			t.Errorf("%v: exit code %d, said\n%s", args, code, talk.String())
		}
		if len(got) < len(events)-800 || len(got) == len(events) {
			t.Errorf("%v: %d of %d events", args, len(got), len(events))
		}
		oldest, newest := events[len(events)-1].ID, events[0].ID
		if args := strings.Join(ids(got), " "); !strings.Contains(args, oldest) || !strings.Contains(args, newest) {
			t.Errorf("%v: the ends are missing", args)
		}
	}
}
