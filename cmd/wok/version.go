package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"wok/internal/lmdbx"
	"wok/nostr"
	"wok/store"
)

const versionUsage = `Print the versions of wok and of what it is made of, and what checks signatures
in this binary.`

// version is set by the linker where there is no repository to build from:
// -ldflags "-X main.version=1.2.3".
var version string

func newVersion(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print versions",
		Long:  versionUsage,
		Args:  cobra.NoArgs,
		RunE:  g.begin(runVersion),
	}
}

func runVersion(_ context.Context, _ []string, io stdio) error {
	w := tabwriter.NewWriter(io.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "wok\t%s\n", buildVersion())
	fmt.Fprintf(w, "go\t%s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(w, "database\tformat %d, %s\n", store.FormatVersion, lmdbx.Version())
	fmt.Fprintf(w, "signatures\t%s%s\n", nostr.SignatureBackend(), slowly())
	return w.Flush()
}

// buildVersion returns the version of this binary: what the linker or, by the
// repository, the go command has written into it.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return cmp.Or(version, "unknown")
	}
	return cmp.Or(version, info.Main.Version, "unknown")
}

// slowly says what a binary without libsecp256k1 is missing, in a word
// for the log; empty otherwise.
func slowly() string {
	if nostr.SignatureBackend() == "libsecp256k1" {
		return ""
	}
	return " (five times slower: build with -tags libsecp256k1, cgo and Linux)"
}
