package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-anew/karpenter/internal/observe"
)

// Metrics describe the offerings of AWS, the calls to it, and its notifications. They are separate from the metrics of the core,
// because only this provider has them and its first calls precede all others.
type Metrics struct {
	// OfferingAvailable is 1 for available offerings, OfferingPrice the hourly price; labels instance_type, capacity_type, zone.
	OfferingAvailable, OfferingPrice *observe.GaugeFuncVec
	// TypeCPU and TypeMemory are the size of instance types; label instance_type.
	TypeCPU, TypeMemory *observe.GaugeFuncVec
	// LaunchFailures counts the errors of fleets; labels zone, zone_id, capacity_type, reason.
	LaunchFailures *prometheus.CounterVec
	// TerminationFailures counts instances that could not be ended; labels zone, zone_id.
	TerminationFailures *prometheus.CounterVec
	// BatchTime is how long requests gathered, BatchSize how many they were; label batcher.
	BatchTime, BatchSize *prometheus.HistogramVec
	// InterruptionReceived counts messages; label message_type.
	InterruptionReceived *prometheus.CounterVec
	// InterruptionDeleted counts messages that are done with.
	InterruptionDeleted prometheus.Counter
	// InterruptionQueueDuration is how old messages are when they are read.
	InterruptionQueueDuration prometheus.Histogram
	// InstanceStatusUnhealthy counts instances that began to fail a check; label category.
	InstanceStatusUnhealthy *prometheus.CounterVec
	// UserDataBytes is the size of the user data of the last launch; label nodeclass.
	UserDataBytes *prometheus.GaugeVec
	// SDK describes calls.
	SDK SDKMetrics

	definitions []observe.Definition
}

// SDKMetrics describe calls to AWS. All have the labels service, action, code; the code is the HTTP status of the last answer,
// empty where there was none.
type SDKMetrics struct {
	// Requests counts calls, with all their attempts; Attempts the requests that were sent for them.
	Requests, Attempts *prometheus.CounterVec
	// RequestDuration, AttemptDuration and Retries are of the same.
	RequestDuration, AttemptDuration, Retries *prometheus.HistogramVec
}

// NewMetrics defines the metrics and registers them. It panics when reg has one of the names already.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	b := observe.NewMetricBuilder(reg)
	m := &Metrics{
		OfferingAvailable: b.GaugeFuncs("karpenter_cloudprovider_instance_type_offering_available",
			"1 when the offering is available to a NodePool, else 0.", "instance_type", "capacity_type", "zone"),
		OfferingPrice: b.GaugeFuncs("karpenter_cloudprovider_instance_type_offering_price_estimate",
			"Hourly price of the offering, in the currency of the region.", "instance_type", "capacity_type", "zone"),
		TypeCPU:    b.GaugeFuncs("karpenter_cloudprovider_instance_type_cpu_cores", "CPUs of the instance type.", "instance_type"),
		TypeMemory: b.GaugeFuncs("karpenter_cloudprovider_instance_type_memory_bytes", "Memory of the instance type.", "instance_type"),
		LaunchFailures: b.Counters("karpenter_cloudprovider_instance_launch_failures_total",
			"Errors of CreateFleet, including those of launches that succeeded in the end.", "zone", "zone_id", "capacity_type", "reason"),
		TerminationFailures: b.Counters("karpenter_cloudprovider_instance_termination_failures_total",
			"Instances that could not be terminated.", "zone", "zone_id"),
		BatchTime: b.Histograms("karpenter_cloudprovider_batcher_batch_time_seconds",
			"Time that a batch waited for requests.", observe.DurationBuckets(), "batcher"),
		BatchSize: b.Histograms("karpenter_cloudprovider_batcher_batch_size", "Requests in a batch.", sizeBuckets(), "batcher"),
		InterruptionReceived: b.Counters("karpenter_interruption_received_messages_total",
			"Messages received from the interruption queue.", "message_type"),
		InterruptionDeleted: b.Counter("karpenter_interruption_deleted_messages_total", "Messages deleted from the interruption queue."),
		InterruptionQueueDuration: b.Histogram("karpenter_interruption_message_queue_duration_seconds",
			"Time from the sending of a message until it was received.", observe.DurationBuckets()),
		InstanceStatusUnhealthy: b.Counters("karpenter_interruption_instance_status_unhealthy_total",
			"Instances that began to fail an EC2 status check.", "category"),
		UserDataBytes: b.Gauges("karpenter_ec2nodeclasses_userdata_bytes", "Size of the user data of the last launch of an EC2NodeClass.", "nodeclass"),
		SDK:           newSDKMetrics(b),
	}
	m.definitions = b.Definitions()
	return m
}

func newSDKMetrics(b *observe.MetricBuilder) SDKMetrics {
	labels := []string{"service", "action", "code"}
	times := prometheus.ExponentialBuckets(0.01, 1.5, 20)
	return SDKMetrics{
		Requests:        b.Counters("aws_sdk_go_request_total", "Calls to AWS.", labels...),
		Attempts:        b.Counters("aws_sdk_go_request_attempt_total", "Requests to AWS, including retries.", labels...),
		RequestDuration: b.Histograms("aws_sdk_go_request_duration_seconds", "Time that a call to AWS took, with all its attempts.", times, labels...),
		AttemptDuration: b.Histograms("aws_sdk_go_request_attempt_duration_seconds", "Time until AWS answered a request.", times, labels...),
		Retries:         b.Histograms("aws_sdk_go_request_retry_count", "Retries of a call to AWS.", prometheus.LinearBuckets(0, 1, 10), labels...),
	}
}

// Definitions lists the metrics by name.
func (m *Metrics) Definitions() []observe.Definition { return slices.Clone(m.definitions) }

// sizeBuckets suit the number of requests in a batch.
func sizeBuckets() []float64 {
	return []float64{
		1, 2, 4, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100, 125, 150, 175, 200, 225, 250, 275, 300,
		350, 400, 450, 500, 550, 600, 700, 800, 900, 1000,
	}
}
