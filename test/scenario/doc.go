// Package scenario holds stories: behaviours in small files under testdata that a user can read and that runners execute,
// on the engine alone (engine_test.go) and against a real control plane. README.md says how they are written.
package scenario
