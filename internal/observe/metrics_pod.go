package observe

import "github.com/prometheus/client_golang/prometheus"

// PodMetrics describes how long pods wait and what disturbs them.
type PodMetrics struct {
	// State is 1 for each pod, with labels name, namespace, owner, node, scheduled, nodepool, zone, arch, capacity_type, instance_type,
	// phase, ready, managed.
	State *Live
	// StartupDuration runs from creation to Ready, for pods first seen pending.
	StartupDuration prometheus.Summary
	// UnstartedTime has labels name, namespace.
	UnstartedTime *Live
	// BoundDuration runs from creation to bound.
	BoundDuration prometheus.Histogram
	// UnboundTime has labels name, namespace.
	UnboundTime *Live
	// ProvisioningBoundDuration runs from the first verdict "schedulable" to bound.
	ProvisioningBoundDuration prometheus.Histogram
	// ProvisioningUnboundTime has labels name, namespace.
	ProvisioningUnboundTime *Live
	// ProvisioningStartupDuration runs from the first verdict "schedulable" to Ready.
	ProvisioningStartupDuration prometheus.Histogram
	// ProvisioningUnstartedTime has labels name, namespace.
	ProvisioningUnstartedTime *Live
	// ProvisioningSchedulingUndecidedTime has labels name, namespace.
	ProvisioningSchedulingUndecidedTime *Live
	// SchedulingDecisionDuration runs from first sight to the first verdict.
	SchedulingDecisionDuration prometheus.Histogram
	// EvictionRequests has label code, the HTTP status of the answer.
	EvictionRequests *prometheus.CounterVec
	// Drained has label reason, as in the Evicted event.
	Drained *prometheus.CounterVec
	// DisruptionInitiated has labels reason, nodepool, capacity_type, consolidation_policy, termination_mode.
	DisruptionInitiated *prometheus.CounterVec
}

func newPodMetrics(b *MetricBuilder) PodMetrics {
	return PodMetrics{
		State: b.Live("karpenter_pods_state", "Always 1; the labels describe a pod.",
			"name", "namespace", "owner", "node", "scheduled", "nodepool", "zone", "arch", "capacity_type", "instance_type", "phase", "ready", "managed"),
		StartupDuration: b.summary("karpenter_pods_startup_duration_seconds",
			"Time from the creation of a pod until it was ready."),
		UnstartedTime: b.Live("karpenter_pods_unstarted_time_seconds",
			"Age of a pod that has not started.", "name", "namespace"),
		BoundDuration: b.Histogram("karpenter_pods_bound_duration_seconds",
			"Time from the creation of a pod until it was bound.", DurationBuckets()),
		UnboundTime: b.Live("karpenter_pods_unbound_time_seconds",
			"Age of a pod that is not bound.", "name", "namespace"),
		ProvisioningBoundDuration: b.Histogram("karpenter_pods_provisioning_bound_duration_seconds",
			"Time from the first verdict that a pod can be scheduled until it was bound (alpha).", DurationBuckets()),
		ProvisioningUnboundTime: b.Live("karpenter_pods_provisioning_unbound_time_seconds",
			"Time since the first verdict that a pod can be scheduled, while it is not bound (alpha).", "name", "namespace"),
		ProvisioningStartupDuration: b.Histogram("karpenter_pods_provisioning_startup_duration_seconds",
			"Time from the first verdict that a pod can be scheduled until it was ready (alpha).", DurationBuckets()),
		ProvisioningUnstartedTime: b.Live("karpenter_pods_provisioning_unstarted_time_seconds",
			"Time since the first verdict that a pod can be scheduled, while it has not started (alpha).", "name", "namespace"),
		ProvisioningSchedulingUndecidedTime: b.Live("karpenter_pods_provisioning_scheduling_undecided_time_seconds",
			"Time since a pod was seen, while there is no verdict about it (alpha).", "name", "namespace"),
		SchedulingDecisionDuration: b.Histogram("karpenter_pods_scheduling_decision_duration_seconds",
			"Time from first sight of a pod until the first verdict about it.", DurationBuckets()),
		EvictionRequests: b.Counters("karpenter_pods_eviction_requests_total",
			"Answers of the eviction API by HTTP status.", "code"),
		Drained: b.Counters("karpenter_pods_drained_total",
			"Pods evicted or deleted to drain a node.", "reason"),
		DisruptionInitiated: b.Counters("karpenter_pods_disruption_initiated_total",
			"Pods to move from NodeClaims whose disruption was started.", "reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"),
	}
}
