package store

import (
	"context"
	"errors"
	"time"

	"github.com/klauspost/compress/zstd"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/packed"
)

const (
	// One transaction of a pass writes up to this many events, or bytes of
	// payload: a few milliseconds, so that those who wait to write do not wait
	// for long.
	compressEvents = 500
	compressBytes  = 256 << 10
	// seenAtOnce bounds the events looked at to find them on one snapshot.
	seenAtOnce = 20_000
)

// CompressOptions say what a pass of [DB.Compress] does.
type CompressOptions struct {
	// Form returns the form that an event is to have, and false to leave it as
	// it is. The event is borrowed.
	Form func(packed.View) (Form, bool)
	// Level is that of zstd, 1 to 22; 0 is the one of new events. Those above
	// 5 cost far more time than they save space.
	Level int
	// From is the first levId to look at.
	From uint64
	// Gentle makes the pass rest after each transaction for as long as that took.
	Gentle bool
	// Progress, unless nil, is told now and then how far the pass has come.
	Progress func(Compressed)

	mark func(b *Batch, next uint64) error // notes how far the pass has come
}

// Compressed says what a pass has done.
type Compressed struct {
	Seen    uint64 // events looked at
	Changed uint64 // events written in another form
	Corrupt uint64 // events that could not be read, and were left
	Before  uint64 // bytes of the payloads that were changed, before
	After   uint64 // and after
	Next    uint64 // levId that the pass would go on with
}

// Compress gives each event the form that opts ask for, in the order they were
// stored: compresses, decompresses, or compresses with another dictionary. An
// event for which that saves too little to be worth it is made, or left, plain.
//
// It goes in small transactions between which others write, each of which
// leaves a sound database, and compresses outside of them. Processes may do it
// at the same time, beside any other work. It ends with the first levId above
// those there were at its beginning, or when ctx does or writing fails; then
// what was done until then stays.
func (db *DB) Compress(ctx context.Context, opts CompressOptions) (Compressed, error) {
	p := pass{db: db, opts: opts, done: Compressed{Next: opts.From}, encoders: map[Form]*zstd.Encoder{}}
	if p.opts.Level == 0 {
		p.opts.Level = quickLevel
	}
	err := db.View(ctx, func(tx *Txn) (err error) {
		p.last, err = tx.LastLevID()
		return err
	})
	for err == nil && p.done.Next <= p.last {
		if err = context.Cause(ctx); err == nil {
			err = p.step(ctx)
		}
		if opts.Progress != nil {
			opts.Progress(p.done)
		}
	}
	return p.done, err
}

// A pass is one Compress under way.
type pass struct {
	db   *DB
	opts CompressOptions
	last uint64 // levId to end with
	done Compressed

	encoders map[Form]*zstd.Encoder
	changes  []recoding // of this step
	arena    []byte     // their JSON, and then their payloads
}

// A recoding is an event about to be given another form.
type recoding struct {
	levID    uint64
	to       Form
	was      int    // bytes of its payload
	json     []byte // in the arena
	payload  []byte // in the arena as well
	wasPlain bool
	taken    bool // its old payload is gone, in the transaction under way
}

