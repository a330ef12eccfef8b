package observe

import "github.com/prometheus/client_golang/prometheus"

// NodeClaimMetrics counts the creation, disruption and termination of NodeClaims.
type NodeClaimMetrics struct {
	// Created has labels reason ("provisioned" or a disruption reason in lower case), nodepool, min_values_relaxed.
	Created *prometheus.CounterVec
	// Terminated has labels nodepool, capacity_type, zone; counted when the finalizer is removed.
	Terminated *prometheus.CounterVec
	// Disrupted has labels reason, nodepool, capacity_type, consolidation_policy, termination_mode; deletions that Karpenter starts.
	Disrupted *prometheus.CounterVec
	// UnhealthyDisrupted has labels condition (snake case), nodepool, capacity_type, image_id, termination_mode.
	UnhealthyDisrupted *prometheus.CounterVec
	// InstanceTerminationDuration has label nodepool.
	InstanceTerminationDuration *prometheus.HistogramVec
	// TerminationDuration has label nodepool.
	TerminationDuration *prometheus.HistogramVec
}

func newNodeClaimMetrics(b *MetricBuilder) NodeClaimMetrics {
	return NodeClaimMetrics{
		Created: b.Counters("karpenter_nodeclaims_created_total",
			"NodeClaims created.", "reason", "nodepool", "min_values_relaxed"),
		Terminated: b.Counters("karpenter_nodeclaims_terminated_total",
			"NodeClaims whose finalizer was removed.", "nodepool", "capacity_type", "zone"),
		Disrupted: b.Counters("karpenter_nodeclaims_disrupted_total",
			"NodeClaims whose deletion Karpenter started.", "reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"),
		UnhealthyDisrupted: b.Counters("karpenter_nodeclaims_unhealthy_disrupted_total",
			"NodeClaims whose node was replaced or rebooted because it stayed unhealthy.", "condition", "nodepool", "capacity_type", "image_id", "termination_mode"),
		InstanceTerminationDuration: b.Histograms("karpenter_nodeclaims_instance_termination_duration_seconds",
			"Time from the request to terminate an instance until it was gone.", doubling(1, 11), "nodepool"),
		TerminationDuration: b.Histograms("karpenter_nodeclaims_termination_duration_seconds",
			"Time from the deletion of a NodeClaim until its finalizer was removed.", doubling(1, 12), "nodepool"),
	}
}

// NodePoolMetrics describes limits, usage, cost and budgets of NodePools. The gauges must be removed with the pool.
type NodePoolMetrics struct {
	// Limit has labels resource_type, nodepool.
	Limit *GaugeFuncVec
	// Usage has labels resource_type, nodepool.
	Usage *GaugeFuncVec
	// Cost has label nodepool; dollars per hour. Unpriced has label nodepool.
	Cost, Unpriced *prometheus.GaugeVec
	// CostByOffering has labels nodepool, capacity_type, zone; dollars per hour.
	CostByOffering *prometheus.GaugeVec
	// CostTrackerErrors has label nodepool.
	CostTrackerErrors *prometheus.CounterVec
	// AllowedDisruptions has labels nodepool, reason.
	AllowedDisruptions *prometheus.GaugeVec
	// NodesConsumingBudgets has labels nodepool, reason.
	NodesConsumingBudgets *prometheus.GaugeVec
}

func newNodePoolMetrics(b *MetricBuilder) NodePoolMetrics {
	return NodePoolMetrics{
		Limit: b.GaugeFuncs("karpenter_nodepools_limit",
			"Limit of the NodePool by resource; cpu in cores, others in base units.", "resource_type", "nodepool"),
		Usage: b.GaugeFuncs("karpenter_nodepools_usage",
			"Capacity of the NodePool's nodes by resource; cpu in cores, others in base units.", "resource_type", "nodepool"),
		Cost: b.Gauges("karpenter_nodepools_cost_total",
			"Sum of the known hourly prices of the NodePool's NodeClaims; absent while no price is known.", "nodepool"),
		CostByOffering: b.Gauges("karpenter_nodepools_cost_dollars_per_hour",
			"Sum of the known hourly prices of the NodePool's NodeClaims by capacity type and zone.", "nodepool", "capacity_type", "zone"),
		Unpriced: b.Gauges("karpenter_nodepools_unpriced_nodeclaims",
			"NodeClaims of the NodePool whose price is not known; its cost does not include them.", "nodepool"),
		CostTrackerErrors: b.Counters("karpenter_nodepools_cost_tracker_errors_total",
			"Failures to compute the cost of a NodePool.", "nodepool"),
		AllowedDisruptions: b.Gauges("karpenter_nodepools_allowed_disruptions",
			"Nodes that budgets allow to disrupt, including those that are being disrupted.", "nodepool", "reason"),
		NodesConsumingBudgets: b.Gauges("karpenter_nodepools_nodes_consuming_budgets",
			"Nodes that count against budgets: deleting, rebooting, or not ready except for the reason unhealthy.", "nodepool", "reason"),
	}
}
