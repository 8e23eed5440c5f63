package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const (
	aHex  = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d"
	aNpub = "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6"
)

// file writes a configuration file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wok.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// setting returns the value of a key as the configuration has it.
func setting(t *testing.T, c *Config, name string) Setting {
	t.Helper()
	for s := range c.Settings() {
		if s.Key.Name == name {
			return s
		}
	}
	t.Fatalf("no setting %s", name)
	return Setting{}
}

func TestDefaults(t *testing.T) {
	c, warnings, err := Load(Sources{})
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	if d := Default(); !reflect.DeepEqual(c, d) {
		t.Errorf("Load of nothing changes %v", Diff(&d, &c))
	}
	if c.DB != "./wok-db" || c.Relay.Bind != "127.0.0.1" || c.Relay.Port != 7777 {
		t.Errorf("defaults are %v, %v, %v", c.DB, c.Relay.Bind, c.Relay.Port)
	}
}

// TestFollowListsFit: 02-R1 wants room for messages of 512 KiB, and a list
// with the largest number of follows must come through every bound.
func TestFollowListsFit(t *testing.T) {
	c := Default()
	const follow = int64(len(`["p","`) + 64 + len(`"],`))
	if c.Relay.MaxWebsocketPayloadSize < 512<<10 || c.Events.MaxEventSize < 512<<10-1<<10 {
		t.Error("a message of 512 KiB does not fit")
	}
	if most := c.Events.MaxEventSize / follow; int64(c.Events.MaxNumTags) < most {
		t.Errorf("maxNumTags %d refuses lists of %d follows, which fit into maxEventSize", c.Events.MaxNumTags, most)
	}
}

func TestShippedFileIsTheDefaults(t *testing.T) {
	c, warnings, err := Load(Sources{File: "../../wok.conf"})
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	d := Default()
	if diff := Diff(&d, &c); len(diff) != 0 {
		t.Errorf("wok.conf changes %v", diff)
	}
	for s := range c.Settings() {
		if s.Source == "default" {
			t.Errorf("wok.conf does not have %s", s.Key.Name)
		}
	}
}

