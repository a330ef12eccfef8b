// Package observe is how the process tells the outside what it does: metrics, events and log lines, as values built by constructors.
//
// Nothing here is global: Metrics, Recorder and loggers are made once and handed to those who need them. Names of metrics, labels,
// event reasons and log fields are the reference's, so that existing dashboards, alerts and queries keep working. The tables of all
// metrics and events under docs/reference are generated from this package.
package observe
