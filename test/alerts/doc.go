// Package alerts holds tests of the alerts and the dashboards of the chart: Prometheus can read and evaluate their expressions, the metrics and
// labels exist, and Grafana can read the dashboards.
//
// It is a separate module because Prometheus's parser would bring its modules into the product's.
package alerts
