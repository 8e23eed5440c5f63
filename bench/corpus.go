package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// A fact is what a query can ask of an event.
type fact struct {
	ID        string     `json:"id"`
	Pubkey    string     `json:"pubkey"`
	CreatedAt int64      `json:"created_at"`
	Kind      int        `json:"kind"`
	Tags      [][]string `json:"tags"`
}

// first returns the first value of a tag, "" where there is none.
func (f *fact) first(name string) string {
	for _, tag := range f.Tags {
		if len(tag) > 1 && tag[0] == name {
			return tag[1]
		}
	}
	return ""
}

// all returns all values of a tag.
func (f *fact) all(name string) (values []string) {
	for _, tag := range f.Tags {
		if len(tag) > 1 && tag[0] == name {
			values = append(values, tag[1])
		}
	}
	return values
}

// A corpus is what the queries are made of: the terms of the events that every
// relay is filled with.
type corpus struct {
	path     string
	events   int
	times    []int64 // of all events, rising
	plain    []fact  // notes, reactions and such: nothing replaces them
	hashtags []fact  // of those, the ones with a t tag
	answers  []fact  // the ones with a t and a p tag
	articles []fact  // addressable
	follows  []fact  // follow lists
}

func readCorpus(path string) (*corpus, error) {
	c := &corpus{path: path}
	err := eachLine(path, func(line []byte) error {
		var f fact
		if err := json.Unmarshal(line, &f); err != nil {
			return fmt.Errorf("event %d: %w", c.events+1, err)
		}
		c.add(f)
		return nil
	})
	slices.Sort(c.times)
	if err == nil && min(len(c.plain), len(c.hashtags), len(c.answers), len(c.articles), len(c.follows)) == 0 {
		err = fmt.Errorf("read %s: %d events are too few to find something of every kind", path, c.events)
	}
	return c, err
}

func (c *corpus) add(f fact) {
	c.events++
	c.times = append(c.times, f.CreatedAt)
	switch {
	case f.Kind == 3:
		c.follows = append(c.follows, f)
	case f.Kind/10000 == 3:
		f.Tags = [][]string{{"d", f.first("d")}}
		c.articles = append(c.articles, f)
	case slices.Contains(plainKinds, f.Kind):
		t, p := f.first("t"), f.first("p")
		f.Tags = [][]string{{"t", t}, {"p", p}}
		c.plain = append(c.plain, f)
		if t != "" {
			c.hashtags = append(c.hashtags, f)
		}
		if t != "" && p != "" {
			c.answers = append(c.answers, f)
		}
	}
}

// plainKinds are stored once and by everyone, and nothing replaces them.
var plainKinds = []int{1, 6, 7, 1111, 9735}

// A fresh is an event that no relay has yet, ready to be sent.
type fresh struct {
	frame  []byte
	id     uint64 // see idOf
	kind   int
	pubkey string
}

func readFresh(path string) (events []fresh, err error) {
	err = eachLine(path, func(line []byte) error {
		var f fact
		if err := json.Unmarshal(line, &f); err != nil {
			return fmt.Errorf("event %d: %w", len(events)+1, err)
		}
		if len(f.ID) != 64 {
			return fmt.Errorf("event %d: id %q", len(events)+1, f.ID)
		}
		frame := slices.Concat([]byte(`["EVENT",`), line, []byte{']'})
		events = append(events, fresh{appendFrame(nil, finBit|opText, frame), idOf([]byte(f.ID)), f.Kind, f.Pubkey})
		return nil
	})
	return events, err
}

// eachLine calls f for each line of a file, which is valid during the call.
func eachLine(path string, f func(line []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 1<<20), 16<<20)
	for lines.Scan() {
		if err := f(lines.Bytes()); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
