package store

import (
	"context"
	"math/rand/v2"

	"wok/index"
	"wok/internal/lmdbx"
)

// someEvents checks events chosen by chance: by a levId, so that one after a
// gap comes up more often.
func (c *checker) someEvents() error {
	last := c.next
	if last > index.MaxLevID { // not known
		last = max(2, c.file.Entries(int(index.TableEvent)))
	}
	for range c.opts.Sample {
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		if c.report.Events%1024 == 0 {
			c.progress()
		}
		from := lmdbx.AppendInt(nil, 1+rand.Uint64N(max(1, last-1)))
		err := c.file.Each(int(index.TableEvent), from, nil, func(key, val []byte) error {
			c.event(key, val)
			return ErrStop
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// someRows checks that rows chosen by chance belong to events.
func (c *checker) someRows() error {
	for i := range index.Tables {
		table := index.TableID(i)
		if !c.explainable(table) {
			continue
		}
		for range c.opts.Sample {
			if c.ctx.Err() != nil {
				return context.Cause(c.ctx)
			}
			key, val, ok := c.file.Any(i, rand.IntN)
			if !ok {
				break
			}
			c.report.Rows++
			c.row(table, key, val)
		}
	}
	return nil
}
