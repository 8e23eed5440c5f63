package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const usage = "usage: golpegen ROOT\n\nwrites the files that follow from ROOT/golpe.yaml\n"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "golpegen:", err)
		os.Exit(1)
	}
}

// run writes every output under root. It generates all of them first, so that
// an error leaves the files as they are.
func run(root string) error {
	src, err := os.ReadFile(filepath.Join(root, "golpe.yaml"))
	if err != nil {
		return err
	}
	spec, err := parse(src)
	if err != nil {
		return err
	}
	texts := make([][]byte, len(outputs))
	for i, name := range outputs {
		if texts[i], err = spec.generate(name); err != nil {
			return err
		}
	}
	for i, name := range outputs {
		if err := os.WriteFile(filepath.Join(root, name), texts[i], 0o644); err != nil {
			return err
		}
	}
	return nil
}
