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
kinds, and for each table its rows, keys and size. All indexes are read for it.`

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
	fmt.Fprintf(w, "readers\t%d of %d slots ever used\n", in.Readers, in.MaxReaders)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	printKinds(out, in)
	fmt.Fprintln(out)
	return printTables(out, in)
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
	type table struct {
		Name  string `json:"name"`
		Keys  uint64 `json:"keys"`
		Rows  uint64 `json:"rows"`
		Bytes int64  `json:"bytes"`
	}
	v := struct {
		Dir        string  `json:"dir"`
		Format     uint64  `json:"format"`
		Events     uint64  `json:"events"`
		EventsEver uint64  `json:"eventsEver"`
		FileBytes  int64   `json:"fileBytes"`
		FreeBytes  int64   `json:"freeBytes"`
		OtherBytes int64   `json:"otherBytes"`
		MapBytes   int64   `json:"mapBytes"`
		PageBytes  int     `json:"pageBytes"`
		Readers    int     `json:"readers"`
		MaxReaders int     `json:"maxReaders"`
		Tables     []table `json:"tables"`
		Kinds      []kind  `json:"kinds"`
	}{
		in.Dir, in.Format, in.Events, in.NextLevID - 1,
		in.FileBytes, in.FreeBytes, in.OtherBytes, in.MapBytes, in.PageBytes,
		in.Readers, in.MaxReaders, []table{}, []kind{},
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
