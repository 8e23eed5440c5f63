package store

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"
)

// Members of an archive, in their order. Those that end in a slash are streams:
// members with that beginning and a number, to be joined.
const (
	memberManifest = "manifest.json"
	memberData     = "data.mdb"
	memberPresent  = "present"
	memberTables   = "tables/"
	memberEvents   = "events"
	memberSums     = "SHA256SUMS"
)

const (
	streamMember    = 1 << 20 // bytes of a member of a stream, at most
	maxManifest     = 1 << 20 // bytes
	maxSums         = 1 << 28 // bytes
	archiveFileMode = 0o640
)

// ErrArchive is what reading an archive returns that is damaged, cut, or none.
var ErrArchive = errors.New("the archive is damaged")

// An archiveWriter writes a tar archive whose last member lists the checksums of
// all others, as sha256sum does: an archive without it was cut.
type archiveWriter struct {
	tw   *tar.Writer
	at   time.Time
	name string
	hash hash.Hash // of the member at hand
	sums bytes.Buffer
}

func newArchiveWriter(w io.Writer, at time.Time) *archiveWriter {
	return &archiveWriter{tw: tar.NewWriter(w), at: at.Truncate(time.Second), hash: sha256.New()}
}

// begin begins a member of that many bytes, which are to be written to what it
// returns.
func (a *archiveWriter) begin(name string, size int64) (io.Writer, error) {
	a.name = name
	a.hash.Reset()
	err := a.tw.WriteHeader(&tar.Header{Name: name, Size: size, Mode: archiveFileMode, ModTime: a.at, Typeflag: tar.TypeReg})
	return io.MultiWriter(a.tw, a.hash), err
}

// end ends the member at hand.
func (a *archiveWriter) end() { sumLine(&a.sums, a.hash, a.name) }

func sumLine(w *bytes.Buffer, h hash.Hash, name string) {
	fmt.Fprintf(w, "%x  %s\n", h.Sum(nil), name)
}

// member writes a whole member.
func (a *archiveWriter) member(name string, b []byte) error {
	w, err := a.begin(name, int64(len(b)))
	if err == nil {
		_, err = w.Write(b)
	}
	a.end()
	return err
}

func (a *archiveWriter) manifest(m *Manifest) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return a.member(memberManifest, append(b, '\n'))
}

func (a *archiveWriter) close() error {
	if err := a.member(memberSums, a.sums.Bytes()); err != nil {
		return err
	}
	return a.tw.Close()
}

// stream returns a stream of bytes whose length is not known.
func (a *archiveWriter) stream(name string) *streamWriter {
	return &streamWriter{out: a, name: name}
}

// A streamWriter parts what is written to it into members.
type streamWriter struct {
	out    *archiveWriter
	name   string
	number int
	buf    []byte
	head   []byte // of a record
}

func (s *streamWriter) Write(b []byte) (int, error) {
	n := len(b)
	for len(s.buf)+len(b) >= streamMember {
		room := streamMember - len(s.buf)
		s.buf, b = append(s.buf, b[:room]...), b[room:]
		if err := s.flush(); err != nil {
			return 0, err
		}
	}
	s.buf = append(s.buf, b...)
	return n, nil
}

func (s *streamWriter) flush() error {
	s.number++
	err := s.out.member(fmt.Sprintf("%s/%06d", s.name, s.number), s.buf)
	s.buf = s.buf[:0]
	return err
}

// Close writes what is left.
func (s *streamWriter) Close() error {
	if len(s.buf) == 0 {
		return nil
	}
	return s.flush()
}

// row writes the lengths of key and val, and both.
func (s *streamWriter) row(key, val []byte) error {
	s.head = binary.AppendUvarint(s.head[:0], uint64(len(key)))
	s.head = binary.AppendUvarint(s.head, uint64(len(val)))
	return s.write(key, val)
}

// event writes a levId, two lengths, and both values.
func (s *streamWriter) event(levID uint64, packed, payload []byte) error {
	s.head = binary.AppendUvarint(s.head[:0], levID)
	s.head = binary.AppendUvarint(s.head, uint64(len(packed)))
	s.head = binary.AppendUvarint(s.head, uint64(len(payload)))
	return s.write(packed, payload)
}

