package strfry

import "fmt"

// Rows of some tables are FlatBuffers: a uint32 tells where the table stands,
// which begins with an int32, the distance back to its list of fields. That list
// is its own size, the size of the table, and the offset of each field from the
// table, 0 for one that is not there, all uint16.
//
// flatField returns the bytes from the given field of the table on, none for one
// that is not there.
func flatField(b []byte, field int) ([]byte, error) {
	at, ok := flatUint32(b, 0)
	back, ok2 := flatUint32(b, at)
	list := int64(at) - int64(int32(back))
	if !ok || !ok2 || list < 0 || list+4 > int64(len(b)) {
		return nil, fmt.Errorf("%w: no table in %d bytes", ErrDamaged, len(b))
	}
	fields := b[list:]
	slot := 4 + 2*field
	if slot+2 > min(int(le.Uint16(fields)), len(fields)) {
		return nil, nil
	}
	offset := int64(le.Uint16(fields[slot:]))
	if offset == 0 {
		return nil, nil
	}
	if int64(at)+offset > int64(len(b)) {
		return nil, fmt.Errorf("%w: field %d is not within the %d bytes", ErrDamaged, field, len(b))
	}
	return b[int64(at)+offset:], nil
}

// flatInt returns a field that is a uint64, 0 if it is not there.
func flatInt(b []byte, field int) (uint64, error) {
	f, err := flatField(b, field)
	if err != nil || f == nil {
		return 0, err
	}
	if len(f) < 8 {
		return 0, fmt.Errorf("%w: field %d has %d bytes", ErrDamaged, field, len(f))
	}
	return le.Uint64(f), nil
}

// flatBytes returns a field that is a vector of bytes: where it stands is told
// by an offset from the field, and its size stands in front of it.
func flatBytes(b []byte, field int) ([]byte, error) {
	f, err := flatField(b, field)
	if err != nil || f == nil {
		return nil, err
	}
	at, ok := flatUint32(f, 0)
	size, ok2 := flatUint32(f, at)
	if !ok || !ok2 || uint64(at)+4+uint64(size) > uint64(len(f)) {
		return nil, fmt.Errorf("%w: field %d is not within the %d bytes", ErrDamaged, field, len(b))
	}
	return f[at+4:][:size], nil
}

func flatUint32(b []byte, at uint32) (uint32, bool) {
	if uint64(at)+4 > uint64(len(b)) {
		return 0, false
	}
	return le.Uint32(b[at:]), true
}
