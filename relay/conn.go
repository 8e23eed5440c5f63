package relay

import (
	"bufio"
	"compress/flate"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"wok/ingest"
	"wok/nostr"
)

// A conn is one client's connection.
type conn struct {
	srv  *Server
	ws   *websocket.Conn
	sock *socket
	// heads is what the library reads the heads of frames through.
	heads  *bufio.Reader
	src    ingest.Source     // the reader's own
	events *ingest.Submitter // its EVENTs
	num    uint64            // counted by the server

	busy atomic.Bool // a message is being handled, nothing is read

	mu       sync.Mutex
	changed  sync.Cond // of mu: room in out, its writer's end, pending at 0
	out      outbox
	identity identity // urls and challenge are not changed
	subs     map[string]*subscription
	parked   []job       // scans that wait for room in out
	counts   int         // COUNTs under way
	values   int         // in the filters of all that is open or under way
	pending  int         // events handed to ingest and not answered
	draining bool        // closes when pending is 0; no new messages
	asked    bool        // a ping is out
	heard    int64       // bytes received when it went out
	kill     *time.Timer // ends a connection that has been given up

	turns turns // guarded by scheduler.mu
}

func newConn(s *Server, ws *websocket.Conn, heads *bufio.Reader, src ingest.Source, who identity) *conn {
	c := &conn{srv: s, ws: ws, sock: ws.NetConn().(*socket), heads: heads, src: src, identity: who}
	c.changed.L = &c.mu
	c.sock.upgraded, c.sock.messageTime = true, s.messageTime
	c.events = s.pipe.Submitter(c.answer)
	// Compressed bytes; readMessage bounds the inflated ones. Somewhat longer
	// messages are refused without losing the connection.
	ws.SetReadLimit(int64(s.opts.Limits.MaxMessageBytes) * (1 + skipFactor))
	ws.SetPingHandler(c.pong)
	ws.SetPongHandler(func(string) error { c.control(); return nil })
	ws.SetCloseHandler(func(int, string) error { return nil }) // finish answers
	return c
}

// run serves the client until the connection ends.
func (c *conn) run(ctx context.Context) {
	c.finish(c.serve(ctx))
}

// serve reads and handles messages until reading fails. A panic ends this
// connection and nothing else.
func (c *conn) serve(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.srv.caught(p, c)
			c.shut(websocket.CloseInternalServerErr, "internal error")
			err = errPanic
		}
	}()
	if c.identity.challenge != "" {
		c.send(nostr.AppendAuth(nil, c.identity.challenge))
	}
	for n := 1; ; n++ {
		if n%turnMessages == 0 {
			runtime.Gosched()
		}
		c.awaitRoom()
		c.busy.Store(false)
		c.sock.messageOver()
		if c.heads.Buffered() == 0 {
			c.sock.await()
		}
		kind, r, err := c.ws.NextReader()
		c.busy.Store(true)
		switch {
		case err != nil:
			return err
		case c.ended(): // what comes now is only read so that the close arrives
		case kind != websocket.TextMessage:
			c.shut(websocket.CloseUnsupportedData, "messages are text")
		default:
			if err := c.message(ctx, r); err != nil {
				return err
			}
		}
	}
}

// turnMessages is how many messages are handled before other connections have
// a turn. The runtime takes 10 ms away from others before it thinks of it.
const turnMessages = 16

// errPanic says that a handler panicked.
var errPanic = errors.New("panic")

// ended reports whether the connection is at its end.
func (c *conn) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.ended() || c.draining
}

// awaitRoom waits while so much is to be sent that the client must not ask for
// more. Its own sends will block in time: that is how TCP says it.
func (c *conn) awaitRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.out.bytes > c.srv.marks.read && !c.out.ended() {
		c.changed.Wait()
	}
}

// skipFactor is how many times the size of the longest message may follow it
// and be passed over. What is longer costs the connection.
const skipFactor = 4

// errTooLong is returned for a message over its limit.
var errTooLong = errors.New("message too long")

// message reads one message and handles it. An error is that of reading; nothing
// can be read after it.
func (c *conn) message(ctx context.Context, r io.Reader) error {
	most := c.srv.opts.Limits.MaxMessageBytes
	raw, err := readMessage(r, most)
	c.srv.metrics.bytesIn.Add(int64(len(raw)))
	switch {
	case err == nil:
		c.handle(ctx, raw)
		return nil
	case errors.Is(err, errTooLong):
		c.refuseLong(raw, most)
		_, err = io.CopyN(io.Discard, r, int64(most)*skipFactor)
		if err == nil {
			c.shut(websocket.CloseMessageTooBig, "message too long")
		}
		if err == io.EOF { // all of it was passed over
			err = nil
		}
	case errors.As(err, new(flate.CorruptInputError)), errors.Is(err, io.ErrUnexpectedEOF):
		c.shut(websocket.CloseInvalidFramePayloadData, "the message cannot be read")
		err = nil
	}
	messageBuffers.put(raw)
	return err
}