func (s *streamWriter) write(a, b []byte) error {
	for _, part := range [][]byte{s.head, a, b} {
		if _, err := s.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// An archiveReader reads an archive, member by member, and reckons the checksums
// that it must end with.
type archiveReader struct {
	tr   *tar.Reader
	name string // of the member at hand
	size int64
	in   io.Reader // its bytes
	hash hash.Hash
	sums bytes.Buffer
}

func newArchiveReader(r io.Reader) *archiveReader {
	return &archiveReader{tr: tar.NewReader(r), hash: sha256.New()}
}

// next goes on to the next member. What has been left of this one is read.
func (a *archiveReader) next() error {
	if a.name != "" {
		if _, err := io.Copy(io.Discard, a.in); err != nil {
			return damaged(err)
		}
		sumLine(&a.sums, a.hash, a.name)
		if a.sums.Len() > maxSums {
			return fmt.Errorf("%w: it has too many members", ErrArchive)
		}
	}
	h, err := a.tr.Next()
	if err != nil {
		return damaged(err)
	}
	if h.Typeflag != tar.TypeReg {
		return fmt.Errorf("%w: %q is no file", ErrArchive, h.Name)
	}
	a.name, a.size = h.Name, h.Size
	a.hash.Reset()
	a.in = io.TeeReader(a.tr, a.hash)
	return nil
}

// damaged returns err as one of the archive, unless it is of reading it.
func damaged(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends too early", ErrArchive)
	case errors.Is(err, tar.ErrHeader):
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	return err
}

// ReadManifest reads the manifest at the beginning of an archive. Whether the
// archive is whole is not known then.
func ReadManifest(r io.Reader) (Manifest, error) { return newArchiveReader(r).manifest() }

// manifest reads the first member.
func (a *archiveReader) manifest() (m Manifest, err error) {
	if err := a.next(); err != nil {
		if errors.Is(err, tar.ErrHeader) {
			return m, errors.New("this is no archive of wok backup")
		}
		return m, err
	}
	if a.name != memberManifest || a.size > maxManifest {
		return m, errors.New("this is no archive of wok backup")
	}
	b, err := io.ReadAll(a.in)
	if err != nil {
		return m, damaged(err)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("%w: manifest: %w", ErrArchive, err)
	}
	if m.Archive > ArchiveVersion {
		return m, fmt.Errorf("the archive's version is %d and this wok knows versions up to %d: use a newer wok", m.Archive, ArchiveVersion)
	}
	return m, a.next()
}

// finish reads the last member, which is at hand, and compares it with what was
// read.
func (a *archiveReader) finish() error {
	if a.name != memberSums {
		return fmt.Errorf("%w: unknown member %q", ErrArchive, a.name)
	}
	if a.size > maxSums {
		return fmt.Errorf("%w: checksums of %d bytes", ErrArchive, a.size)
	}
	want, err := io.ReadAll(a.in)
	if err != nil {
		return damaged(err)
	}
	if !bytes.Equal(want, a.sums.Bytes()) {
		return fmt.Errorf("%w: a checksum does not agree", ErrArchive)
	}
	if _, err := a.tr.Next(); err != io.EOF {
		return fmt.Errorf("%w: it goes on after its end", ErrArchive)
	}
	return nil
}

// stream returns the joined members of a stream that begins at hand, if it does.
func (a *archiveReader) stream(name string) *streamReader {
	return &streamReader{in: a, prefix: name + "/"}
}

// A streamReader joins the members of a stream, and ends at the first that is
// not of it.
type streamReader struct {
	in     *archiveReader
	prefix string
}

func (s *streamReader) Read(b []byte) (int, error) {
	for strings.HasPrefix(s.in.name, s.prefix) {
		n, err := s.in.in.Read(b)
		if n > 0 || err == nil {
			return n, nil
		}
		if err != io.EOF {
			return 0, damaged(err)
		}
		if err := s.in.next(); err != nil {
			return 0, err
		}
	}
	return 0, io.EOF
}
