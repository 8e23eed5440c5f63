package main

import (
	"log/slog"
	"reflect"
	"slices"
	"testing"

	"wok/internal/config"
)

// What the relay and the rules for events can be told, an operator can say: with
// other values in the configuration, every option has another value than none.
// Those named are not for operators.
func TestOptionsAreConfigured(t *testing.T) {
	on, off := settings(true), settings(false)
	for name, pair := range map[string][2]any{
		"ingest": {clientRules(on), clientRules(off)},
		"relay":  {relayOptions(on, slog.Default()), relayOptions(off, slog.Default())},
	} {
		unset := unset(name, reflect.ValueOf(pair[0]), reflect.ValueOf(pair[1]))
		unset = slices.DeleteFunc(unset, func(option string) bool {
			return slices.Contains([]string{"relay.Now", "relay.QueryWorkers"}, option)
		})
		if len(unset) > 0 {
			t.Errorf("no configuration sets %v", unset)
		}
	}
}

// settings returns a configuration in which nothing is zero but, where on is
// false, what is a switch.
func settings(on bool) *config.Config {
	cfg := new(config.Config)
	fill(reflect.ValueOf(cfg).Elem(), on)
	// Both groups say something only where they are on.
	cfg.Relay.Auth.Enabled, cfg.Relay.FilterValidation.Enabled = true, true
	if !on {
		cfg.Relay.MaxFilterLimitCount = 0 // refuses COUNT
	}
	return cfg
}

func fill(v reflect.Value, on bool) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), on)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), on)
	case reflect.Bool:
		v.SetBool(on)
	case reflect.String:
		v.SetString("wss://relay.example.com")
	case reflect.Int, reflect.Int64, reflect.Uint16:
		v.Set(reflect.ValueOf(7).Convert(v.Type()))
	}
}

// unset returns the names of the fields that are zero in both.
func unset(name string, a, b reflect.Value) (names []string) {
	if a.Kind() == reflect.Struct && a.NumField() > 0 && a.Type().Field(0).IsExported() {
		for i := range a.NumField() {
			names = append(names, unset(name+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))...)
		}
		return names
	}
	if a.IsZero() && b.IsZero() {
		return []string{name}
	}
	return nil
}
