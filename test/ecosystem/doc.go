// Package ecosystem holds tests of the configuration that the examples have for other tools: scripts run, and name only fields of Karpenter's kinds.
//
// It is a separate module because the interpreter of the scripts is of no use to the product.
package ecosystem
