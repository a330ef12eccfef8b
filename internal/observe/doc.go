// Package observe defines the metrics, events and log lines of the process.
//
// The package has no global state: Metrics, Recorder and loggers are created once and passed to their users. Names of metrics, labels, event
// reasons and log fields are those of upstream Karpenter, so that existing dashboards, alerts and queries keep working. The tables of
// all metrics and events under docs/reference are generated from this package.
package observe
