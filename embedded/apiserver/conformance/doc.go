// Package conformance compares the API server in memory with kube-apiserver: the same requests must get the same answers.
//
// A scenario is a text file with requests and, after each of them, the answer of kube-apiserver, as `go test -update` recorded it. The format is
// described in scenario_test.go. The tests of the package run all scenarios against both servers.
package conformance
