// Package conformance shows from outside which rules of the nostr protocol a
// relay holds, any relay, by conversations that a client author can read: the
// scripts in scripts/*.txt, whose language docs/conformance.md describes.
//
//	suite, err := conformance.Load()
//	report, err := suite.Run(ctx, conformance.At(url, "", nil), conformance.Options{})
//	report.Print(os.Stdout)
//
// Each rule is one section of a script, or stands in without.txt with the
// reason why there is none; [Load] refuses a suite where one is missing. A rule
// has one or more cases. A case is played on connections of its own, with keys
// made for it, so that what one case leaves behind is nothing to the others nor
// to whoever else uses the relay.
//
// That something does not come is shown by a harmless question and its answer
// (see client.quiet), never by waiting. Only what must expire is waited for.
//
// The package imports nothing of wok: its canonical form, its signatures and
// its HyperLogLog are a second opinion. It does not measure speed or load, and
// it does not know relays by name; [Program] starts wok itself as an operator
// would. Its callers are conformance/cmd and its own tests. Cases are played
// one after another by the goroutine that calls Run.
package conformance
