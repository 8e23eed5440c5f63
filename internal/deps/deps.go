// Package deps pins modules until their users exist.
package deps
import (
 _ "github.com/PowerDNS/lmdb-go/lmdb"
 _ "github.com/nbd-wtf/go-nostr"
 _ "github.com/gorilla/websocket"
 _ "github.com/klauspost/compress/zstd"
 _ "github.com/spf13/cobra"
 _ "github.com/knadh/koanf/v2"
 _ "github.com/knadh/koanf/providers/confmap"
 _ "github.com/prometheus/client_golang/prometheus"
 _ "github.com/prometheus/client_golang/prometheus/promhttp"
 _ "github.com/rogpeppe/go-internal/testscript"
 _ "github.com/schollz/progressbar/v3"
 _ "github.com/goccy/go-yaml"
 _ "github.com/btcsuite/btcd/btcec/v2/schnorr"
 _ "golang.org/x/term"
 _ "golang.org/x/sync/errgroup"
)
