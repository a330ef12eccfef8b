// Package conformance compares the API server in memory with kube-apiserver: the same requests must get the same answers.
//
// A scenario is a text file with requests and, after each of them, the answer of kube-apiserver, as `go test -update` recorded it. The format is
// described in scenario_test.go. The tests of the package run all scenarios, at least 100, against both servers, and those that are not about
// managed fields once more with the options that simulations of test/sim use. That forgotten changes are 410 Gone is not among them, since no request
// makes kube-apiserver forget; package registry tests it.
package conformance
