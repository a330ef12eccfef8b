// Package alerts holds tests of the alerts that the documentation shows: Prometheus can read them, and their metrics, labels and
// values exist.
//
// It is a separate module because Prometheus's parser would bring its modules into the product's.
package alerts
