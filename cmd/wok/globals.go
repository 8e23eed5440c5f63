package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wok/internal/config"
	"wok/store"
)

// globals are the flags that every command has.
type globals struct {
	config string
	db     string
	sets   []string
	profiles

	running bool // a command of ours has begun
}

// flags declares the global flags on the root command.
func (g *globals) flags(root *cobra.Command) {
	fs := root.PersistentFlags()
	fs.StringVar(&g.config, "config", "", "read the configuration from `FILE`")
	fs.Func("db", "`DIR` of the database (default ./wok-db); short for --set db=DIR", g.setDB)
	fs.StringArrayVar(&g.sets, "set", nil, "give a configuration key a value, `KEY=VALUE`; repeatable")
	fs.StringVar(&g.profiles.cpu, "cpu-profile", "", "write a CPU profile to `FILE`, for go tool pprof")
	fs.StringVar(&g.profiles.heap, "heap-profile", "", "write a profile of memory at the end to `FILE`")
	// The flags exist, so registering cannot fail.
	_ = root.MarkPersistentFlagDirname("db")
	_ = root.MarkPersistentFlagFilename("config", "conf")
	_ = root.RegisterFlagCompletionFunc("set", completeKey)
}

// setDB takes the value of --db. An empty one is a variable of a script that was
// never set, and must not mean another database.
func (g *globals) setDB(dir string) error {
	if dir == "" {
		return errors.New("it names no directory")
	}
	g.db = dir
	return nil
}

// completeKey completes the name of a configuration key.
func completeKey(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	var found []string
	for _, k := range config.Keys() {
		if strings.HasPrefix(k.Name, begun) {
			found = append(found, k.Name+"=\t"+k.Help)
		}
	}
	return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// load returns the configuration, with what the flags of a command add to it
// (key=value), and writes what is doubtful about it to stderr.
func (g *globals) load(stderr io.Writer, more ...string) (config.Config, error) {
	sets := slices.Concat(g.sets, more)
	if g.db != "" {
		sets = append(sets, "db="+g.db)
	}
	cfg, warnings, err := config.Load(config.Sources{
		File: config.FindFile(g.config, os.Getenv, exists),
		Env:  os.Environ(),
		Sets: sets,
	})
	if err != nil {
		return cfg, usageError{fmt.Errorf("configuration: %w", err)}
	}
	if cfg.DB == "" {
		return cfg, usageError{errors.New("configuration: db names no directory")}
	}
	if _, err := ownURLs(&cfg); err != nil {
		return cfg, usageError{fmt.Errorf("configuration: %w", err)}
	}
	if _, err := store.ParseCompression(cfg.DBParams.Compression); err != nil {
		return cfg, usageError{fmt.Errorf("configuration: dbParams.compression: %w", err)}
	}
	if err := checkSoftware(cfg.Relay.Info.Software); err != nil {
		return cfg, usageError{fmt.Errorf("configuration: %w", err)}
	}
	if _, err := parseRules(cfg.Retention.Rules); err != nil {
		return cfg, usageError{fmt.Errorf("configuration: %w", err)}
	}
	for _, w := range warnings {
		fmt.Fprintf(stderr, "warning: %s\n", w)
	}
	return cfg, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
