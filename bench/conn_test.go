package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
)

// A tape is a connection on which the relay has said everything already.
type tape struct {
	net.Conn
	said    io.Reader
	written bytes.Buffer
}

func (t *tape) Read(b []byte) (int, error)  { return t.said.Read(b) }
func (t *tape) Write(b []byte) (int, error) { return t.written.Write(b) }

// served returns a frame as a server sends it.
func served(first byte, payload string) []byte {
	frame := appendFrame(nil, first, []byte(payload))
	head := len(frame) - len(payload) - 4
	frame[1] &^= maskBit
	return slices.Concat(frame[:head], []byte(payload))
}

func play(frames ...[]byte) (*conn, *tape) {
	// One byte a read: a frame may end anywhere.
	t := &tape{said: iotestOneByte{bytes.NewReader(bytes.Join(frames, nil))}}
	return &conn{Conn: t, buf: make([]byte, 16)}, t
}

type iotestOneByte struct{ r io.Reader }

func (o iotestOneByte) Read(b []byte) (int, error) { return o.r.Read(b[:min(1, len(b))]) }

func TestNext(t *testing.T) {
	long, longer := strings.Repeat("a", 200), strings.Repeat("b", 70000)
	c, wire := play(
		served(finBit|opText, "short"),
		served(finBit|opPing, "ping"),
		served(finBit|opText, long),
		served(opText, "in "), served(finBit|opPing, "between"), served(0, "three "), served(finBit, "frames"),
		served(finBit|rsv1Bit|opText, longer),
		served(finBit|opText, ""),
	)
	for _, want := range []string{"short", long, "in three frames", longer, ""} {
		m, compressed, err := c.next()
		if err != nil || string(m) != want {
			t.Fatalf("%.20q, %v, want %.20q", m, err, want)
		}
		if compressed != (want == longer) {
			t.Errorf("%.20q: compressed %v", m, compressed)
		}
	}
	if _, _, err := c.next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	pongs := slices.Concat(appendFrame(nil, finBit|opPong, []byte("ping")), appendFrame(nil, finBit|opPong, []byte("between")))
	if !bytes.Equal(wire.written.Bytes(), pongs) {
		t.Errorf("wrote %q", wire.written.Bytes())
	}
}

func TestNextClosed(t *testing.T) {
	c, _ := play(served(finBit|opClose, "\x03\xe8bye"))
	if _, _, err := c.next(); !errors.Is(err, errClosed) || !strings.Contains(err.Error(), "bye") {
		t.Errorf("error %v", err)
	}
}

// FuzzNext: whatever a relay sends ends in messages or an error.
func FuzzNext(f *testing.F) {
	f.Add(served(finBit|opText, "message"))
	f.Add(slices.Concat(served(opText, "in "), served(finBit, "parts"), served(finBit|opClose, "")))
	f.Add([]byte{finBit | opText, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{finBit | opText, 126, 0})
	f.Fuzz(func(t *testing.T, said []byte) {
		c, _ := play(said)
		for {
			m, _, err := c.next()
			if err != nil {
				return
			}
			if verbOf(m) == okay {
				okOf(m)
			}
		}
	})
}

func TestVerb(t *testing.T) {
	for message, want := range map[string]verb{
		`["EVENT","a",{}]`: event, `["EOSE","a"]`: eose, `["OK","",true,""]`: okay, `["CLOSED","a",""]`: closed,
		`["NOTICE",""]`: notice, `["AUTH",""]`: other, `["E`: other, ``: other, `{"EVENT"`: other,
	} {
		if got := verbOf([]byte(message)); got != want {
			t.Errorf("%s: %v, want %v", message, got, want)
		}
	}
}

func TestOK(t *testing.T) {
	id := "0123456789abcdef" + strings.Repeat("f", 48)
	for message, want := range map[string]struct {
		id       uint64
		accepted bool
		verdict  string
	}{
		`["OK","` + id + `",true,""]`:        {0x0123456789abcdef, true, `true,""]`},
		`["OK","` + id + `",false,"error:"]`: {0x0123456789abcdef, false, `false,"error:"]`},
		`["OK","",true,""]`:                  {},
	} {
		id, accepted, verdict := okOf([]byte(message))
		if id != want.id || accepted != want.accepted || string(verdict) != want.verdict {
			t.Errorf("%s: %x, %v, %s", message, id, accepted, verdict)
		}
	}
}

func TestDeflate(t *testing.T) {
	c, _ := play()
	for _, message := range []string{`["REQ","one",{}]`, `["REQ","two",{}]`} {
		frame := deflated(message)
		if frame[0]&rsv1Bit == 0 {
			t.Errorf("first byte %x", frame[0])
		}
		if got, err := c.inflate(frame[6:]); err != nil || string(got) != message {
			t.Errorf("%q, %v", got, err)
		}
	}
}
