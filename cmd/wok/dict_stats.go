package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"wok/store"
)

const dictStatsUsage = `Print what the stored events come to, by dictionary and by kind: how long their
JSON is, and in how many bytes it is stored. All payloads are looked at, and none
is decompressed.`

func newDictStats(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Print what compression saves",
		Long:  dictStatsUsage,
		Args:  cobra.NoArgs,
		RunE: g.begin(func(ctx context.Context, _ []string, io stdio) error {
			return g.read(io.err, func(db *store.DB) error { return dictStats(ctx, db, io) })
		}),
	}
}

func dictStats(ctx context.Context, db *store.DB, io stdio) error {
	ds, err := dictionaries(ctx, db)
	if err != nil {
		return err
	}
	progress, end := lateMeter(io.err, "events")
	shares, err := db.Shares(ctx, progress)
	end()
	if err != nil {
		return err
	}
	if shares.Corrupt > 0 {
		fmt.Fprintf(io.err, "%d events could not be read; see wok check\n", shares.Corrupt)
	}
	printForms(io.out, ds, shares.All)
	fmt.Fprintln(io.out)
	return printShares(io.out, shares.All)
}

// A sum is a row of the tables.
type sum struct {
	events, json, stored uint64
}

func (s *sum) add(more store.Share) {
	s.events += more.Events
	s.json += more.JSON
	s.stored += more.Stored
}

const sumRow = "%-34s %10v %10s %10s %7s %12s\n"

func (s *sum) print(out io.Writer, name string) error {
	each := "-"
	if s.events > 0 {
		each = strconv.FormatUint(s.stored/s.events, 10)
	}
	_, err := fmt.Fprintf(out, sumRow, name, s.events, size(int64(s.json)), size(int64(s.stored)), percent(s.stored, s.json), each)
	return err
}

func sumHead(out io.Writer, first string) {
	fmt.Fprintf(out, sumRow, first, "events", "JSON", "stored", "ratio", "B an event")
}

// printForms prints a row for each form that there is, dictionaries that nothing
// uses among them.
func printForms(out io.Writer, ds []store.Dictionary, shares []store.Share) {
	sumHead(out, "")
	var all sum
	forms := map[store.Form]*sum{}
	for _, s := range shares {
		all.add(s)
		if forms[s.Form] == nil {
			forms[s.Form] = new(sum)
		}
		forms[s.Form].add(s)
	}
	for _, f := range []store.Form{store.Plain, 0} {
		if s := forms[f]; s != nil {
			s.print(out, f.String())
		}
	}
	for _, d := range ds {
		s := cmp.Or(forms[store.Form(d.ID)], new(sum))
		retired := ""
		if d.Retired {
			retired = ", retired"
		}
		s.print(out, fmt.Sprintf("dictionary %d (%s%s)", d.ID, size(int64(d.Bytes)), retired))
	}
	all.print(out, "all")
}

// printShares prints a row for each kind, those with the most bytes first.
func printShares(out io.Writer, shares []store.Share) error {
	type kind struct {
		number uint16
		sum
	}
	var kinds []kind
	for _, s := range shares {
		i := slices.IndexFunc(kinds, func(k kind) bool { return k.number == s.Kind })
		if i < 0 {
			i = len(kinds)
			kinds = append(kinds, kind{number: s.Kind})
		}
		kinds[i].add(s)
	}
	slices.SortFunc(kinds, func(a, b kind) int {
		return cmp.Or(cmp.Compare(b.stored, a.stored), cmp.Compare(a.number, b.number))
	})
	sumHead(out, "kind")
	var rest sum
	for i, k := range kinds {
		if i < kindsShown {
			k.print(out, strconv.Itoa(int(k.number)))
			continue
		}
		rest.events += k.events
		rest.json += k.json
		rest.stored += k.stored
	}
	if rest.events == 0 {
		return nil
	}
	return rest.print(out, fmt.Sprintf("%d others", len(kinds)-kindsShown))
}
