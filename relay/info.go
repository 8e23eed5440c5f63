package relay

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"wok/nostr"
)

// A document describes the relay (NIP-11).
type document struct {
	Name          string     `json:"name,omitempty"`
	Description   string     `json:"description,omitempty"`
	Banner        string     `json:"banner,omitempty"`
	Icon          string     `json:"icon,omitempty"`
	Pubkey        string     `json:"pubkey,omitempty"`
	Self          string     `json:"self,omitempty"`
	Contact       string     `json:"contact,omitempty"`
	SupportedNIPs []int      `json:"supported_nips"`
	Software      string     `json:"software,omitempty"`
	Version       string     `json:"version,omitempty"`
	Terms         string     `json:"terms_of_service,omitempty"`
	Privacy       string     `json:"privacy_policy,omitempty"`
	Limitation    limitation `json:"limitation"`
}

// A limitation says what is refused (11-R4). What is not bounded is left out.
type limitation struct {
	MaxMessageLength    int    `json:"max_message_length"`
	MaxSubscriptions    int    `json:"max_subscriptions"`
	MaxLimit            int    `json:"max_limit"`
	DefaultLimit        int    `json:"default_limit"`
	MaxSubIDLength      int    `json:"max_subid_length"`
	MaxEventTags        int    `json:"max_event_tags,omitempty"`
	MaxContentLength    int    `json:"max_content_length,omitempty"`
	MinPowDifficulty    int    `json:"min_pow_difficulty"`
	AuthRequired        bool   `json:"auth_required"`
	PaymentRequired     bool   `json:"payment_required"`
	RestrictedWrites    bool   `json:"restricted_writes"`
	CreatedAtLowerLimit *int64 `json:"created_at_lower_limit,omitempty"` // seconds before now
	CreatedAtUpperLimit *int64 `json:"created_at_upper_limit,omitempty"` // seconds after now
}

// document returns what is true now (11-R7).
func (s *Server) document() document {
	i, l := &s.opts.Info, &s.opts.Limits
	return document{
		Name:          i.Name,
		Description:   i.Description,
		Banner:        i.Banner,
		Icon:          i.Icon,
		Pubkey:        i.Pubkey,
		Self:          i.Self,
		Contact:       i.Contact,
		SupportedNIPs: s.nips(),
		Software:      i.Software,
		Version:       s.opts.Version,
		Terms:         i.Terms,
		Privacy:       i.Privacy,
		Limitation: limitation{
			MaxMessageLength:    l.MaxMessageBytes,
			MaxSubscriptions:    l.MaxSubs,
			MaxLimit:            l.MaxLimit,
			DefaultLimit:        l.DefaultLimit,
			MaxSubIDLength:      nostr.MaxSubID,
			MaxEventTags:        l.MaxEventTags,
			MaxContentLength:    l.MaxEventBytes, // a character is a byte at least
			MinPowDifficulty:    l.MinPoW,
			RestrictedWrites:    l.AuthToWrite || l.MinPoW > 0,
			CreatedAtLowerLimit: seconds(l.OldestEvent),
			CreatedAtUpperLimit: seconds(l.NewestEvent),
		},
	}
}

// nips returns the NIPs that are served: those that are built in, and what is
// switched on.
func (s *Server) nips() []int {
	if s.opts.Info.NIPs != nil {
		return s.opts.Info.NIPs
	}
	nips := []int{1, 2, 9, 11, 40, 62}
	for nip, on := range map[int]bool{
		4:  s.opts.Auth.Enabled && s.opts.Auth.Gate.Gated(4),
		13: s.opts.Limits.MinPoW > 0,
		17: s.opts.Auth.Enabled && s.opts.Auth.Gate.Gated(1059),
		42: s.opts.Auth.Enabled,
		45: !s.opts.Limits.NoCount,
		59: s.opts.Auth.Enabled && s.opts.Auth.Gate.Gated(1059),
		67: s.opts.Hints,
		70: s.opts.Auth.Enabled,
		91: s.opts.Limits.Each,
	} {
		if on {
			nips = append(nips, nip)
		}
	}
	slices.Sort(nips)
	return nips
}

func seconds(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	return new(int64(d / time.Second))
}

func (s *Server) serveDocument(w http.ResponseWriter) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s.document()); err != nil {
		panic("relay: the document is no JSON: " + err.Error())
	}
	w.Header().Set("Content-Type", nostrJSON)
	w.Header().Set("Vary", "Accept")
	w.Write(body.Bytes())
}

//go:embed landing.html
var landingHTML string

var landing = template.Must(template.New("landing").Parse(landingHTML))

// websocketURL returns the URL to give to clients. Where no proxy tells whether
// it speaks TLS, a host with a name and no port is taken to be a public one.
func websocketURL(r *http.Request) string {
	proto := r.Header.Get("X-Forwarded-Proto")
	_, _, noPort := net.SplitHostPort(r.Host)
	_, notIP := netip.ParseAddr(r.Host)
	public := noPort != nil && notIP != nil && r.Host != "localhost"
	if proto == "https" || proto == "" && public {
		return "wss://" + r.Host
	}
	return "ws://" + r.Host
}

// serveLanding answers a web browser.
func (s *Server) serveLanding(w http.ResponseWriter, r *http.Request) {
	data := struct {
		document
		URL string
	}{s.document(), websocketURL(r)}
	var body bytes.Buffer
	if err := landing.Execute(&body, data); err != nil {
		panic("relay: the landing page: " + err.Error())
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src https: data:")
	h.Set("Vary", "Accept")
	w.Write(body.Bytes())
}
