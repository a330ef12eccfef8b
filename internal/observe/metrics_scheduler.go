package observe

import "github.com/prometheus/client_golang/prometheus"

// SchedulerMetrics describes simulations. The controller label is the name of the controller that simulates.
type SchedulerMetrics struct {
	// Duration has label controller.
	Duration *prometheus.HistogramVec
	// QueueDepth has labels controller, scheduling_id; remove the series when the simulation ends.
	QueueDepth *prometheus.GaugeVec
	// UnfinishedWork has labels controller, scheduling_id; remove the series when the simulation ends.
	UnfinishedWork *prometheus.GaugeVec
	// IgnoredPods counts pods that fail validation.
	IgnoredPods prometheus.Gauge
	// IgnoredPreferencesPods counts pending pods with preferences that are ignored, UndecidedPods those that a pass did not consider.
	IgnoredPreferencesPods, UndecidedPods prometheus.Gauge
	// RefusedNodeClaims counts NodeClaims that the API server took for invalid.
	RefusedNodeClaims prometheus.Counter
	// SetAsidePods counts pods that are retried after a pause only.
	SetAsidePods prometheus.Gauge
	// UnschedulablePods has label controller.
	UnschedulablePods *prometheus.GaugeVec
	// Panics has label controller.
	Panics *prometheus.CounterVec
	// PendingPodsByEffectiveZone has labels controller, zone (a zone, "flexible" or "none").
	PendingPodsByEffectiveZone *prometheus.GaugeVec
}

func newSchedulerMetrics(b *MetricBuilder) SchedulerMetrics {
	return SchedulerMetrics{
		Duration: b.Histograms("karpenter_scheduler_scheduling_duration_seconds",
			"Time that a simulation took.", DurationBuckets(), "controller"),
		QueueDepth: b.Gauges("karpenter_scheduler_queue_depth",
			"Pods that wait in a running simulation.", "controller", "scheduling_id"),
		UnfinishedWork: b.Gauges("karpenter_scheduler_unfinished_work_seconds",
			"Age of a running simulation.", "controller", "scheduling_id"),
		IgnoredPods: b.Gauge("karpenter_scheduler_ignored_pods_count",
			"Pods that are ignored because they fail validation."),
		IgnoredPreferencesPods: b.Gauge("karpenter_scheduler_ignored_preferences_pods",
			"Pending pods with preferences that are ignored because no new node could meet them or there are too many."),
		UndecidedPods: b.Gauge("karpenter_scheduler_undecided_pods",
			"Pods that the last pass did not consider before it was stopped."),
		RefusedNodeClaims: b.Counter("karpenter_scheduler_refused_nodeclaims_total",
			"NodeClaims that the API server refused as invalid."),
		SetAsidePods: b.Gauge("karpenter_scheduler_set_aside_pods",
			"Pods that are retried after a pause only, because the API server refuses NodeClaims for them."),
		UnschedulablePods: b.Gauges("karpenter_scheduler_unschedulable_pods_count",
			"Pods that fit no node and for which no node can be added.", "controller"),
		Panics: b.Counters("karpenter_scheduler_panics_total",
			"Passes and commands that ended in a panic; the process goes on.", "controller"),
		PendingPodsByEffectiveZone: b.Gauges("karpenter_scheduler_pending_pods_by_effective_zone_count",
			"Pending pods by the only zone that they can schedule to, flexible or none.", "controller", "zone"),
	}
}

// ClusterMetrics describes the cluster state.
type ClusterMetrics struct {
	// NodeCount is the number of tracked nodes.
	NodeCount prometheus.Gauge
	// Synced is 1 when the cluster state is complete.
	Synced prometheus.Gauge
	// UnsyncedTime is how long it has not been, in seconds; 0 when it is.
	UnsyncedTime prometheus.Gauge
	// Utilization has label resource_type; percent of allocatable that is requested over all nodes.
	Utilization *GaugeFuncVec
}

func newClusterMetrics(b *MetricBuilder) ClusterMetrics {
	return ClusterMetrics{
		NodeCount:    b.Gauge("karpenter_cluster_state_node_count", "Nodes in the cluster state."),
		Synced:       b.Gauge("karpenter_cluster_state_synced", "1 when the cluster state is complete, else 0."),
		UnsyncedTime: b.Gauge("karpenter_cluster_state_unsynced_time_seconds", "How long the cluster state has been incomplete."),
		Utilization:  b.GaugeFuncs("karpenter_cluster_utilization_percent", "Requested share of the allocatable resources of all nodes, in percent.", "resource_type"),
	}
}

// CloudProviderMetrics describes calls to the cloud.
type CloudProviderMetrics struct {
	// Duration has labels controller, method, provider.
	Duration *prometheus.HistogramVec
	// Errors has labels controller, method, provider, error.
	Errors *prometheus.CounterVec
}

func newCloudProviderMetrics(b *MetricBuilder) CloudProviderMetrics {
	return CloudProviderMetrics{
		Duration: b.Histograms("karpenter_cloudprovider_duration_seconds",
			"Time that a call to the cloud provider took.", prometheus.DefBuckets, "controller", "method", "provider"),
		Errors: b.Counters("karpenter_cloudprovider_errors_total",
			"Calls to the cloud provider that failed.", "controller", "method", "provider", "error"),
	}
}
