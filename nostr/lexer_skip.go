package nostr

// skip reads one value of any type and forgets it, however it is nested up to
// maxDepth arrays and objects (at most maxNesting).
func (l *lexer) skip(maxDepth int) error {
	var in nesting
	for {
		opened, err := l.open(&in, maxDepth)
		if err != nil {
			return err
		}
		if opened {
			continue
		}
		// A value has ended; so may have what it stands in.
		for in.depth > 0 && !l.accept(',') {
			if err := l.expect(in.closer()); err != nil {
				return err
			}
			in.depth--
		}
		if in.depth == 0 {
			return nil
		}
		if in.object() {
			if err := l.key(); err != nil {
				return err
			}
		}
	}
}

// open reads the start of a value. It reports true after the opening of an
// array or object that is not empty, with in one deeper and the next value
// due, and false where the value is already read to its end.
func (l *lexer) open(in *nesting, maxDepth int) (bool, error) {
	c := l.peek()
	if c != '[' && c != '{' {
		return false, l.scalar(c)
	}
	if in.depth >= min(maxDepth, maxNesting) {
		return false, l.fail("values are nested too deeply")
	}
	l.pos++
	if l.accept(c + 2) { // ] is [ + 2 and } is { + 2
		return false, nil
	}
	in.push(c == '{')
	if c == '{' {
		return true, l.key()
	}
	return true, nil
}

// key reads the key of a member and the colon behind it.
func (l *lexer) key() error {
	if err := l.skipStr(); err != nil {
		return err
	}
	return l.expect(':')
}

// scalar reads a value that begins with c and is neither array nor object.
func (l *lexer) scalar(c byte) error {
	switch c {
	case '"':
		return l.skipStr()
	case 't':
		return l.literal("true")
	case 'f':
		return l.literal("false")
	case 'n':
		return l.literal("null")
	}
	_, err := l.number()
	return err
}

func (l *lexer) literal(want string) error {
	if len(l.data)-l.pos < len(want) || string(l.data[l.pos:l.pos+len(want)]) != want {
		return l.fail("a value must stand here")
	}
	l.pos += len(want)
	return nil
}

// maxNesting is the deepest nesting that any text may have, in bits of
// nesting.objects.
const maxNesting = 1024

// nesting remembers which of the open values are objects, one bit each: room
// for hostile depth without recursion or allocation.
type nesting struct {
	objects [maxNesting / 64]uint64
	depth   int
}

func (n *nesting) push(object bool) {
	word, bit := &n.objects[n.depth/64], uint64(1)<<(n.depth%64)
	*word &^= bit
	if object {
		*word |= bit
	}
	n.depth++
}

// object reports whether the innermost open value, which must exist, is an
// object.
func (n *nesting) object() bool {
	d := n.depth - 1
	return n.objects[d/64]>>(d%64)&1 == 1
}

// closer returns the byte that ends the innermost open value.
func (n *nesting) closer() byte {
	if n.object() {
		return '}'
	}
	return ']'
}
