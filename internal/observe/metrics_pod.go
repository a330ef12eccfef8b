package observe

import "github.com/prometheus/client_golang/prometheus"

// PodMetrics describes how long pods wait, and their evictions.
type PodMetrics struct {
	// State is 1 for each pod, with labels name, namespace, owner, node, scheduled, nodepool, zone, arch, capacity_type, instance_type,
	// phase, ready, managed.
	State *GaugeFuncVec
	// StartupDuration runs from creation to Ready, for pods first seen pending.
	StartupDuration prometheus.Summary
	// UnstartedTime has labels name, namespace.
	UnstartedTime *GaugeFuncVec
	// BoundDuration runs from creation to bound. Label: dynamic_resources, whether the pod refers to resource claims.
	BoundDuration *prometheus.HistogramVec
	// UnboundTime has labels name, namespace, dynamic_resources.
	UnboundTime *GaugeFuncVec
	// ProvisioningBoundDuration runs from the decision that the pod is schedulable to bound. Label: dynamic_resources.
	ProvisioningBoundDuration *prometheus.HistogramVec
	// ProvisioningUnboundTime has labels name, namespace, dynamic_resources.
	ProvisioningUnboundTime *GaugeFuncVec
	// ProvisioningStartupDuration runs from the decision that the pod is schedulable to Ready.
	ProvisioningStartupDuration prometheus.Histogram
	// ProvisioningUnstartedTime has labels name, namespace.
	ProvisioningUnstartedTime *GaugeFuncVec
	// ProvisioningSchedulingUndecidedTime has labels name, namespace.
	ProvisioningSchedulingUndecidedTime *GaugeFuncVec
	// SchedulingDecisionDuration runs from the first time the pod is seen to the first decision about it.
	SchedulingDecisionDuration prometheus.Histogram
	// EvictionRequests has label code, the HTTP status of the answer.
	EvictionRequests *prometheus.CounterVec
	// Drained has label reason, as in the Evicted event.
	Drained *prometheus.CounterVec
	// DisruptionInitiated has labels reason, nodepool, capacity_type, consolidation_policy, termination_mode.
	DisruptionInitiated *prometheus.CounterVec
	// DeletionCostPendingNodes has label nodepool.
	DeletionCostPendingNodes *prometheus.GaugeVec
	// DeletionCostWrites has label result: updated, skipped_unchanged, skipped_notfound, skipped_conflict or error.
	DeletionCostWrites *prometheus.CounterVec
	// Nominations has label result: written, bound, bound_elsewhere, cleared, withdrawn, pod_deleted, conflict, timeout, error or throttled.
	Nominations *prometheus.CounterVec
}

func newPodMetrics(b *MetricBuilder) PodMetrics {
	return PodMetrics{
		State: b.GaugeFuncs("karpenter_pods_state", "Always 1; the labels describe a pod.",
			"name", "namespace", "owner", "node", "scheduled", "nodepool", "zone", "arch", "capacity_type", "instance_type", "phase", "ready", "managed"),
		StartupDuration: b.summary("karpenter_pods_startup_duration_seconds",
			"Time from the creation of a pod until it was ready."),
		UnstartedTime: b.GaugeFuncs("karpenter_pods_unstarted_time_seconds",
			"Age of a pod that has not started.", "name", "namespace"),
		BoundDuration: b.Histograms("karpenter_pods_bound_duration_seconds",
			"Time from the creation of a pod until it was bound.", DurationBuckets(), "dynamic_resources"),
		UnboundTime: b.GaugeFuncs("karpenter_pods_unbound_time_seconds",
			"Age of a pod that is not bound.", "name", "namespace", "dynamic_resources"),
		ProvisioningBoundDuration: b.Histograms("karpenter_pods_provisioning_bound_duration_seconds",
			"Time from the decision that a pod is schedulable until it was bound (alpha).", DurationBuckets(), "dynamic_resources"),
		ProvisioningUnboundTime: b.GaugeFuncs("karpenter_pods_provisioning_unbound_time_seconds",
			"Time since the decision that a pod is schedulable, while it is not bound (alpha).", "name", "namespace", "dynamic_resources"),
		ProvisioningStartupDuration: b.Histogram("karpenter_pods_provisioning_startup_duration_seconds",
			"Time from the decision that a pod is schedulable until it was ready (alpha).", DurationBuckets()),
		ProvisioningUnstartedTime: b.GaugeFuncs("karpenter_pods_provisioning_unstarted_time_seconds",
			"Time since the decision that a pod is schedulable, while it has not started (alpha).", "name", "namespace"),
		ProvisioningSchedulingUndecidedTime: b.GaugeFuncs("karpenter_pods_provisioning_scheduling_undecided_time_seconds",
			"Time since a pod was first seen, while there is no decision about it (alpha).", "name", "namespace"),
		SchedulingDecisionDuration: b.Histogram("karpenter_pods_scheduling_decision_duration_seconds",
			"Time from the first time that a pod is seen until the first decision about it.", DurationBuckets()),
		EvictionRequests: b.Counters("karpenter_pods_eviction_requests_total",
			"Responses of the eviction API by HTTP status.", "code"),
		Drained: b.Counters("karpenter_pods_drained_total",
			"Pods evicted or deleted to drain a node.", "reason"),
		DisruptionInitiated: b.Counters("karpenter_pods_disruption_initiated_total",
			"Pods to reschedule from NodeClaims whose disruption was started.", "reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"),
		DeletionCostPendingNodes: b.Gauges("karpenter_pod_deletion_cost_nodes_with_pending_annotation_writes",
			"Nodes with pods whose deletion cost had to be written when pods were last ranked.", "nodepool"),
		DeletionCostWrites: b.Counters("karpenter_pod_deletion_cost_pod_annotation_writes_total",
			"Attempts to write the deletion cost of a pod, by result.", "result"),
		Nominations: b.Counters("karpenter_pods_nominations_total",
			"Nominations of pods to nodes that Karpenter wrote, and what became of them, by result.", "result"),
	}
}
