package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"wok/index"
	"wok/internal/lmdbx"
)

const (
	newestEvents = 8 // that a manifest names
	idSize       = 32
)

// carried returns the tables that increments hold whole: all that do not follow
// from the events.
func carried() []index.TableID {
	derived := map[index.TableID]bool{
		index.TableEvent: true, index.TableEventPayload: true, // held by levId
		index.TableEventID: true, index.TableReplace: true, index.TableExpiration: true,
	}
	for _, d := range index.All {
		derived[d.Table] = true
	}
	var ts []index.TableID
	for _, t := range index.Tables {
		if !derived[t.ID] {
			ts = append(ts, t.ID)
		}
	}
	return ts
}

// isState reports whether the rows of a carried table are part of the state. Meta
// is about the file. Dictionaries add up: a restored database may have some that
// are not in use any more.
func isState(t index.TableID) bool {
	return t != index.TableMeta && t != index.TableCompressionDictionary
}

// A survey is what a walk over all events of a snapshot yields.
type survey struct {
	events  uint64
	present levIDSet
	newest  []EventName
	hash    hash.Hash
}

// survey walks all events, in the order of levIds, and the tables of the state.
func (tx *Txn) survey(ctx context.Context) (s survey, err error) {
	s.hash = sha256.New()
	w := bufio.NewWriterSize(s.hash, 1<<16)
	b := make([]byte, 0, 64)
	err = tx.lx.Each(int(index.TableEvent), nil, func(key, val []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if len(key) != 8 {
			return fmt.Errorf("%w: table Event has a key of %d bytes; see wok check", ErrCorrupt, len(key))
		}
		levID := lmdbx.Int(key)
		s.events++
		s.present.add(levID)
		if len(s.newest) == newestEvents {
			s.newest = append(s.newest[:0], s.newest[1:]...)
		}
		s.newest = append(s.newest, EventName{LevID: levID})
		// A damaged event is backed up as it is.
		b = append(binary.BigEndian.AppendUint64(b[:0], levID), val[:min(len(val), idSize)]...)
		_, err := w.Write(b)
		return err
	})
	if err != nil {
		return s, err
	}
	s.present.close()
	for i := range s.newest {
		val, _, err := tx.lx.Get(int(index.TableEvent), lmdbx.AppendInt(nil, s.newest[i].LevID))
		if err != nil {
			return s, err
		}
		s.newest[i].ID = hex.EncodeToString(val[:min(len(val), idSize)])
	}
	for _, t := range carried() {
		if isState(t) {
			if err := tx.hashTable(ctx, w, t); err != nil {
				return s, err
			}
		}
	}
	return s, w.Flush()
}

// hashTable writes the name of a table and its rows. A table without rows counts
// for nothing, so that one may be added.
func (tx *Txn) hashTable(ctx context.Context, w io.Writer, t index.TableID) error {
	var b []byte
	return tx.lx.Each(int(t), nil, func(key, val []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b = b[:0]
		for _, part := range [][]byte{[]byte(index.Tables[t].Name), key, val} {
			b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
		}
		_, err := w.Write(b)
		return err
	})
}

// sum returns the hash of the state in hex.
func (s *survey) sum() string {
	if s.hash == nil {
		return ""
	}
	return hex.EncodeToString(s.hash.Sum(nil))
}

// A levIDSet is a set of levIds that is made in ascending order: for each run of
// them how many are missing before it, and how many it has, both uvarints.
type levIDSet struct {
	bytes       []byte
	begin, next uint64 // the run at hand
	end         uint64 // of the run before
}

func (s *levIDSet) add(levID uint64) {
	if levID != s.next {
		s.close()
		s.begin = levID
	}
	s.next = levID + 1
}

// close ends the run at hand.
func (s *levIDSet) close() {
	if s.next > s.begin {
		s.bytes = binary.AppendUvarint(s.bytes, s.begin-s.end)
		s.bytes = binary.AppendUvarint(s.bytes, s.next-s.begin)
	}
	s.end, s.begin = s.next, s.next
}

// A levIDReader tells whether levIds, asked for in ascending order, are in a set.
type levIDReader struct {
	in         *bufio.Reader
	begin, end uint64 // the run at hand
	over       bool
}

// has reports whether levID is in the set.
func (r *levIDReader) has(levID uint64) (bool, error) {
	for levID >= r.end && !r.over {
		gap, err := readNumber(r.in, index.MaxLevID-r.end+1)
		if err == io.EOF {
			r.over = true
			break
		}
		if err != nil {
			return false, err
		}
		n, err := readNumber(r.in, index.MaxLevID-r.end-gap+1)
		if err != nil {
			return false, inRecord(err)
		}
		r.begin, r.end = r.end+gap, r.end+gap+n
	}
	return levID >= r.begin && levID < r.end, nil
}

// readNumber reads a uvarint of at most most. Where nothing is left to be read the
// error is io.EOF.
func readNumber(r *bufio.Reader, most uint64) (uint64, error) {
	n, err := binary.ReadUvarint(r)
	switch {
	case err == io.EOF:
		return 0, err
	case err != nil:
		return 0, inRecord(err)
	case n > most:
		return 0, fmt.Errorf("%w: a number of %d is too large", ErrArchive, n)
	}
	return n, nil
}

// inRecord returns an error of reading that has struck within a record.
func inRecord(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends within a record", ErrArchive)
	}
	return err
}
