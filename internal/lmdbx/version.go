package lmdbx

import "github.com/PowerDNS/lmdb-go/lmdb"

// Version returns the version of LMDB that is built in.
func Version() string { return lmdb.VersionString() }
