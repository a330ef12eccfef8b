// Package scenario holds stories: behaviours in small files under testdata that a user can read and that runners execute,
// on the engine alone (engine_test.go) and against a real control plane.
//
// README.md says how they are written. To add one, write the comment and the objects, run "go test ./test/scenario -run
// TestStories -update", and read the plan:
// it is right when it does what the comment promises.
package scenario
