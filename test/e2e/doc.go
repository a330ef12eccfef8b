// Package e2e tests the built binary against a real control plane: the programs that run are those that a user runs, the
// nodes are simulated, and nothing else is.
//
// Node pools are cluster-wide, so every test has a cluster for itself while it runs. There are as many clusters as tests run
// at a time; they are used again, and a test begins by emptying the one it gets. Every test starts its own controller; only
// the scenarios, of which there are many, share one.
//
// A test that waits names what it waits for and until when, and reports what it saw last when that time is over.
package e2e
