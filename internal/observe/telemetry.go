package observe

import "github.com/prometheus/client_golang/prometheus"

// Telemetry is the metrics and events of a cloud provider and its controllers.
type Telemetry struct {
	// Registry takes metrics that only this cloud has.
	Registry prometheus.Registerer
	// Version is that of the running build.
	Version string
	// Recorder and Metrics are those of all controllers. The labels of metrics are the cloud's, so both are nil while it is built, and
	// set before any of its controllers is registered.
	Recorder *Recorder
	Metrics  *Metrics
}
