package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wok/internal/strfry"
	"wok/store"
)

var (
	storageEvents = flag.String("storage.events", "", "measure what storing the events of this `FILE` takes, as JSON, one a line")
	storageStrfry = flag.String("storage.strfry", "", "measure migrate too, from strfry's database in `DIR`")
	storageWok    = flag.String("storage.wok", "", "the `PATH` of wok that TestStorage measures")
)

// TestStorage measures what events take on disk, before and after compression,
// and how fast commands go through them. It prints the tables of
// docs/operations.md; make bench-storage runs it.
func TestStorage(t *testing.T) {
	if *storageEvents == "" {
		t.Skip("-storage.events names no file")
	}
	b := &storageBench{t: t, dir: t.TempDir()}
	db, out := filepath.Join(b.dir, "db"), filepath.Join(b.dir, "out.jsonl")
	b.run("import, verified", "", "--db", filepath.Join(b.dir, "verified"), "import", *storageEvents)
	b.run("import --no-verify", "", "--db", db, "import", "--no-verify", *storageEvents)
	plain := b.info(db)
	b.run("export", out, "--db", db, "export")
	b.run("check", "", "--db", db, "check")
	b.run("dict train", "", "--db", db, "dict", "train")
	b.run("dict compress", "", "--db", db, "dict", "compress")
	b.run("dict stats", filepath.Join(b.dir, "stats"), "--db", db, "dict", "stats")
	dictionary := b.info(db)
	b.run("export, compressed", out+"2", "--db", db, "export")
	b.run("check, compressed", "", "--db", db, "check")
	b.same(out, out+"2")
	b.run("dict compress --dictId 0", "", "--db", db, "dict", "compress", "--dictId", "0")
	none := b.info(db)
	b.run("dict decompress", "", "--db", db, "dict", "decompress")
	b.backups(filepath.Join(b.dir, "verified"))
	b.migrate()

	// Compressed on the way in, with a dictionary of the first events.
	fresh := filepath.Join(b.dir, "fresh")
	b.run("", "", "--db", fresh, "import", "--no-verify", b.head(5000))
	b.run("", "", "--db", fresh, "dict", "train")
	b.run("import --no-verify, compressed", "", "--db", fresh, "--set", "dbParams.compression=1", "import", "--no-verify", *storageEvents)
	b.print(plain, none, dictionary)
}

// A storageBench is one run of TestStorage.
type storageBench struct {
	t    *testing.T
	dir  string
	rows []string
}

// run runs wok over all events and notes the rate, unless name is empty.
func (b *storageBench) run(name, out string, args ...string) {
	b.t.Helper()
	b.measure(name, out, uint64(b.lines()), args...)
}

// measure runs wok over n events, with stdout into a file if one is named, and
// notes the rate.
func (b *storageBench) measure(name, out string, n uint64, args ...string) {
	b.t.Helper()
	cmd := exec.Command(*storageWok, args...)
	cmd.Stderr = os.Stderr
	if out != "" {
		f, err := os.Create(out)
		if err != nil {
			b.t.Fatal(err)
		}
		defer f.Close()
		cmd.Stdout = f
	}
	began := time.Now()
	if err := cmd.Run(); err != nil {
		b.t.Fatalf("wok %v: %v", args, err)
	}
	if name == "" {
		return
	}
	took, cpu := time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	b.rows = append(b.rows, fmt.Sprintf("| %s | %.0f/s | %.1f s | %.1f s |", name, float64(n)/took.Seconds(), took.Seconds(), cpu.Seconds()))
}

// backups measures what is written to a file and comes back from it. The rates
// are of the events that are stored.
func (b *storageBench) backups(db string) {
	for _, kind := range []struct {
		name, file string
		flags      []string
	}{
		{"backup", "plain.tar", nil},
		{"backup, compressed", "plain.tar.zst", nil},
		{"backup --compact", "compact.tar", []string{"--compact"}},
		{"backup --compact, compressed", "compact.tar.zst", []string{"--compact"}},
	} {
		path := filepath.Join(b.dir, kind.file)
		b.measure(kind.name, "", b.info(db).Events, append([]string{"--db", db, "backup", path}, kind.flags...)...)
		b.size(path)
	}
	path := filepath.Join(b.dir, "compact.tar.zst")
	n := b.info(db).Events
	b.measure("restore --no-check", "", n, "--db", filepath.Join(b.dir, "restored"), "restore", "--no-check", path)
	b.measure("restore", "", n, "--db", filepath.Join(b.dir, "checked"), "restore", path)
}

