package store

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/dict"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxSample is how much, in bytes, of one event a dictionary is made from: what
	// long events have in common with others stands at their beginning.
	maxSample = 4 << 10
	// maxSamples is how much of all events. Training takes some 40 times that in
	// memory.
	maxSamples = 4 << 20
	// matchBytes is the length of the pieces that the trainer counts.
	matchBytes = 8

	minDictionary = 256
	maxDictionary = 1 << 20
)

// TrainDictionary makes a dictionary of up to about size bytes from the JSON of
// events that are like those to be compressed with it. Samples beyond the first
// 4 MiB, or the first 4 KiB of one, are not used. The dictionary has no id yet,
// see [DB.AddDictionary].
func TrainDictionary(samples [][]byte, size int) ([]byte, error) {
	if size < minDictionary || size > maxDictionary {
		return nil, fmt.Errorf("a dictionary has %d to %d bytes, not %d", minDictionary, maxDictionary, size)
	}
	total := 0
	var input [][]byte
	for _, s := range samples {
		s = s[:min(len(s), maxSample)]
		if total += len(s); total > maxSamples {
			break
		}
		input = append(input, s)
	}
	if len(input) == 0 {
		return nil, errors.New("there are no events to make a dictionary from")
	}
	b, err := dict.BuildZstdDict(input, dict.Options{
		MaxDictSize: size,
		HashBytes:   matchBytes,
		ZstdDictID:  1, // any
		ZstdLevel:   zstd.SpeedDefault,
	})
	if err != nil {
		return nil, fmt.Errorf("make a dictionary from %d events: %w", len(input), err)
	}
	return b, nil
}

// TryDictionary compresses the JSON of events with a dictionary as they would be
// on their way in, and returns how many bytes they have before and after.
func TryDictionary(dict []byte, events [][]byte) (before, after uint64, err error) {
	c, err := newCodec(1, dict)
	if err != nil {
		return 0, 0, err
	}
	enc, err := c.quick()
	if err != nil {
		return 0, 0, err
	}
	var payload []byte
	for _, json := range events {
		before += uint64(len(json))
		var smaller bool
		if payload, smaller = c.appendFrame(payload[:0], enc, json); smaller {
			after += uint64(len(payload))
		} else {
			after += uint64(plainSize(json))
		}
	}
	return before, after, nil
}
