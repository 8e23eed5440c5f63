// Command cmd runs the conformance suite against a relay, or against relays
// that it starts itself.
package main