// size adds the size of a file to the last row.
func (b *storageBench) size(path string) {
	f, err := os.Stat(path)
	if err != nil {
		b.t.Fatal(err)
	}
	last := &b.rows[len(b.rows)-1]
	*last = strings.Replace(*last, " |", fmt.Sprintf(" (%.1f MB) |", float64(f.Size())/1e6), 1)
}

// migrate measures moving in, from the database that -storage.strfry names. The
// rates are of the events there.
func (b *storageBench) migrate() {
	if *storageStrfry == "" {
		fmt.Fprintln(os.Stderr, "migrate is not measured: -storage.strfry names no database")
		return
	}
	src, err := strfry.Open(*storageStrfry)
	if err != nil {
		b.t.Fatal(err)
	}
	defer src.Close() // it was only read
	n, err := src.Events()
	if err != nil {
		b.t.Fatal(err)
	}
	for i, flags := range [][]string{{"--no-compare"}, {"--no-compare", "--no-verify"}, nil} {
		db := filepath.Join(b.dir, fmt.Sprint("migrated", i))
		name := strings.Join(append([]string{"migrate strfry"}, flags...), " ")
		b.measure(name, "", n, append([]string{"--db", db, "migrate", "strfry", *storageStrfry}, flags...)...)
	}
}

// read returns the events to measure with.
func (b *storageBench) read() []byte {
	data, err := os.ReadFile(*storageEvents)
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

// lines returns how many events there are.
func (b *storageBench) lines() int { return bytes.Count(b.read(), []byte("\n")) }

// head writes the first n events to a file and returns its path.
func (b *storageBench) head(n int) string {
	lines := bytes.SplitAfterN(b.read(), []byte("\n"), n+1)
	path := filepath.Join(b.dir, "head.jsonl")
	if err := os.WriteFile(path, bytes.Join(lines[:min(n, len(lines))], nil), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *storageBench) info(dir string) store.Info {
	db, err := store.Open(store.Options{Dir: dir, ReadOnly: true})
	if err != nil {
		b.t.Fatal(err)
	}
	defer db.Close()
	in, err := db.Info(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return in
}

// same fails unless two files are the same bytes.
func (b *storageBench) same(one, other string) {
	x, err := os.ReadFile(one)
	if err != nil {
		b.t.Fatal(err)
	}
	if y, err := os.ReadFile(other); err != nil || string(x) != string(y) {
		b.t.Errorf("%s is not %s, %v", one, other, err)
	}
}

// print prints the tables.
func (b *storageBench) print(plain, none, dictionary store.Info) {
	var json int64
	if f, err := os.Stat(filepath.Join(b.dir, "out.jsonl")); err == nil {
		json = f.Size()
	}
	each := func(in store.Info, bytes int64) int64 { return bytes / int64(max(1, in.Events)) }
	fmt.Printf("\n%d events, %d bytes of JSON each\n\n", plain.Events, each(plain, json))
	fmt.Println("| bytes an event | plain | no dictionary | dictionary |\n|---|---|---|---|")
	for i, table := range plain.Tables {
		if each(plain, table.Bytes) > 0 {
			fmt.Printf("| %s | %d | %d | %d |\n", table.Name, each(plain, table.Bytes), each(none, none.Tables[i].Bytes), each(dictionary, dictionary.Tables[i].Bytes))
		}
	}
	all := func(in store.Info) int64 { return each(in, in.FileBytes-in.FreeBytes) }
	fmt.Printf("| pages of no table | %d | %d | %d |\n", each(plain, plain.OtherBytes), each(none, none.OtherBytes), each(dictionary, dictionary.OtherBytes))
	fmt.Printf("| **all** | **%d** | **%d** | **%d** |\n\n", all(plain), all(none), all(dictionary))
	fmt.Println("| | events | took | CPU time |\n|---|---|---|---|")
	fmt.Println(strings.Join(b.rows, "\n"))
}
