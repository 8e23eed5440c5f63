package nostr

import (
	"errors"
	"math/bits"
)

// errNotUint is what uint returns for a value that is valid JSON, as far as
// read, but no integer of 0 to 2^64-1.
var errNotUint = errors.New("not an integer of 0 to 2^64-1")

// uint reads a number that is an integer of 0 to 2^64-1 by value, however it
// is spelled: 1000, 1e3 and 1000.0 are the same. Any other number, and
// anything that is no number, is errNotUint.
func (l *lexer) uint() (uint64, error) {
	if c := l.peek(); c != '-' && (c < '0' || c > '9') {
		return 0, l.mistyped(errNotUint)
	}
	n, err := l.number()
	if err != nil {
		return 0, err
	}
	return n.uint()
}

// A number is a JSON number: digits x 10^exp. Its digits do not end in 0
// unless they are 0, which makes the question "is it an integer" one about the
// exponent.
type number struct {
	digits   uint64
	exp      int
	overflow bool // digits needs more than 64 bits
	negative bool
}

// maxExponent stands for every larger exponent: more than a text can have
// digits to make good for, so that no arithmetic on exponents overflows.
const maxExponent = 1 << 40

// number reads a number at pos.
func (l *lexer) number() (number, error) {
	var n number
	if l.here() == '-' {
		n.negative = true
		l.pos++
	}
	if l.here() == '0' {
		l.pos++
	} else if err := l.digits(&n); err != nil {
		return n, err
	}
	if l.here() == '.' {
		l.pos++
		start := l.pos
		if err := l.digits(&n); err != nil {
			return n, err
		}
		n.exp -= l.pos - start
	}
	if l.here()|0x20 != 'e' {
		return n, nil
	}
	l.pos++
	e, err := l.exponent()
	n.exp += e
	return n, err
}

// digits reads one or more digits into n. Zeros wait in exp until another
// digit follows them.
func (l *lexer) digits(n *number) error {
	start := l.pos
	for ; l.pos < len(l.data); l.pos++ {
		c := l.data[l.pos]
		if c < '0' || c > '9' {
			break
		}
		if c == '0' {
			n.exp++
			continue
		}
		n.overflow = n.overflow || !n.shift(n.exp+1) || !n.add(uint64(c-'0'))
		n.exp = 0
	}
	if l.pos == start {
		return l.fail("a value must stand here")
	}
	return nil
}

// shift multiplies the digits by 10^k and reports whether they still fit.
func (n *number) shift(k int) bool {
	if n.digits == 0 {
		return true
	}
	for ; k > 0; k-- {
		over, lo := bits.Mul64(n.digits, 10)
		if over != 0 {
			return false
		}
		n.digits = lo
	}
	return true
}

func (n *number) add(d uint64) bool {
	sum, carry := bits.Add64(n.digits, d, 0)
	n.digits = sum
	return carry == 0
}

// exponent reads the part of a number behind the e.
func (l *lexer) exponent() (int, error) {
	negative := l.here() == '-'
	if negative || l.here() == '+' {
		l.pos++
	}
	e, start := 0, l.pos
	for ; l.pos < len(l.data); l.pos++ {
		c := l.data[l.pos]
		if c < '0' || c > '9' {
			break
		}
		e = min(e*10+int(c-'0'), maxExponent)
	}
	if l.pos == start {
		return 0, l.fail("an exponent has digits")
	}
	if negative {
		return -e, nil
	}
	return e, nil
}

// uint returns n as an integer of 0 to 2^64-1. Minus zero is 0.
func (n number) uint() (uint64, error) {
	if n.digits == 0 && !n.overflow {
		return 0, nil
	}
	if n.negative || n.overflow || n.exp < 0 || !n.shift(n.exp) {
		return 0, errNotUint
	}
	return n.digits, nil
}
