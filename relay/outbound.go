package relay

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// A frame is one message that waits to be sent.
type frame struct {
	sub  *subscription // it belongs to, nil for none
	body []byte        // shared, never written to
	op   frameOp
}

// A frameOp says what a frame is.
type frameOp uint8

const (
	opText  frameOp = iota // body is the message
	opEvent                // body is the JSON of an event for sub
	opPing
	opPong
	opClose // body is the code and the reason
)

// size returns about what the frame takes, on the wire or waiting for it,
// whichever is more: what is short costs its place in the queue.
func (f *frame) size() int {
	const header = 64
	if f.op == opEvent {
		return len(f.sub.prefix) + len(f.body) + 1 + header
	}
	return len(f.body) + header
}

// An outbox is what waits to be sent to one client, in order. The mutex of the
// connection guards it.
type outbox struct {
	frames  []frame
	bytes   int  // of frames
	writing bool // a goroutine is sending
	closing bool // the last frame is a close: nothing is accepted any more
	broken  bool // the socket is gone: nothing is accepted, nothing is sent
}

// ended reports whether frames are no longer accepted.
func (o *outbox) ended() bool { return o.closing || o.broken }

func (o *outbox) push(f frame) {
	o.frames = append(o.frames, f)
	o.bytes += f.size()
}

// take moves frames of about size bytes, at least one, to the end of dst.
func (o *outbox) take(dst []frame, size int) []frame {
	n := 0
	for n < len(o.frames) && size > 0 {
		size -= o.frames[n].size()
		o.bytes -= o.frames[n].size()
		n++
	}
	dst = append(dst, o.frames[:n]...)
	clear(o.frames[:n]) // the array stays, what it pointed to need not
	o.frames = o.frames[n:]
	if len(o.frames) == 0 {
		o.frames = nil
	}
	return dst
}

// pong queues the answer to a ping in the place of one that has not been sent:
// the answer to the last ping is enough (RFC 6455, 5.5.3).
func (o *outbox) pong(data []byte) bool {
	i := slices.IndexFunc(o.frames, func(f frame) bool { return f.op == opPong })
	if i < 0 {
		return false
	}
	o.bytes += len(data) - len(o.frames[i].body)
	o.frames[i].body = data
	return true
}

// drop removes the frames that belong to sub.
func (o *outbox) drop(sub *subscription) {
	o.frames = slices.DeleteFunc(o.frames, func(f frame) bool {
		if f.sub != sub {
			return false
		}
		o.bytes -= f.size()
		return true
	})
}

// clear removes all frames.
func (o *outbox) clear() { o.frames, o.bytes = nil, 0 }

// send queues a whole message.
func (c *conn) send(message []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pushText(nil, message)
}

// pushText queues a whole message, which belongs to sub if that is not nil.
// The caller holds c.mu.
func (c *conn) pushText(sub *subscription, message []byte) {
	if c.out.ended() {
		return
	}
	c.srv.metrics.sent(verbOf(message))
	c.push(frame{sub: sub, body: message, op: opText})
}

// pushEvent queues an event for sub, which is open. The caller holds c.mu.
func (c *conn) pushEvent(sub *subscription, json []byte) {
	if c.out.ended() {
		return
	}
	c.srv.metrics.sent(verbEvent)
	c.push(frame{sub: sub, body: json, op: opEvent})
}

// push queues a frame and sees to it that somebody sends it. The caller holds
// c.mu.
func (c *conn) push(f frame) {
	if c.out.ended() {
		return
	}
	c.out.push(f)
	if !c.out.writing {
		c.out.writing = true
		go c.write()
	}
}

const (
	// gatherBytes is about how much is sent by one system call.
	gatherBytes = 64 << 10
	// compressFrom is the length from which a message is worth compressing.
	compressFrom = 512
	// lingerTime is how long a client has to answer a close, and to take what
	// is sent when the connection is given up.
	lingerTime = 5 * time.Second
)

// A writer has what a goroutine needs that sends.
type writer struct {
	batch   []frame
	message []byte
}

var writers = sync.Pool{New: func() any { return new(writer) }}

// write sends what is queued and ends when nothing is left. At most one runs
// on a connection.
func (c *conn) write() {
	w := writers.Get().(*writer)
	defer func() {
		clear(w.batch[:cap(w.batch)])
		w.batch = w.batch[:0]
		if cap(w.message) <= maxBufferKept {
			writers.Put(w)
		}
	}()
	defer c.containWriter()
	for {
		w.batch = c.nextBatch(w.batch[:0])
		if len(w.batch) == 0 {
			return
		}
		if err := c.writeBatch(w); err != nil {
			c.abort()
			c.writerGone()
			return
		}
	}
}

// containWriter ends the connection where its writer panics.
func (c *conn) containWriter() {
	if p := recover(); p != nil {
		c.srv.caught(p, c)
		c.abort()
		c.writerGone()
	}
}

// writerGone says that nobody writes any more.
func (c *conn) writerGone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.writing = false
	c.changed.Broadcast()
}

// nextBatch returns what to send next, nothing when the writer is to end: the
// decision and the end are one step, so that no frame is left without a writer.
func (c *conn) nextBatch(dst []frame) []frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.out.bytes
	dst = c.out.take(dst, gatherBytes)
	if len(dst) == 0 {
		c.out.writing = false
		c.changed.Broadcast()
		return dst
	}
	m := &c.srv.marks
	if before > m.read && c.out.bytes <= m.read {
		c.changed.Broadcast()
	}
	if c.out.bytes <= m.low && len(c.parked) > 0 {
		c.srv.sched.add(c, resumed, c.parked...)
		c.parked = nil
	}
	return dst
}

// abort cuts the connection off; its reader and its writer learn of it from the
// socket.
func (c *conn) abort() {
	c.mu.Lock()
	c.out.broken = true
	c.out.clear()
	c.endSubs()
	c.changed.Broadcast()
	c.mu.Unlock()
	c.sock.Close()
}

// writeBatch sends the frames of w.batch.
func (c *conn) writeBatch(w *writer) error {
	closing := false
	for i := range w.batch {
		f := &w.batch[i]
		err := c.encode(w, f)
		closing = closing || f.op == opClose
		// The library sends a close by itself where the client broke the
		// protocol; it is among what has been gathered.
		if err != nil && !errors.Is(err, websocket.ErrCloseSent) {
			return err
		}
		if c.sock.gathered() >= gatherBytes {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
	err := c.flush()
	if closing && err == nil {
		c.sock.SetReadDeadline(time.Now().Add(lingerTime))
	}
	return err
}

func (c *conn) flush() error {
	c.srv.metrics.bytesOut.Add(int64(c.sock.gathered()))
	return c.sock.flush(c.srv.stall)
}

// encode gives a frame to the websocket library, which writes it to the socket
// as one frame, or as several where it is compressed and long.
func (c *conn) encode(w *writer, f *frame) error {
	switch f.op {
	case opPing:
		return c.ws.WriteControl(websocket.PingMessage, f.body, time.Time{})
	case opPong:
		return c.ws.WriteControl(websocket.PongMessage, f.body, time.Time{})
	case opClose:
		return c.ws.WriteControl(websocket.CloseMessage, f.body, time.Time{})
	}
	message := f.body
	if f.op == opEvent {
		w.message = append(w.message[:0], f.sub.prefix...)
		w.message = append(w.message, f.body...)
		w.message = append(w.message, ']')
		message = w.message
	}
	c.ws.EnableWriteCompression(len(message) >= compressFrom)
	return c.ws.WriteMessage(websocket.TextMessage, message)
}
