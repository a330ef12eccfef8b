// Package ecosystem holds tests of other tools: scripts of the examples run and name only fields of Karpenter's kinds, and
// clients of other tools see what the controller does.
//
// It is a separate module because what other tools depend on is of no use to the product, and its versions differ.
package ecosystem
