package main

import (
	"errors"
	"testing"

	"wok/store"
)

// A dictionary whose removal was cut off is not chosen, and named it is refused:
// events could not take it, and were left as they are without a word.
func TestChooseDictionary(t *testing.T) {
	ds := []store.Dictionary{{ID: 1}, {ID: 2}, {ID: 4, Retired: true}}
	for id, want := range map[int64]store.Form{-1: 2, 0: 0, 1: 1, 2: 2} {
		if got, err := chooseDictionary(ds, id); got != want || err != nil {
			t.Errorf("%d chooses %v, %v; want %v", id, got, err, want)
		}
	}
	if _, err := chooseDictionary(ds, 3); !errors.Is(err, store.ErrNoDictionary) {
		t.Errorf("3: %v", err)
	}
	for _, id := range []int64{4, -1} {
		if got, err := chooseDictionary(ds[2:], id); err == nil {
			t.Errorf("%d chooses %v of those that are going", id, got)
		}
	}
}
