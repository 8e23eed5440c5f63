package main

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"

	"wok/index"
	"wok/internal/lmdbx"
)

// damaged makes a database of some events, of which one has lost its end, and
// returns its directory and how many events there are.
func damaged(t *testing.T) (dir string, events int) {
	t.Helper()
	db, all := stored(t, 50)
	dir = db.Dir()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var tables []lmdbx.Table
	for _, d := range index.Tables {
		tables = append(tables, lmdbx.Table{Name: d.Name, IntegerKey: d.IntegerKey, DupSort: d.DupSort, DupFixed: d.DupFixed})
	}
	accept := func(*lmdbx.Peek) error { return nil }
	env, err := lmdbx.Open(lmdbx.Options{Dir: dir, Tables: tables}, accept, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = env.Update(func(tx *lmdbx.Txn) error {
		key, val, ok, err := tx.Last(int(index.TableEvent))
		if err != nil || !ok {
			return errors.Join(err, errors.New("no event"))
		}
		return tx.Put(int(index.TableEvent), bytes.Clone(key), bytes.Clone(val[:40]))
	})
	if err := errors.Join(err, env.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, len(all)
}

// shut is a pipe whose reader has left.
type shut struct{}

func (shut) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// A row that cannot be read costs only itself, and is told of.
func TestDamagedRow(t *testing.T) {
	dir, events := damaged(t)
	for _, args := range [][]string{{"scan", "{}"}, {"scan", `{"kinds":[0,1,3,4,5,6,7]}`}, {"export"}, {"export", "--reverse"}, {"scan", "--pause=1", "{}"}} {
		var out, talk bytes.Buffer
		code := execute(t.Context(), append([]string{"--db", dir}, args...), stdio{out: &out, err: &talk})
		if n := strings.Count(out.String(), "\n"); code != exitFailed || n == 0 || n >= events {
			t.Errorf("%v: exit code %d, %d of %d events", args, code, n, events)
		}
		if !strings.Contains(talk.String(), "1 event could not be read; see wok check") {
			t.Errorf("%v said %q", args, talk.String())
		}
	}
	var out, talk bytes.Buffer
	code := execute(t.Context(), []string{"--db", dir, "check"}, stdio{out: &out, err: &talk})
	if code != exitFailed || !strings.Contains(out.String(), "Event") {
		t.Errorf("check: exit code %d, %s%s", code, out.String(), talk.String())
	}
}

// A reader that leaves is no failure, and hides none.
func TestExitCodeOfShutPipe(t *testing.T) {
	dir, _ := damaged(t)
	good, _ := stored(t, 50)
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"--db", good.Dir(), "export"}, exitOK},
		{[]string{"--db", good.Dir(), "check"}, exitOK},
		{[]string{"--db", dir, "check"}, exitFailed},
	} {
		var talk bytes.Buffer
		if code := execute(t.Context(), c.args, stdio{out: shut{}, err: &talk}); code != c.want {
			t.Errorf("%v: exit code %d, want %d\n%s", c.args, code, c.want, talk.String())
		}
	}
}
