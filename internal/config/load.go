package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
)

const (
	envPrefix = "WOK_"
	// envFile names the configuration file and is no key.
	envFile = envPrefix + "CONFIG"

	maxFileSize = 1 << 20
	// maxNameLen bounds the work of finding the nearest key.
	maxNameLen = 200
)

// Sources are the places that settings come from, each going before the ones
// above it.
type Sources struct {
	File string   // path; none where empty
	Env  []string // NAME=value, as os.Environ returns it
	Sets []string // key=value, as --set gives it
}

// A Warning is something to tell the operator that is no error.
type Warning struct {
	Source string // as in Setting
	Text   string
}

func (w Warning) String() string { return w.Source + ": " + w.Text }

// Load returns the configuration that results from s. On error nothing of it
// is to be used; the error lists everything that is wrong, one line each.
func Load(s Sources) (Config, []Warning, error) {
	l := loader{config: Default()}
	if s.File != "" {
		l.file(s.File)
	}
	for _, v := range s.Env {
		l.env(v)
	}
	for _, v := range s.Sets {
		l.set(v)
	}
	if len(l.errs) > 0 {
		return Config{}, nil, errors.Join(l.errs...)
	}
	l.compare()
	return l.config, l.warnings, nil
}

type loader struct {
	config   Config
	warnings []Warning
	errs     []error
}

func (l *loader) fail(source string, err error) {
	l.errs = append(l.errs, fmt.Errorf("%s: %w", source, err))
}

func (l *loader) warn(source, format string, args ...any) {
	l.warnings = append(l.warnings, Warning{source, fmt.Sprintf(format, args...)})
}

// put gives key number i the value v, or the error that came instead of it.
func (l *loader) put(i int, source string, v any, err error) {
	k := &keys[i]
	switch {
	case err != nil:
		l.fail(source, err)
	case k.Ignored != "":
		if k.harmless == nil || !reflect.DeepEqual(v, k.harmless) {
			l.warn(source, "%s has no effect: %s", k.Name, k.Ignored)
		}
	default:
		reflect.ValueOf(l.config.fields()[i]).Elem().Set(reflect.ValueOf(v))
		l.config.sources[i] = source
	}
}

// file takes the settings of the file at path.
func (l *loader) file(path string) {
	src, err := readFile(path)
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	b, err := Parse(src)
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("%s:%w", path, err))
		return
	}
	l.block(path, "", b)
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFileSize {
		return nil, fmt.Errorf("%s: %d bytes are too many for a configuration file", path, info.Size())
	}
	return os.ReadFile(path)
}

// block takes the settings of a block; prefix is the group's name and a dot.
func (l *loader) block(path, prefix string, b Block) {
	for _, e := range b {
		source := fmt.Sprintf("%s:%d", path, e.Line)
		name := prefix + e.Name
		i, known := find(name)
		inner, isBlock := e.Value.Value.(Block)
		switch {
		case strings.Contains(e.Name, "."):
			// Else one key could be given twice, in two spellings.
			l.fail(source, fmt.Errorf("%q: in a file, groups are blocks in braces", e.Name))
		case known:
			v, err := keys[i].fromNode(e.Value)
			l.put(i, source, v, err)
		case isBlock && isGroup(name):
			l.block(path, name+".", inner)
		case isGroup(name):
			l.fail(source, fmt.Errorf("%s is a group: expected a block in braces, found %s", name, describe(e.Value.Value)))
		default:
			l.fail(source, unknown(name))
		}
	}
}

// env takes a setting from an environment variable. One that looks like ours
// and is not gets a warning only: the environment belongs to others as well.
func (l *loader) env(variable string) {
	name, text, _ := strings.Cut(variable, "=")
	if !strings.HasPrefix(name, envPrefix) || name == envFile {
		return
	}
	for i := range keys {
		if keys[i].Env() == name {
			v, err := keys[i].fromText(text)
			l.put(i, name, v, err)
			return
		}
	}
	l.warn(name, "no key has this variable")
}

// set takes a setting of the form key=value.
func (l *loader) set(s string) {
	const source = "--set"
	name, text, ok := strings.Cut(s, "=")
	name = strings.TrimSpace(name)
	i, known := find(name)
	switch {
	case !ok:
		l.fail(source, fmt.Errorf("%q is not of the form key=value", s))
	case !known:
		l.fail(source, unknown(name))
	default:
		v, err := keys[i].fromText(strings.TrimSpace(text))
		l.put(i, source, v, err)
	}
}

func unknown(name string) error {
	if len(name) > maxNameLen {
		return fmt.Errorf("unknown key %.40q... of %d bytes", name, len(name))
	}
	return fmt.Errorf("unknown key %s; the nearest is %s", name, nearest(name))
}

// compare looks for settings that do not go together.
func (l *loader) compare() {
	c := &l.config
	if c.Relay.MaxWebsocketPayloadSize < c.Events.MaxEventSize {
		i, _ := find("relay.maxWebsocketPayloadSize")
		l.warn(c.source(i), "relay.maxWebsocketPayloadSize (%d) is less than events.maxEventSize (%d): larger events cannot come in from clients",
			c.Relay.MaxWebsocketPayloadSize, c.Events.MaxEventSize)
	}
}
