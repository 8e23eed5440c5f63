package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A relay is one to be measured: one that is started with a command, or one that
// runs at a URL.
//
// Commands are given to the shell. In them {db} stands for the directory of the
// database, {dir} for one in memory that it is moved from after loading, and
// {port} for the port.
type relay struct {
	name  string
	url   string // "" where it is to be started
	start string // command
	load  string // command that reads events from stdin; "" where they are published
	dir   string // of its database
	conf  string // written to dir + ".conf" before a start; {conf} in commands
	tmpfs bool   // load into memory, as the command syncs each event
}

// wok is the relay of this repository. Authentication is off since the peers
// have none: they would serve kinds that wok keeps to itself.
func wok(path string) relay {
	program := quote(path) + " --config /dev/null --db {db} "
	return relay{
		name:  "wok",
		start: program + "relay --port {port} --set relay.auth.enabled=false",
		load:  program + "import --no-verify",
	}
}

func khatru(path string) relay {
	return relay{
		name:  "khatru",
		start: quote(path) + " -db {db} -port {port}",
		load:  quote(path) + " -db {db} load",
		tmpfs: true,
	}
}

func strfry(path string) relay {
	return relay{
		name:  "strfry",
		start: quote(path) + " --config={conf} relay",
		load:  quote(path) + " --config={conf} import --no-verify",
		conf:  strfryConf,
	}
}

// strfryConf opens the limits to what wok has.
const strfryConf = `db = "{db}"
dbParams {
    maxreaders = 256
    mapsize = 1099511627776
}
events {
    maxEventSize = 524288
    rejectEventsNewerThanSeconds = 900
    rejectEventsOlderThanSeconds = 3153600000
    rejectEphemeralEventsOlderThanSeconds = 60
    maxNumTags = 10000
    maxTagValSize = 65536
}
relay {
    bind = "127.0.0.1"
    port = {port}
    nofiles = {files}
    maxWebsocketPayloadSize = 1048576
    maxReqFilterSize = 200
    maxFilterLimit = 500
    maxSubsPerConnection = 200
    maxPendingOutboundBytes = 33554432
    compression {
        enabled = true
        slidingWindow = true
    }
    logging {
        invalidEvents = false
    }
}
`

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// command fills in and prepares a command. The shell is replaced by it, so that
// the process is the relay's.
func (r *relay) command(ctx context.Context, line string, port int) (*exec.Cmd, error) {
	fill := strings.NewReplacer("{db}", r.dir, "{conf}", r.dir+".conf", "{port}", strconv.Itoa(port), "{files}", strconv.Itoa(maxFiles()))
	if r.conf != "" {
		if err := os.WriteFile(r.dir+".conf", []byte(fill.Replace(r.conf)), 0o644); err != nil {
			return nil, err
		}
	}
	return exec.CommandContext(ctx, "/bin/sh", "-c", "exec "+fill.Replace(line)), nil
}

// maxFiles returns how many files a process may open.
func maxFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(limit.Max, 1<<20))
}

// fill makes a new database with the events of a file, if the relay has a command
// for that.
func (r *relay) fill(ctx context.Context, events string) error {
	if r.url != "" {
		return nil
	}
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	if r.load == "" {
		return nil
	}
	if r.tmpfs {
		return r.fillInMemory(ctx, events)
	}
	return r.loadFrom(ctx, events)
}

// fillInMemory loads into memory, where a sync costs nothing, and copies the
// database to the disk.
func (r *relay) fillInMemory(ctx context.Context, events string) error {
	fast, err := os.MkdirTemp("/dev/shm", "bench-")
	if err != nil {
		return r.loadFrom(ctx, events)
	}
	defer os.RemoveAll(fast)
	inMemory := *r
	inMemory.dir = filepath.Join(fast, r.name)
	if err := os.Mkdir(inMemory.dir, 0o755); err != nil {
		return err
	}
	if err := inMemory.loadFrom(ctx, events); err != nil {
		return err
	}
	// Such files are mostly holes.
	if out, err := exec.CommandContext(ctx, "cp", "-r", "--sparse=always", inMemory.dir+"/.", r.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("copy database: %w: %s", err, out)
	}
	return nil
}

func (r *relay) loadFrom(ctx context.Context, events string) error {
	in, err := os.Open(events)
	if err != nil {
		return err
	}
	defer in.Close()
	cmd, err := r.command(ctx, r.load, 0)
	if err != nil {
		return err
	}
	cmd.Stdin = in
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("load %s: %w: %s", r.name, err, out[max(0, len(out)-500):])
	}
	return nil
}
