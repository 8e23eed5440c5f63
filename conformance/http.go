package conformance

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// maxBody is how much of an answer is read.
const maxBody = 1 << 20

// http: http METHOD [/PATH] [Header: value | Header: value], with = for what the
// answer must have: a status, or several; Header: text; or a JSON body. The
// path is added to that of the relay.
func (p *player) http(s *step) error {
	text, err := p.expand(s.client, s.text)
	if err != nil {
		return err
	}
	p.sent = "http " + text
	req, err := p.request(text)
	if err != nil {
		return err
	}
	client := &http.Client{
		Timeout:       p.timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return differs("an answer", err.Error())
	}
	defer resp.Body.Close()
	var body []byte
	if resp.StatusCode != http.StatusSwitchingProtocols {
		if body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody)); err != nil {
			return differs("the whole answer", err.Error())
		}
	}
	for _, line := range s.more {
		want, err := p.expand(s.client, line.text)
		if err != nil {
			return err
		}
		if err := checkAnswer(want, resp, string(body)); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) request(text string) (*http.Request, error) {
	method, rest, _ := strings.Cut(text, " ")
	path := ""
	if strings.HasPrefix(rest, "/") {
		path, rest, _ = strings.Cut(rest, " ")
	}
	address, err := p.target.http(path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(method, address, nil)
	if err != nil {
		return nil, err
	}
	for header := range strings.SplitSeq(rest, " | ") {
		if name, value, ok := strings.Cut(header, ": "); ok {
			req.Header.Add(name, value)
		}
	}
	return req, nil
}

func checkAnswer(want string, resp *http.Response, body string) error {
	if strings.HasPrefix(want, "{") {
		return checkBody(want, body)
	}
	if name, value, ok := strings.Cut(want, ": "); ok {
		got := strings.Join(resp.Header.Values(name), ", ")
		if !matchText(value, got) || got == "" {
			return differs(want, fmt.Sprintf("%s: %s", name, got))
		}
		return nil
	}
	got := strconv.Itoa(resp.StatusCode)
	if !slices.Contains(strings.Split(want, " or "), got) {
		return differs("status "+want, got)
	}
	return nil
}

func checkBody(want, body string) error {
	form, err := newPattern(want, false)
	if err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	got, err := decode(body)
	if err != nil || !form.match(form.value, got) {
		return differs(want, body)
	}
	return nil
}
