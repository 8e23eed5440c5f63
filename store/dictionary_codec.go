package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"wok/index"
	"wok/internal/invariants"
	"wok/internal/lmdbx"
)

// A codec decompresses, and compresses, with one dictionary. It is safe for use
// by many goroutines, of which as many work at once as there are CPUs.
type codec struct {
	id   uint32
	dict []byte // nil for id 0
	dec  *zstd.Decoder

	once sync.Once
	enc  *zstd.Encoder // of quickLevel
}

// quickLevel is the level by which events are compressed on their way in. Higher
// ones take two to five times as long for one or two parts in a hundred.
const quickLevel = 1

func newCodec(id uint32, dict []byte) (*codec, error) {
	opts := []zstd.DOption{
		zstd.WithDecoderConcurrency(0),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxFrame),
		zstd.WithDecoderMaxWindow(maxFrame),
	}
	if id != 0 {
		opts = append(opts, zstd.WithDecoderDicts(dict))
	}
	dec, err := zstd.NewReader(nil, opts...)
	if err != nil {
		return nil, fmt.Errorf("%w: dictionary %d: %w", ErrCorrupt, id, err)
	}
	return &codec{id: id, dict: dict, dec: dec}, nil
}

// appendJSON appends the JSON in a frame. With frameSlack more room than its size
// it needs no other memory.
func (c *codec) appendJSON(dst []byte, p payload) ([]byte, error) {
	size, err := p.jsonSize()
	if err != nil {
		return dst, err
	}
	at := len(dst)
	dst, err = c.dec.DecodeAll(p.data, slices.Grow(dst, size+frameSlack))
	if err != nil {
		return nil, fmt.Errorf("%w: frame with dictionary %d: %w", ErrCorrupt, c.id, err)
	}
	if len(dst)-at != size {
		return nil, fmt.Errorf("%w: frame of %d bytes has %d", ErrCorrupt, size, len(dst)-at)
	}
	return dst, nil
}

// quick returns the encoder for events on their way in.
func (c *codec) quick() (enc *zstd.Encoder, err error) {
	c.once.Do(func() { c.enc, err = c.encoder(quickLevel, runtime.GOMAXPROCS(0)) })
	if c.enc == nil && err == nil {
		err = fmt.Errorf("%w: dictionary %d", ErrCorrupt, c.id)
	}
	return c.enc, err
}

// encoder returns a new encoder for a level of zstd, 1 to 22.
func (c *codec) encoder(level, atOnce int) (*zstd.Encoder, error) {
	opts := []zstd.EOption{
		zstd.WithEncoderConcurrency(atOnce),
		zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
		zstd.WithEncoderCRC(true),    // else a flipped bit would become other JSON
		zstd.WithSingleSegment(true), // says the size in all frames, in fewer bytes
		zstd.WithLowerEncoderMem(true),
	}
	if c.id != 0 {
		opts = append(opts, zstd.WithEncoderDict(c.dict))
	}
	enc, err := zstd.NewWriter(nil, opts...)
	if err != nil {
		return nil, fmt.Errorf("%w: dictionary %d: %w", ErrCorrupt, c.id, err)
	}
	return enc, nil
}

// worthSaving is the part of an event that compression must save, as a divisor:
// for less no reader is to spend time.
const worthSaving = 16

// appendFrame appends the payload of json, compressed by enc, and reports
// whether that is worth it; where it is not, nothing is appended.
func (c *codec) appendFrame(dst []byte, enc *zstd.Encoder, json []byte) ([]byte, bool) {
	if len(json) > maxFrame {
		return dst, false
	}
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(append(dst, payloadZstd), c.id)
	dst = enc.EncodeAll(json, dst)
	if len(dst)-at > plainSize(json)-len(json)/worthSaving {
		return dst[:at], false
	}
	return dst, true
}

// maxCodecs bounds the codecs kept: each has its dictionary twice, and the
// tables of its encoders.
const maxCodecs = 16

// codecs are those in use, by dictionary. As an id is never given to another
// dictionary, they hold for all snapshots.
type codecs struct {
	mu   sync.RWMutex
	byID map[uint32]*codec
}

func (cs *codecs) get(id uint32) *codec {
	cs.mu.RLock()
	defer cs.mu.RUnlock()
	return cs.byID[id]
}

// put keeps c, unless there is one of its id already, and returns which is kept.
func (cs *codecs) put(c *codec) *codec {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if old := cs.byID[c.id]; old != nil {
		return old
	}
	if cs.byID == nil {
		cs.byID = make(map[uint32]*codec)
	}
	for id := range cs.byID { // any will do
		if len(cs.byID) < maxCodecs {
			break
		}
		delete(cs.byID, id)
	}
	cs.byID[c.id] = c
	return c
}

// codec returns the codec of a dictionary, read from this snapshot if need be.
// That there is no such dictionary is ErrCorrupt.
func (tx *Txn) codec(id uint32) (*codec, error) {
	if c := tx.db.codecs.get(id); c != nil {
		return c, nil
	}
	var dict []byte
	if id != 0 {
		b, ok, err := tx.lx.Get(int(index.TableCompressionDictionary), lmdbx.AppendInt(nil, uint64(id)))
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("%w: dictionary %d is missing", ErrCorrupt, id)
		}
		dict = bytes.Clone(b)
	}
	c, err := newCodec(id, dict)
	if err != nil {
		return nil, err
	}
	return tx.db.codecs.put(c), nil
}

const (
	// frameSlack is room behind a frame that lets the decoder work in place.
	frameSlack = 64
	// maxFrameMemory is how much memory, in bytes, is kept for the frames of
	// later transactions.
	maxFrameMemory = 1 << 20
)

// decompress returns the JSON in a frame, borrowed until the next call.
func (tx *Txn) decompress(p payload) ([]byte, error) {
	c, err := tx.codec(uint32(p.form))
	if err != nil {
		return nil, err
	}
	if invariants.Enabled && tx.frame != nil { // let who kept the last one see it
		invariants.Mangle((*tx.frame)[:cap(*tx.frame)])
		*tx.frame = nil
	}
	if tx.frame == nil {
		tx.frame = tx.db.frames.Get().(*[]byte)
	}
	json, err := c.appendJSON((*tx.frame)[:0], p)
	if err == nil {
		*tx.frame = json
	}
	return json, err
}

// release gives the memory for frames back at the end of the transaction.
func (tx *Txn) release() {
	if tx.frame == nil {
		return
	}
	if invariants.Enabled {
		invariants.Mangle((*tx.frame)[:cap(*tx.frame)])
		*tx.frame = nil
	}
	if cap(*tx.frame) <= maxFrameMemory {
		tx.db.frames.Put(tx.frame)
	}
	tx.frame = nil
}
