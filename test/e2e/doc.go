// Package e2e tests the built binary against a real control plane: all programs are real, only the nodes are
// simulated.
//
// Node pools are cluster-wide, so every test has exclusive use of a cluster while it runs. There are as many clusters as tests run
// at a time; they are reused, and a test begins by emptying its cluster. Every test starts its controller; only
// the scenarios, of which there are many, share one.
//
// A test that waits names the expected state and the deadline, and reports the last state that it saw after the deadline.
package e2e
