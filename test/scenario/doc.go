// Package scenario holds behaviours in small files under testdata that a user can read and that several tests run: on the engine
// alone (engine_test.go) and against a real control plane. README.md describes the format.
package scenario
