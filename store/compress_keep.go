package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"wok/index"
	"wok/packed"
)

// metaCompressed is the key in Meta of how far KeepCompressed has come: the levId
// to go on with, uint64 big endian, then the text of the compression it followed.
var metaCompressed = []byte("compressed")

// markEvery is after how many events that needed nothing the mark is moved all
// the same, which costs a sync: those after it are looked at again by the next
// process, a second or so for a million.
const markEvery = 200_000

// KeepCompressed gives the events that are stored already the form that the
// compression asks for: at once, then at every interval those that are new, until
// ctx ends. Kinds that are off are left as they are. It is gentle, see
// [CompressOptions], and goes on where an earlier process has stopped. It hands
// report, unless nil, what each pass came to that changed something or failed;
// after a failure the next one tries again.
func (db *DB) KeepCompressed(ctx context.Context, interval time.Duration, report func(Compressed, error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	k := keeper{db: db}
	for {
		done, err := k.pass(ctx)
		if ctx.Err() != nil {
			err = nil
		}
		if report != nil && (done.Changed > 0 || err != nil) {
			report(done, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// A keeper is one KeepCompressed.
type keeper struct {
	db   *DB
	text string // the compression that was followed so far
	next uint64 // levId to go on with
	kept uint64 // what of that is in the database
}

func (k *keeper) pass(ctx context.Context) (done Compressed, err error) {
	c := k.db.compression.Load()
	if c == nil || c.Off() {
		return done, nil
	}
	if err := k.begin(ctx, *c); err != nil {
		return done, err
	}
	done, err = k.db.Compress(ctx, CompressOptions{
		Form: func(v packed.View) (Form, bool) {
			f := c.Form(v.Kind())
			return f, f != Plain
		},
		From:   k.next,
		Gentle: true,
		mark:   k.mark,
	})
	k.next = done.Next
	if err == nil && k.next-k.kept >= markEvery {
		err = k.db.Update(func(b *Batch) error { return k.mark(b, k.next) })
	}
	return done, err
}

// begin finds where the pass is to begin.
func (k *keeper) begin(ctx context.Context, c Compression) error {
	return k.db.View(ctx, func(tx *Txn) error {
		if lacking, err := tx.Lacking(c); err != nil {
			return err
		} else if len(lacking) > 0 {
			return fmt.Errorf("%w: %d", ErrNoDictionary, lacking[0])
		}
		if k.text == c.String() {
			return nil
		}
		k.text, k.next = c.String(), 0
		b, ok, err := tx.lx.Get(int(index.TableMeta), metaCompressed)
		if ok && len(b) >= 8 && string(b[8:]) == k.text {
			k.next = binary.BigEndian.Uint64(b)
		}
		k.kept = k.next
		return err
	})
}

// mark notes in the database that all before next is done.
func (k *keeper) mark(b *Batch, next uint64) error {
	k.kept = next // a mark that was not committed is only moved later
	return b.lx.Put(int(index.TableMeta), metaCompressed, append(binary.BigEndian.AppendUint64(nil, next), k.text...))
}
