package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

const rootUsage = `wok is a nostr relay, and the tools around its database.

  wok relay                            serve ws://127.0.0.1:7777 from ./wok-db
  wok import < events.jsonl            bring events in
  wok scan '{"kinds":[1],"limit":10}'  find events
  wok export events.jsonl.zst          take all events out
  wok backup /backups                  copy the database; see also restore, compact

No configuration is needed. Where there is one it comes from the first of
--config, $WOK_CONFIG, /etc/wok.conf, ./wok.conf, $STRFRY_CONFIG,
/etc/strfry.conf, ./strfry.conf. Each key can also be set by an environment
variable (WOK_RELAY_PORT for relay.port) and, before all others, by --set.

All commands may run beside a running relay. Results go to stdout and all talk
to stderr. The exit code is 0 for success (also where the reader of stdout has
left), 1 for failure, 2 for a mistake in the command line or the configuration,
and 128 + the signal's number for a command ended by a signal.`

// newRoot returns the command with all its subcommands.
func newRoot(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:           "wok",
		Short:         "A nostr relay",
		Long:          rootUsage,
		Version:       buildVersion(),
		SilenceErrors: true, // report prints them
		SilenceUsage:  true,
	}
	g.flags(root)
	root.AddCommand(
		newRelay(g),
		newImport(g), newExport(g), newDelete(g), newMigrate(g),
		newScan(g), newExplain(g),
		newInfo(g), newCheck(g),
		newBackup(g), newRestore(g), newCompact(g),
		newDict(g),
		newVersion(g),
	)
	root.SetFlagErrorFunc(plainFlagError)
	strict(root)
	return root
}

// strict makes cobra's own commands refuse arguments that they do not know; as
// they come they print a help text, and succeed.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				_, _, err := root.Find(args)
				return err
			}
		case "completion": // its Args are checked once there is something to run
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// plainFlagError says what is wrong with the value of a flag, but not which
// function of Go thinks so.
func plainFlagError(_ *cobra.Command, err error) error {
	var number *strconv.NumError
	if !errors.As(err, &number) {
		return err
	}
	return errors.New(strings.Replace(err.Error(), number.Error(), number.Err.Error(), 1))
}

// begin makes a run method what cobra calls, and notes that it has been.
func (g *globals) begin(run func(context.Context, []string, stdio) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		g.running = true
		stop, err := g.profiles.start()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		return run(cmd.Context(), args, stdio{cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()})
	}
}
