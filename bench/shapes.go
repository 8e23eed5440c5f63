package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// A shape is a way to ask, as clients do.
type shape struct {
	name   string
	filter func(*rand.Rand, *corpus) string
}

func (s shape) scenario() string { return "query: " + s.name }

// variants is how many filters of a shape take turns.
const variants = 64

// oneID is the place of the cheapest query in shapes.
const oneID = 4

var shapes = []shape{
	{"newest 500", func(*rand.Rand, *corpus) string { return `{"limit":500}` }},
	{"feed of 500, limit 50", feed},
	{"hashtag + author", func(rng *rand.Rand, c *corpus) string {
		f := pick(rng, c.hashtags)
		return fmt.Sprintf(`{"#t":[%s],"authors":[%q],"limit":100}`, quoteJSON(f.first("t")), f.Pubkey)
	}},
	{"#t + #p", func(rng *rand.Rand, c *corpus) string {
		f := pick(rng, c.answers)
		return fmt.Sprintf(`{"#t":[%s],"#p":[%q],"limit":100}`, quoteJSON(f.first("t")), f.first("p"))
	}},
	{"one id", func(rng *rand.Rand, c *corpus) string {
		return fmt.Sprintf(`{"ids":[%q]}`, pick(rng, c.plain).ID)
	}},
	{"one address", func(rng *rand.Rand, c *corpus) string {
		f := pick(rng, c.articles)
		return fmt.Sprintf(`{"kinds":[%d],"authors":[%q],"#d":[%s],"limit":1}`, f.Kind, f.Pubkey, quoteJSON(f.first("d")))
	}},
	{"notifications", notifications},
}

// feed asks for the notes of those whom somebody follows, the longest lists
// first; one list is filled up from others where the longest are short.
func feed(rng *rand.Rand, c *corpus) string {
	const wanted = 500
	has := map[string]bool{}
	authors := []string{}
	for range 100 {
		for _, p := range pick(rng, c.follows).all("p") {
			if len(authors) < wanted && !has[p] {
				has[p] = true
				authors = append(authors, p)
			}
		}
		if len(authors) == wanted {
			break
		}
	}
	list, _ := json.Marshal(authors)
	return fmt.Sprintf(`{"authors":%s,"kinds":[1,6],"limit":50}`, list)
}

// notifications asks for what mentions somebody.
func notifications(rng *rand.Rand, c *corpus) string {
	p := ""
	for p == "" {
		p = pick(rng, c.plain).first("p")
	}
	return fmt.Sprintf(`{"#p":[%q],"kinds":[1,6,7,9735],"limit":50}`, p)
}

func pick(rng *rand.Rand, facts []fact) *fact { return &facts[rng.IntN(len(facts))] }

func quoteJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// frames returns the REQs of a shape, the same for every relay. Their subscription
// ids are to be filled in, see asker.
func (s shape) frames(c *corpus) (frames [][]byte) {
	rng := rand.New(rand.NewPCG(1, uint64(len(s.name))))
	for range variants {
		frames = append(frames, request(s.filter(rng, c)))
	}
	return frames
}
