package lmdbx

import "io"

// FreePagesFrom is freePagesFrom, for tests.
func FreePagesFrom(f io.ReaderAt, pageSize int, txn, from uint64) (uint64, error) {
	return freePagesFrom(f, pageSize, txn, from)
}

// CountFree counts all free pages of a file that has that many pages.
func CountFree(f io.ReaderAt, pageSize int, txn, pages uint64) (n uint64, err error) {
	r := freeReader{f: f, pageSize: pageSize, pages: pages, left: pages}
	err = r.read(txn, func(uint64) { n++ })
	return n, err
}