// step changes the next few events.
func (p *pass) step(ctx context.Context) error {
	p.changes, p.arena = p.changes[:0], p.arena[:0]
	next, seen := p.done.Next, uint64(0)
	err := p.db.View(ctx, func(tx *Txn) (err error) {
		next, seen, err = p.gather(tx)
		return err
	})
	if err != nil {
		return err
	}
	if err := p.encode(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := p.write(next); err != nil {
		return err
	}
	p.done.Next, p.done.Seen = next, p.done.Seen+seen
	if p.opts.Gentle && len(p.changes) > 0 {
		pause(ctx, time.Since(began))
	}
	return nil
}

// gather notes the next events that are to be changed, and returns the levId to
// go on with and how many events it has looked at.
func (p *pass) gather(tx *Txn) (next, seen uint64, err error) {
	next = p.last + 1
	corrupt := uint64(0)
	err = tx.lx.Each(int(index.TableEvent), lmdbx.AppendInt(nil, p.done.Next), func(key, val []byte) error {
		levID, ok := levIDOf(key)
		if !ok || levID > p.last {
			return ErrStop
		}
		if len(p.changes) == compressEvents || len(p.arena) >= compressBytes || seen == seenAtOnce {
			next = levID
			return ErrStop
		}
		seen++
		v, err := packed.Parse(val)
		if err == nil {
			err = p.consider(tx, levID, v)
		} else {
			err = ErrCorrupt
		}
		if errors.Is(err, ErrCorrupt) {
			corrupt++
			return nil
		}
		return err
	})
	p.done.Corrupt += corrupt
	return next, seen, err
}

// consider notes an event if it is to be changed.
func (p *pass) consider(tx *Txn, levID uint64, v packed.View) error {
	to, ok := p.opts.Form(v)
	if !ok {
		return nil
	}
	b, ok, err := tx.lx.Get(int(index.TableEventPayload), tx.intKey(levID))
	if err != nil || !ok {
		return err
	}
	now, err := parsePayload(b)
	if err != nil || now.form == to {
		return err
	}
	json, err := tx.decode(b)
	if err != nil {
		return err
	}
	at := len(p.arena)
	p.arena = append(p.arena, json...)
	p.changes = append(p.changes, recoding{
		levID: levID, to: to, was: len(b), wasPlain: now.form == Plain, json: p.arena[at:len(p.arena):len(p.arena)],
	})
	return nil
}

// encode makes the payloads, and drops the changes that would change nothing.
func (p *pass) encode(ctx context.Context) error {
	kept := p.changes[:0]
	for _, c := range p.changes {
		at, smaller := len(p.arena), false
		if c.to != Plain {
			codec, err := p.db.codec(ctx, c.to)
			if err != nil {
				return err
			}
			enc, err := p.encoder(codec)
			if err != nil {
				return err
			}
			p.arena, smaller = codec.appendFrame(p.arena, enc, c.json)
		}
		if !smaller {
			if c.wasPlain {
				continue
			}
			p.arena = appendPlain(p.arena, c.json)
			c.to = Plain
		}
		c.payload = p.arena[at:len(p.arena):len(p.arena)]
		kept = append(kept, c)
	}
	p.changes = kept
	return nil
}

// encoder returns the encoder of this pass for a dictionary.
func (p *pass) encoder(c *codec) (*zstd.Encoder, error) {
	f := Form(c.id)
	if enc := p.encoders[f]; enc != nil {
		return enc, nil
	}
	enc, err := c.encoder(p.opts.Level, 1)
	if err == nil {
		p.encoders[f] = enc
	}
	return enc, err
}

// write writes the payloads of this step. Events that have gone meanwhile stay
// away, and so do dictionaries.
func (p *pass) write(next uint64) error {
	if len(p.changes) == 0 {
		return nil
	}
	var done Compressed
	err := p.db.Update(func(b *Batch) error {
		done = p.done
		for i := range p.changes {
			if err := b.take(&p.changes[i]); err != nil {
				return err
			}
		}
		for i := range p.changes {
			c := &p.changes[i]
			if !c.taken {
				continue
			}
			if err := b.lx.Put(int(index.TableEventPayload), b.intKey(c.levID), c.payload); err != nil {
				return err
			}
			done.Changed++
			done.Before += uint64(c.was)
			done.After += uint64(len(c.payload))
		}
		if p.opts.mark != nil {
			return p.opts.mark(b, next)
		}
		return nil
	})
	if err == nil {
		p.done = done
	}
	return err
}

// take removes the payload that is to be written in another form, if it is still
// there. LMDB does not move what stands on a page whose values have got shorter:
// written over, payloads of 40% would take 85% of the pages. So those of a step
// are all removed, and then put as if they were new, which takes 50%.
func (b *Batch) take(c *recoding) error {
	c.taken = false
	if ok, err := b.usable(c.to); err != nil || !ok {
		return err
	}
	ok, err := b.lx.Delete(int(index.TableEventPayload), b.intKey(c.levID), nil)
	c.taken = ok && err == nil
	return err
}
