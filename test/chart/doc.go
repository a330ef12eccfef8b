// Package chart holds tests of the Helm charts: what they render is valid, matches the documentation, is accepted by the binary, and is
// enough for it to work.
//
// It is a separate module because Helm's library would bring more than a hundred modules into the product's.
package chart
