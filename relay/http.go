package relay

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/gorilla/websocket"

	"wok/ingest"
)

// nostrJSON is the type of the relay's document (11-R1).
const nostrJSON = "application/nostr+json"

// handler returns what answers requests, all on one path (01-R45).
func (s *Server) handler(ctx context.Context) http.Handler {
	upgrader := &websocket.Upgrader{
		HandshakeTimeout:  answerTime,
		WriteBufferPool:   &s.handshakes,
		CheckOrigin:       func(*http.Request) bool { return true }, // web clients are anywhere
		EnableCompression: s.opts.Compression,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allowAnyOrigin(w.Header())
		switch {
		case r.URL.Path != "/" && r.URL.Path != "" && r.URL.Path != "*":
			http.NotFound(w, r)
		case r.Method == http.MethodOptions:
			w.WriteHeader(http.StatusNoContent)
		case websocket.IsWebSocketUpgrade(r):
			s.upgrade(ctx, upgrader, w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", allowedMethods)
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		case wantsDocument(r.Header.Values("Accept")):
			s.serveDocument(w)
		default:
			s.serveLanding(w, r)
		}
	})
}

const allowedMethods = "GET, HEAD, OPTIONS"

// allowAnyOrigin lets web pages of any origin read the answer (11-R2).
func allowAnyOrigin(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Headers", "*")
	h.Set("Access-Control-Allow-Methods", allowedMethods)
}

// upgrade makes a websocket of the request and serves it in a goroutine of its
// own: that of the request, with all it holds, ends.
func (s *Server) upgrade(ctx context.Context, u *websocket.Upgrader, w http.ResponseWriter, r *http.Request) {
	withoutWindows(r.Header)
	h := hijacker{ResponseWriter: w}
	ws, err := u.Upgrade(&h, r, nil)
	if err != nil { // and has been answered
		s.log.Debug("handshake refused", "client", r.RemoteAddr, "error", err)
		return
	}
	c := newConn(s, ws, h.heads, s.source(r), s.newIdentity(r))
	if !s.join(c) {
		ws.NetConn().Close()
		return
	}
	go func() {
		defer s.left(c)
		c.run(ctx)
	}()
}

const extensions = "Sec-Websocket-Extensions"

// withoutWindows takes offers out of a handshake that ask for a smaller window
// of compression than ours: they are to be declined (RFC 7692, 7.1.2.1), and the
// library would not keep to them.
func withoutWindows(h http.Header) {
	var kept []string
	for offer := range strings.SplitSeq(strings.Join(h.Values(extensions), ","), ",") {
		if !strings.Contains(offer, "server_max_window_bits") {
			kept = append(kept, offer)
		}
	}
	h.Set(extensions, strings.Join(kept, ","))
}

// A hijacker lets the websocket library read through a buffer that we know.
type hijacker struct {
	http.ResponseWriter
	heads *bufio.Reader
}

// headsBuffer is the size of that buffer, the least that the library accepts. It
// is enough for the heads of frames, since the socket reads ahead.
const headsBuffer = 288

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	nc, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil || rw.Reader.Buffered() > 0 { // which the library refuses
		return nc, rw, err
	}
	h.heads = bufio.NewReaderSize(nc, headsBuffer)
	return nc, bufio.NewReadWriter(h.heads, rw.Writer), nil
}

// source returns where the events of a client come from: its own address, or
// the one that the proxy in front of us names.
func (s *Server) source(r *http.Request) ingest.Source {
	addr, err := netip.ParseAddrPort(r.RemoteAddr)
	ip := addr.Addr()
	if err != nil {
		ip = netip.IPv4Unspecified()
	}
	if name := s.opts.RealIPHeader; name != "" {
		if told, ok := lastAddr(r.Header.Values(name)); ok {
			ip = told
		}
	}
	ip = ip.Unmap().WithZone("")
	kind := ingest.SourceIP4
	if ip.Is6() {
		kind = ingest.SourceIP6
	}
	return ingest.Source{Kind: kind, Info: ip.String()}
}

// lastAddr returns the last address of a header, which is the one that the
// nearest proxy has added where several have.
func lastAddr(values []string) (netip.Addr, bool) {
	if len(values) == 0 {
		return netip.Addr{}, false
	}
	list := values[len(values)-1]
	text := strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	ip, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return ip, err == nil
}

// wantsDocument reports whether an Accept header asks for the document by name,
// and not less than for a web page (11-R1).
func wantsDocument(accept []string) bool {
	document, page := 0.0, 0.0
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		kind, params, _ := strings.Cut(part, ";")
		switch q := quality(params); strings.ToLower(strings.TrimSpace(kind)) {
		case nostrJSON:
			document = max(document, q)
		case "text/html":
			page = max(page, q)
		}
	}
	return document > 0 && document >= page
}

// quality returns the q among the parameters of a type, 1 if there is none.
func quality(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				return 0
			}
			return q
		}
	}
	return 1
}
