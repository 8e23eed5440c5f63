package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	a, b, c := &report{relay: "a"}, &report{relay: "b"}, &report{relay: "c"}
	a.more("publish", "OK/s", 1234.5)
	b.more("publish", "OK/s", 411.5)
	c.more("publish", "OK/s", 2469)
	a.less("latency", "ms", 0.51234)
	b.less("latency", "ms", 5.1234)
	a.zero("lost", 0)
	b.zero("lost", 12)
	a.same("answers", 64)
	b.same("answers", 64)
	c.same("answers", 63)
	c.more("only c", "/s", 1)
	a.detail("hidden", "", 1)
	b.note("%d refused", 3)
	var got strings.Builder
	printTable(&got, []*report{a, b, c})
	const want = `
scenario  unit      a     b  better     c  better
publish   OK/s   1234   412    3.0x  2469    0.5x
latency   ms    0.512  5.12   10.0x     -
lost                0    12             -
only c    /s        -     -             1
b: 3 refused
c: answers: 63, those of a 64
`
	if got.String() != want[1:] {
		t.Errorf("got\n%s", got.String())
	}
}