func TestStrfryFile(t *testing.T) {
	c, warnings, err := Load(Sources{File: "testdata/strfry.conf"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"db":                                  "./strfry-db/",
		"dbParams.mapsize":                    int64(10995116277760),
		"events.maxEventSize":                 int64(65536),
		"events.rejectEventsOlderThanSeconds": 94608000,
		"relay.maxSubsPerConnection":          200,
		"relay.maxTagsPerFilter":              3,
		"relay.info.name":                     "strfry default",
		"relay.info.nips":                     []int(nil),
		"relay.filterValidation.allowedKinds": []uint16(nil),
	} {
		if got := setting(t, &c, name).Value; !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	var got []string
	for _, w := range warnings {
		key, _, _ := strings.Cut(w.Text, " ")
		got = append(got, key)
	}
	want := []string{
		"events.ephemeralEventsLifetimeSeconds",
		"relay.compression.slidingWindow",
		"relay.numThreads.ingester", "relay.numThreads.reqWorker",
		"relay.numThreads.reqMonitor", "relay.numThreads.negentropy",
		"relay.negentropy.enabled",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("warnings about %q, want %q", got, want)
	}
}

func TestLayers(t *testing.T) {
	path := file(t, "relay {\n port = 1\n maxFilterLimit = 1\n maxReqFilterSize = 1\n}")
	c, warnings, err := Load(Sources{
		File: path,
		Env:  []string{"HOME=/", "WOK_CONFIG=x", "WOK_RELAY_PORT=2", "WOK_RELAY_MAXFILTERLIMIT=2"},
		Sets: []string{"relay.port=3", "relay.port = 4", "relay.info.name=a=b"},
	})
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	for _, want := range []Setting{
		{Key{Name: "relay.port"}, 4, "--set"},
		{Key{Name: "relay.maxFilterLimit"}, 2, "WOK_RELAY_MAXFILTERLIMIT"},
		{Key{Name: "relay.maxReqFilterSize"}, 1, path + ":4"},
		{Key{Name: "relay.info.name"}, "a=b", "--set"},
		{Key{Name: "relay.bind"}, "127.0.0.1", "default"},
	} {
		got := setting(t, &c, want.Key.Name)
		if got.Value != want.Value || got.Source != want.Source {
			t.Errorf("%s is %v from %s, want %v from %s", want.Key.Name, got.Value, got.Source, want.Value, want.Source)
		}
	}
}

// TestEveryKeyEveryWay sets each key to another value by file, environment and
// --set, and finds it changed.
func TestEveryKeyEveryWay(t *testing.T) {
	for _, k := range Keys() {
		text, inFile := "1500", "1500"
		switch k.Type {
		case Bool:
			text = "true"
			if d := Default(); k.Ignored == "" && setting(t, &d, k.Name).Value == true {
				text = "false"
			}
			inFile = text
		case Pubkey:
			text, inFile = aNpub, `"`+aHex+`"`
		case String:
			inFile = `"1500"`
		case Kinds, Ints:
			inFile = "[1500]"
		}
		if k.Max != 0 && k.Max < 1500 {
			text, inFile = "52", "52"
		}
		if k.Min > 1500 {
			text, inFile = "33554433", "33554433"
		}
		path := strings.Split(k.Name, ".")
		block := path[len(path)-1] + " = " + inFile
		for i := len(path) - 2; i >= 0; i-- {
			block = path[i] + " {\n" + block + "\n}"
		}
		for _, s := range []Sources{
			{File: file(t, block)},
			{Env: []string{k.Env() + "=" + text}},
			{Sets: []string{k.Name + "=" + text}},
		} {
			checkOneChange(t, k, s)
		}
	}
}

func checkOneChange(t *testing.T, k Key, s Sources) {
	t.Helper()
	c, warnings, err := Load(s)
	if err != nil {
		t.Errorf("%s: %v", k.Name, err)
		return
	}
	d := Default()
	diff := Diff(&d, &c)
	switch {
	case k.Ignored != "":
		if len(diff) != 0 {
			t.Errorf("%s is ignored and changes %v", k.Name, diff)
		}
	case len(diff) != 1 || diff[0].Key.Name != k.Name:
		t.Errorf("%s changes %v (warnings %v)", k.Name, diff, warnings)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"relay {\n prot = 1\n}", ":2: unknown key relay.prot; the nearest is relay.port"},
		{"relai {\n}", ":1: unknown key relai; the nearest is relay"},
		{"relay { ports { a = 1 } }", "unknown key relay.ports; the nearest is relay.port"},
		{"relay = 1", ":1: relay is a group: expected a block in braces, found 1"},
		{"relay.port = 1", `"relay.port": in a file, groups are blocks in braces`},
		{strings.Repeat("x", 300) + " = 1", "unknown key \"xxx"},
		{"relay { port { } }", "relay.port: expected a whole number (0 to 65535), found a block"},
		{"relay {\n\n port = \"7777\" }", `:3: relay.port: expected a whole number (0 to 65535), found the text "7777"`},
		{"relay { port = 70000 }", "relay.port: expected a whole number (0 to 65535), found 70000"},
		{"relay { port = 1.5 }", "found 1.5"},
		{"relay { autoPingSeconds = true }", "relay.autoPingSeconds: expected a whole number of seconds (at least 0), found true"},
		{"relay { autoPingSeconds = 99999999999 }", "found 99999999999"},
		{"events { maxEventSize = 1 }", "expected a size in bytes"},
		{`events { maxEventSize = "12 parsecs" }`, `such as "64 MiB" (512 to 67108864), found "12 parsecs"`},
		{`dbParams { mapsize = "99999999 TiB" }`, "found \"99999999 TiB\""},
		{"relay { enableTcpKeepalive = 1 }", "expected true or false, found 1"},
		{"relay { bind = 7 }", "relay.bind: expected a text in double quotes, found 7"},
		{`relay { info { pubkey = "abc" } }`, `expected a public key, as 64 hex digits or as npub, found "abc"`},
		{`relay { info { pubkey = "` + aNpub[:62] + `x" } }`, "expected a public key"},
		{`relay { info { nips = "1,x" } }`, "expected a list of whole numbers"},
		{`relay { info { nips = [1, "2"] } }`, `found a list with the text "2"`},
		{`relay { filterValidation { allowedKinds = [65536] } }`, "expected a list of kinds"},
		{"relay { numThreads { ingester = \"x\" } }", "relay.numThreads.ingester: expected a whole number"},
		{"relay {", ":1:8: the file ends inside a block"},
		{"db = \"a\"\nx = 1\ny = 2", ":3: unknown key y"},
	} {
		_, _, err := Load(Sources{File: file(t, c.src)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: error %v, want one with %q", c.src, err, c.want)
		}
	}
}

func TestSetAndEnvErrors(t *testing.T) {
	for _, c := range []struct {
		s    Sources
		want string
	}{
		{Sources{Sets: []string{"relay.port"}}, `--set: "relay.port" is not of the form key=value`},
		{Sources{Sets: []string{"relay.prt=1"}}, "--set: unknown key relay.prt; the nearest is relay.port"},
		{Sources{Sets: []string{"relay.port=x"}}, `--set: relay.port: expected a whole number (0 to 65535), found "x"`},
		{Sources{Env: []string{"WOK_RELAY_PORT="}}, `WOK_RELAY_PORT: relay.port: expected a whole number (0 to 65535), found ""`},
		{Sources{File: "testdata/none.conf"}, "testdata/none.conf: no such file"},
		{Sources{File: "testdata"}, "testdata"},
	} {
		if _, _, err := Load(c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	_, warnings, err := Load(Sources{
		Env:  []string{"WOK_RELAY_PROT=1"},
		Sets: []string{"relay.numThreads.ingester=3", "relay.writePolicy.plugin=", "events.maxEventSize=2 MiB"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(warnings)
	want := "[WOK_RELAY_PROT: no key has this variable" +
		" --set: relay.numThreads.ingester has no effect: all cores are used" +
		" default: relay.maxWebsocketPayloadSize (1048576) is less than events.maxEventSize (2097152): larger events cannot come in from clients]"
	if got != want {
		t.Errorf("warnings\n%s\nwant\n%s", got, want)
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		set  string
		want any
	}{
		{"relay.info.pubkey=" + aNpub, aHex},
		{"relay.info.pubkey=" + strings.ToUpper(aHex), aHex},
		{"relay.info.nips=[1, 11]", []int{1, 11}},
		{"relay.info.nips=1,11", []int{1, 11}},
		{"relay.filterValidation.allowedKinds=[]", []uint16(nil)},
		{"events.rejectEventsOlderThanSeconds=9000000000", 9_000_000_000}, // as some write who take everything
		{"dbParams.mapsize=64 MiB", int64(64 << 20)},
		{"dbParams.mapsize=2GiB", int64(2 << 30)},
		{"dbParams.mapsize=2097152 B", int64(2 << 20)},
	} {
		cfg, _, err := Load(Sources{Sets: []string{c.set}})
		if err != nil {
			t.Errorf("%s: %v", c.set, err)
			continue
		}
		name, _, _ := strings.Cut(c.set, "=")
		if got := setting(t, &cfg, name).Value; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s gives %v, want %v", c.set, got, c.want)
		}
	}
}
