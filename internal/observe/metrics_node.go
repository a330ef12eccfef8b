package observe

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// NodeMetrics counts and describes Nodes. The gauges carry NodeLabels.
type NodeMetrics struct {
	// Created has labels nodepool, zone; counted at registration.
	Created *prometheus.CounterVec
	// Terminated has labels nodepool, zone; counted when the finalizer is removed.
	Terminated *prometheus.CounterVec
	// Drained has label nodepool; counted the first time a drain completes.
	Drained *prometheus.CounterVec
	// Reboots and RebootDuration have label result; counted when a reboot has ended. The duration is that from the request.
	Reboots        *prometheus.CounterVec
	RebootDuration *prometheus.HistogramVec
	// RebootRecovery has no label. It is the time from the acceptance by the cloud, of reboots that succeeded.
	RebootRecovery *prometheus.HistogramVec
	// TerminationDuration has label nodepool.
	TerminationDuration *prometheus.SummaryVec
	// LifetimeDuration has label nodepool.
	LifetimeDuration *prometheus.HistogramVec

	// Labels maps a node to the labels of the gauges below.
	Labels NodeLabels
	// Allocatable and the gauges after it have NodeLabels and resource_type.
	Allocatable, TotalPodRequests, TotalPodLimits, TotalDaemonRequests, TotalDaemonLimits, SystemOverhead *GaugeFuncVec
	// CurrentLifetime has NodeLabels only.
	CurrentLifetime *GaugeFuncVec
}

func newNodeMetrics(b *MetricBuilder, labels NodeLabels) NodeMetrics {
	perResource := append(labels.Names(), "resource_type")
	return NodeMetrics{
		Created:    b.Counters("karpenter_nodes_created_total", "Nodes registered.", "nodepool", "zone"),
		Terminated: b.Counters("karpenter_nodes_terminated_total", "Nodes whose finalizer was removed.", "nodepool", "zone"),
		Drained:    b.Counters("karpenter_nodes_drained_total", "Nodes whose drain completed.", "nodepool"),
		Reboots:    b.Counters("karpenter_nodes_reboots_total", "Reboots of nodes that have ended.", "result"),
		RebootDuration: b.Histograms("karpenter_nodes_reboot_duration_seconds",
			"Time from the request of a reboot until it succeeded or failed.", doubling(10, 8), "result"),
		RebootRecovery: b.Histograms("karpenter_nodes_reboot_recovery_duration_seconds",
			"Time from the acceptance of a reboot by the cloud provider until the node was ready again.", doubling(10, 8)),
		TerminationDuration: b.summaries("karpenter_nodes_termination_duration_seconds",
			"Time from the deletion of a node until its finalizer was removed.", "nodepool"),
		LifetimeDuration: b.Histograms("karpenter_nodes_lifetime_duration_seconds",
			"Age of a node at its termination.", lifetimeBuckets(), "nodepool"),
		Labels: labels,
		Allocatable: b.GaugeFuncs("karpenter_nodes_allocatable",
			"Allocatable resources of a node.", perResource...),
		TotalPodRequests: b.GaugeFuncs("karpenter_nodes_total_pod_requests",
			"Requests of all pods bound to a node, including those of DaemonSets.", perResource...),
		TotalPodLimits: b.GaugeFuncs("karpenter_nodes_total_pod_limits",
			"Limits of all pods bound to a node, including those of DaemonSets.", perResource...),
		TotalDaemonRequests: b.GaugeFuncs("karpenter_nodes_total_daemon_requests",
			"Requests of the DaemonSet pods bound to a node.", perResource...),
		TotalDaemonLimits: b.GaugeFuncs("karpenter_nodes_total_daemon_limits",
			"Limits of the DaemonSet pods bound to a node.", perResource...),
		SystemOverhead: b.GaugeFuncs("karpenter_nodes_system_overhead",
			"Capacity minus allocatable of a node.", perResource...),
		CurrentLifetime: b.GaugeFuncs("karpenter_nodes_current_lifetime_seconds",
			"Age of a node.", labels.Names()...),
	}
}

// lifetimeBuckets run from a quarter of an hour to thirty days, in seconds.
func lifetimeBuckets() []float64 {
	const minute, hour, day = 60, 3600, 86400
	var out []float64
	for _, m := range []float64{15, 30, 45} {
		out = append(out, m*minute)
	}
	for _, h := range []float64{1, 2, 4, 6, 8, 10, 12, 16, 20} {
		out = append(out, h*hour)
	}
	for _, d := range []float64{1, 2, 3, 5, 10, 15, 20, 25, 30} {
		out = append(out, d*day)
	}
	return out
}

// NodeLabels maps well-known node labels to metric labels: the part after the slash, lower case, with underscores.
type NodeLabels struct {
	// names are the metric labels and keys the label key of each, in the same order.
	names, keys []string
}

// newNodeLabels orders keys and drops those whose metric label is taken already, because a label may appear only once.
func newNodeLabels(wellKnown []string) NodeLabels {
	var out NodeLabels
	for _, key := range slices.Sorted(slices.Values(wellKnown)) {
		name := key[strings.LastIndex(key, "/")+1:]
		name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
		if slices.Contains(out.names, name) || slices.Contains(ownNodeLabels(), name) {
			continue
		}
		out.names, out.keys = append(out.names, name), append(out.keys, key)
	}
	return out
}

// ownNodeLabels are the labels of node gauges that do not come from node labels.
func ownNodeLabels() []string { return []string{"node_name", "phase", "managed"} }

// Names lists the labels of the node gauges in order.
func (l NodeLabels) Names() []string { return append(slices.Clone(l.names), ownNodeLabels()...) }

// Values returns the label values of a node, in the order of Names.
func (l NodeLabels) Values(node *corev1.Node, managed bool) []string {
	out := make([]string, 0, len(l.keys)+3)
	for _, key := range l.keys {
		out = append(out, node.Labels[key])
	}
	return append(out, node.Name, string(node.Status.Phase), strconv.FormatBool(managed))
}
