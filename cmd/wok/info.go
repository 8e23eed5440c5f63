package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"wok/store"
)

const infoUsage = `Print what the database holds and where its bytes are: events, the most frequent
kinds, and for each table its rows, keys and size. All indexes are read for it.

Readers are the read transactions of all processes. A page that becomes free is
used again only when no reader needs it, so one that stays for long makes the
file grow: a warning says which process that is.`

// infoCmd are the flags of info.
type infoCmd struct {
	*globals
	json bool
}

func newInfo(g *globals) *cobra.Command {
	c := infoCmd{globals: g}
	cmd := &cobra.Command{
		Use:   "info",
		Short: "Print what the database holds",
		Long:  infoUsage,
		Args:  cobra.NoArgs,
		RunE:  g.begin(c.run),
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print it as JSON, with all kinds")
	return cmd
}

func (c *infoCmd) run(ctx context.Context, _ []string, io stdio) error {
	var in store.Info
	err := c.read(io.err, func(db *store.DB) (err error) {
		in, err = db.Info(ctx)
		return err
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(in.Kinds, func(a, b store.KindInfo) int { return cmp.Compare(b.Events, a.Events) })
	warnOfReaders(io.err, &in)
	if c.json {
		return printInfoJSON(io.out, &in)
	}
	return printInfo(io.out, &in)
}

// kindsShown is how many kinds the table names.
const kindsShown = 12

// printInfo writes in for a person.
func printInfo(out io.Writer, in *store.Info) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "database\t%s, format %d\n", in.Dir, in.Format)
	fmt.Fprintf(w, "events\t%d stored now, %d ever\n", in.Events, in.NextLevID-1)
	fmt.Fprintf(w, "file\t%s, of these %s free%s\n", size(in.FileBytes), size(in.FreeBytes), perEvent(in))
	fmt.Fprintf(w, "map\t%s, pages of %d bytes\n", size(in.MapBytes), in.PageBytes)
	fmt.Fprintf(w, "readers\t%d of %d slots ever used%s\n", in.Readers, in.MaxReaders, reading(in))
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	printKinds(out, in)
	fmt.Fprintln(out)
	return printTables(out, in)
}

// reading says who else reads, and what waits for them.
func reading(in *store.Info) string {
	if len(in.Reading) == 0 {
		return ", nobody else reads"
	}
	oldest := in.Reading[0]
	return fmt.Sprintf(", %d in use, the oldest by process %d, %d transactions back: %s of free pages wait",
		len(in.Reading), oldest.PID, oldest.Age, size(in.WaitingBytes))
}

// manyTransactions is from which age on a reader is worth a warning.
const manyTransactions = 1000

// warnOfReaders warns of readers that keep pages from being used again.
func warnOfReaders(w io.Writer, in *store.Info) {
	if in.StaleReaders > 0 {
		fmt.Fprintf(w, "warning: %d reader slots were left by processes that have ended, which may have kept free pages from use; they have been cleared\n", in.StaleReaders)
	}
	if len(in.Reading) > 0 && in.Reading[0].Age >= manyTransactions {
		fmt.Fprintf(w, "warning: process %d reads what was there %d transactions ago, and %s of free pages wait for it to end\n",
			in.Reading[0].PID, in.Reading[0].Age, size(in.WaitingBytes))
	}
}

func perEvent(in *store.Info) string {
	if in.Events == 0 {
		return ""
	}
	return fmt.Sprintf(", %d bytes an event", (in.FileBytes-in.FreeBytes)/int64(in.Events))
}

func printKinds(out io.Writer, in *store.Info) {
	const row = "%-16s %10v\n"
	fmt.Fprintf(out, row, "kind", "events")
	rest := uint64(0)
	for i, k := range in.Kinds {
		if i < kindsShown {
			fmt.Fprintf(out, row, strconv.Itoa(int(k.Kind)), k.Events)
		} else {
			rest += k.Events
		}
	}
	if rest > 0 {
		fmt.Fprintf(out, row, fmt.Sprintf("%d others", len(in.Kinds)-kindsShown), rest)
	}
}

func printTables(out io.Writer, in *store.Info) error {
	const row = "%-22s %10v %10v %10s\n"
	fmt.Fprintf(out, row, "table", "keys", "rows", "size")
	for _, t := range in.Tables {
		if t.Rows > 0 {
			fmt.Fprintf(out, row, t.Name, t.Keys, t.Rows, size(t.Bytes))
		}
	}
	_, err := fmt.Fprintf(out, row, "pages of no table", "", "", size(in.OtherBytes))
	return err // an earlier error comes again
}

// printInfoJSON writes in for a program: one object, sizes in bytes.
func printInfoJSON(out io.Writer, in *store.Info) error {
	type kind struct {
		Kind   uint16 `json:"kind"`
		Events uint64 `json:"events"`
	}
	type reader struct {
		PID int    `json:"pid"`
		Age uint64 `json:"transactionsBack"`
	}
	type table struct {
		Name  string `json:"name"`
		Keys  uint64 `json:"keys"`
		Rows  uint64 `json:"rows"`
		Bytes int64  `json:"bytes"`
	}
	v := struct {
		Dir        string   `json:"dir"`
		Format     uint64   `json:"format"`
		Events     uint64   `json:"events"`
		EventsEver uint64   `json:"eventsEver"`
		FileBytes  int64    `json:"fileBytes"`
		FreeBytes  int64    `json:"freeBytes"`
		OtherBytes int64    `json:"otherBytes"`
		MapBytes   int64    `json:"mapBytes"`
		PageBytes  int      `json:"pageBytes"`
		Readers    int      `json:"readers"`
		MaxReaders int      `json:"maxReaders"`
		Reading    []reader `json:"reading"`
		Waiting    int64    `json:"waitingBytes"`
		Stale      int      `json:"staleReaders"`
		Tables     []table  `json:"tables"`
		Kinds      []kind   `json:"kinds"`
	}{
		in.Dir, in.Format, in.Events, in.NextLevID - 1,
		in.FileBytes, in.FreeBytes, in.OtherBytes, in.MapBytes, in.PageBytes,
		in.Readers, in.MaxReaders, []reader{}, in.WaitingBytes, in.StaleReaders, []table{}, []kind{},
	}
	for _, r := range in.Reading {
		v.Reading = append(v.Reading, reader{r.PID, r.Age})
	}
	for _, t := range in.Tables {
		v.Tables = append(v.Tables, table{t.Name, t.Keys, t.Rows, t.Bytes})
	}
	for _, k := range in.Kinds {
		v.Kinds = append(v.Kinds, kind{k.Kind, k.Events})
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
