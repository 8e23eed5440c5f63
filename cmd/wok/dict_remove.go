package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"wok/store"
)

const dictRemoveUsage = `Remove a dictionary that no event is compressed with any more. One that is in use
is refused: wok dict decompress, or compress with another, comes first. Its id is
not given to another dictionary.`

func newDictRemove(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "remove ID",
		Short: "Remove a dictionary that is not in use",
		Long:  dictRemoveUsage,
		Args:  cobra.ExactArgs(1),
		RunE: g.begin(func(ctx context.Context, args []string, io stdio) error {
			id, err := strconv.ParseUint(args[0], 10, 32)
			if err != nil || id == 0 {
				return usageError{errors.New("ID must be the number of a dictionary")}
			}
			return g.change(io.err, func(db *store.DB) error {
				if err := db.RemoveDictionary(ctx, uint32(id)); err != nil {
					return err
				}
				_, err := fmt.Fprintf(io.out, "dictionary %d is removed\n", id)
				return err
			})
		}),
	}
}
