// Package demo shows the controller at work: scenes that change a cluster, wait for what the controller has to do, and report figures. The cluster
// is the caller's; it may be in memory or real.
package demo
