// Package arch holds the rules between packages and has no code of its own:
// its test reads the imports and a few calls of the whole tree and names every
// line that breaks a rule.
//
// Who may import whom is the table in rules_test.go. Changing it is a commit of
// its own, with the reason in its message. The files are parsed in the test's
// process, since the results of other commands would be cached by go test.
package arch
