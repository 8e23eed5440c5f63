package testdb

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// DenseWorld returns up to 14 events in which everything hits everything, of the
// keys number key and key+1 and of a few seconds. Where key is a multiple of 20
// it is denser still: one author, one address, two seconds.
func DenseWorld(rng *rand.Rand, key int) (lines [][]byte) {
	var events []Event
	pubkeys := []string{Key(key).Pubkey(), Key(key + 1).Pubkey()}
	kinds, authors, seconds := []int{0, 1, 5, 5, 5, 30000, 30000, 1059}, 2, 4
	if key%20 == 0 {
		kinds, authors, seconds = []int{0, 5}, 1, 2
		pubkeys[1] = pubkeys[0]
	}
	for range 6 + rng.IntN(9) {
		author := rng.IntN(authors)
		e := Event{Kind: kinds[rng.IntN(len(kinds))], CreatedAt: int64(1000 + rng.IntN(seconds)), Content: fmt.Sprint(rng.IntN(1000))}
		switch e.Kind {
		case 1059:
			e.Tags = [][]string{{"p", pubkeys[rng.IntN(2)]}}
		case 30000:
			e.Tags = [][][]string{nil, {{"d"}}, {{"d", ""}}, {{"d", "x"}}}[rng.IntN(4)]
		case 5:
			for range 1 + rng.IntN(2) {
				e.Tags = append(e.Tags, denseTarget(rng, events, pubkeys))
			}
		}
		line := Sign(key+author, e)
		lines, events = append(lines, line), append(events, Decode(line))
	}
	return lines
}

// denseTarget returns a tag that deletes one of the events, or its address.
func denseTarget(rng *rand.Rand, events []Event, pubkeys []string) []string {
	if len(events) == 0 || rng.IntN(3) == 0 {
		spelled := []string{"0:%s:", "30000:%s:", "30000:%s:x"}[rng.IntN(3)]
		return []string{"a", fmt.Sprintf(spelled, pubkeys[rng.IntN(2)])}
	}
	e := events[rng.IntN(len(events))]
	if a := Address(e); a != "" && rng.IntN(2) == 0 {
		return []string{"a", a}
	}
	return []string{"e", e.ID}
}

// EndingWorld is a dense world in which people ask to vanish (NIP-62) and a third
// of the events expires at the deadline, in unix seconds: up to 16 events of the
// keys number key and key+1.
func EndingWorld(rng *rand.Rand, key, deadline int) (lines [][]byte) {
	var events []Event
	pubkeys := []string{Key(key).Pubkey(), Key(key + 1).Pubkey()}
	kinds := []int{0, 0, 1, 5, 5, 62, 30000, 30000, 1059, 1059}
	for range 8 + rng.IntN(9) {
		author := rng.IntN(2)
		e := Event{Kind: kinds[rng.IntN(len(kinds))], CreatedAt: int64(1000 + rng.IntN(6)), Content: fmt.Sprint(rng.IntN(1000))}
		switch e.Kind {
		case 1059:
			e.Tags = [][]string{{"p", pubkeys[rng.IntN(2)]}}
		case 30000:
			e.Tags = [][][]string{nil, {{"d", "x"}}}[rng.IntN(2)]
		case 5:
			e.Tags = [][]string{denseTarget(rng, events, pubkeys)}
		case 62:
			e.Tags = [][]string{{"relay", "ALL_RELAYS"}}
		}
		if rng.IntN(3) == 0 {
			e.Tags = append(slices.Clone(e.Tags), []string{"expiration", fmt.Sprint(deadline)})
		}
		line := Sign(key+author, e)
		lines, events = append(lines, line), append(events, Decode(line))
	}
	return lines
}
