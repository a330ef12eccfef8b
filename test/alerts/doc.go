// Package alerts holds tests of the alerts that the documentation shows: Prometheus can read them, and the metrics, labels and values
// that they ask for are there.
//
// It is a separate module because Prometheus's parser would bring its modules into the product's.
package alerts
