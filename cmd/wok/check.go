package main

import "errors"

// errUnclean is returned by check where it has found and told something.
var errUnclean = errors.New("the database is damaged")
