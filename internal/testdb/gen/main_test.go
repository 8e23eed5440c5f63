package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"wok/internal/testdb"
)

func TestRun(t *testing.T) {
	var want, got bytes.Buffer
	for line := range testdb.Lines(testdb.Options{Seed: 5, Events: 200, Ephemeral: 100}) {
		want.Write(append(line, '\n'))
	}
	stderr := quiet(t)
	args := []string{"-n", "200", "-seed", "5", "-ephemeral", "100"}
	if err := run(context.Background(), args, &got, stderr); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Error("the output is not what Lines yields")
	}
	if talk, err := os.ReadFile(stderr.Name()); err != nil || len(talk) > 0 {
		t.Errorf("stderr, no terminal: %q, %v", talk, err)
	}
}

func TestRunReportsWriteErrors(t *testing.T) {
	if err := run(context.Background(), []string{"-n", "10"}, full{}, quiet(t)); !errors.Is(err, errFull) {
		t.Errorf("error %v, want %v", err, errFull)
	}
}

func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(ctx, nil, new(bytes.Buffer), quiet(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

var errFull = errors.New("no space")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func quiet(t *testing.T) *os.File {
	f, err := os.Create(t.TempDir() + "/stderr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