// timedOut reports whether reading ended since its time was over.
func timedOut(err error) bool {
	var e net.Error // the library has one of its own
	return errors.As(err, &e) && e.Timeout()
}

// readMessage reads all of r into a buffer of the pool; where that is more than
// most bytes, the first of them and errTooLong.
func readMessage(r io.Reader, most int) ([]byte, error) {
	buf := messageBuffers.get()
	for {
		if len(buf) > most {
			return buf[:most], errTooLong
		}
		if len(buf) == cap(buf) {
			grown := append(buf, 0)[:len(buf)]
			messageBuffers.put(buf)
			buf = grown
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), most+1)])
		buf = buf[:len(buf)+n]
		if err == io.EOF && len(buf) <= most {
			return buf, nil
		}
		if err != nil && err != io.EOF {
			return buf, err
		}
	}
}

// refuseLong answers a message of which only the beginning was read.
func (c *conn) refuseLong(start []byte, most int) {
	refusal := nostr.Refuse(nostr.PrefixBlocked, "a message may have %d bytes", most)
	answer := &nostr.MessageError{Refusal: refusal}
	_, err := nostr.ParseMessage(start, nostr.MessageLimits{})
	if errors.As(err, &answer) {
		answer.Refusal = refusal
	}
	c.send(answer.AppendReply(nil))
}

// shut sends what is queued, says goodbye and accepts nothing more. The reader
// ends when the client has answered, or has not for lingerTime.
func (c *conn) shut(code int, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shutLocked(code, reason)
}

func (c *conn) shutLocked(code int, reason string) {
	if c.out.ended() {
		return
	}
	c.endSubs()
	c.sendFrames(appendFrame(nil, frameClose, websocket.FormatCloseMessage(code, reason)))
	c.out.closing = true
	c.changed.Broadcast()
}

// giveUp ends the connection of a client that does not keep up: what waits for
// it is dropped but for the reason. The caller holds c.mu.
func (c *conn) giveUp(reason string) {
	if c.out.ended() {
		return
	}
	c.srv.metrics.tooSlow.Add(1)
	c.out.clear()
	c.sendText(nil, nostr.AppendNotice(nil, nostr.PrefixRateLimited.Reason(reason)))
	c.shutLocked(websocket.ClosePolicyViolation, reason)
	c.kill = time.AfterFunc(lingerTime, func() { c.sock.Close() })
}

// drain ends the connection as soon as the events it has brought are answered.
func (c *conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	c.endSubs()
	c.leaveIfIdle()
}

// leaveIfIdle closes a draining connection when its time has come. The caller
// holds c.mu.
func (c *conn) leaveIfIdle() {
	if c.draining && c.pending == 0 {
		c.shutLocked(websocket.CloseGoingAway, "the relay is stopping")
	}
}

// finish ends all that belongs to the connection, whose reader has met err.
func (c *conn) finish(err error) {
	c.sock.release()
	c.leave(err)
	last := time.AfterFunc(lingerTime, func() { c.sock.Close() })
	c.mu.Lock()
	for c.out.writing {
		c.changed.Wait()
	}
	c.out.broken = true
	c.endSubs()
	subs := c.subs
	c.subs = nil
	kill := c.kill
	c.mu.Unlock()
	last.Stop()
	if kill != nil {
		kill.Stop()
	}
	c.sock.Close()
	for _, s := range subs {
		c.srv.live.remove(s)
	}
}

// leave answers the close of a client, and sees that what the library has said
// to a client that broke the protocol is sent.
func (c *conn) leave(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var closed *websocket.CloseError
	switch said := c.sock.lastWords(); {
	case errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure: // which means that no close came
		if !c.out.closing {
			c.out.clear() // who says goodbye does not want the rest
		}
		c.shutLocked(closed.Code, "")
	case said != nil:
		c.endSubs()
		c.sendFrames(said)
		c.out.closing = true
	case timedOut(err):
		c.shutLocked(websocket.ClosePolicyViolation, "a message took too long")
	default: // gone, most likely
		c.shutLocked(websocket.CloseProtocolError, "")
	}
}

// control is called for a frame of control. Where that came between messages,
// none has begun.
func (c *conn) control() {
	if !c.busy.Load() {
		c.sock.messageOver()
	}
}

// pong answers a ping.
func (c *conn) pong(data string) error {
	c.control()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.out.ended() {
		c.out.answerPing(data)
		c.startWriter()
	}
	return nil
}

// ping asks an idle client for a sign of life, and ends the connection if there
// has been none since it was asked before. Where something is being sent, or
// the client waits for us, nothing is asked: then other deadlines hold.
func (c *conn) ping() {
	c.mu.Lock()
	defer c.mu.Unlock()
	heard := c.sock.received.Load()
	switch {
	case c.out.writing || c.out.ended() || c.busy.Load():
		c.asked = false
	case c.asked && heard == c.heard:
		c.srv.metrics.silent.Add(1)
		c.sock.Close()
	default:
		c.asked, c.heard = true, heard
		c.sendFrames(appendFrame(nil, framePing, nil))
	}
}
