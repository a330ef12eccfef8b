package observe

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// StatusMetrics describe the conditions of one kind of object, and how long its objects take to terminate. All metrics carry Labels
// after the labels named here.
type StatusMetrics struct {
	// Labels are the object labels that are shown with every metric.
	Labels []string
	// Count is 1 for each condition, CurrentStatus its age in seconds; both have labels namespace, name, type, status, reason.
	Count, CurrentStatus *GaugeFuncVec
	// Transition is how long a condition had its previous status; labels type, status and to_status, the new one.
	Transition *prometheus.HistogramVec
	// Transitions counts changes of status; labels type, status, reason of the new status.
	Transitions *prometheus.CounterVec
	// TerminationCurrent is the time since the deletion of an object that still exists; labels namespace, name.
	TerminationCurrent *GaugeFuncVec
	// TerminationDuration is how long objects took to terminate.
	TerminationDuration *prometheus.HistogramVec
}

// StatusesMetrics are the StatusMetrics of each kind.
type StatusesMetrics struct {
	NodeClaims, NodePools, Nodes, CapacityBuffers StatusMetrics
	// NodeClasses are those of each kind of NodeClass, by the label by which objects name it.
	NodeClasses map[string]StatusMetrics
	// Deprecated are the same for all kinds but Nodes, with labels group and kind in front and no object labels.
	Deprecated StatusMetrics
}

// newStatusesMetrics defines them; classes are the labels by which objects name their NodeClass.
func newStatusesMetrics(b *MetricBuilder, classes []string) StatusesMetrics {
	ofClaims := append(classes[:len(classes):len(classes)], v1.NodePoolLabelKey)
	ofNodes := append(ofClaims[:len(ofClaims):len(ofClaims)], v1.NodeInitializedLabelKey)
	ofClasses := map[string]StatusMetrics{}
	for _, label := range classes {
		_, kind, _ := strings.Cut(label, "/")
		ofClasses[label] = newStatusMetrics(b, "operator_"+kind+"_", "a NodeClass", prometheus.DefBuckets, nil, nil)
	}
	return StatusesMetrics{
		NodeClasses:     ofClasses,
		NodeClaims:      newStatusMetrics(b, "operator_nodeclaim_", "a NodeClaim", doubling(0.5, 15), nil, ofClaims),
		NodePools:       newStatusMetrics(b, "operator_nodepool_", "a NodePool", doubling(0.5, 15), nil, nil),
		Nodes:           newStatusMetrics(b, "operator_node_", "a Node", doubling(0.5, 15), nil, ofNodes),
		CapacityBuffers: newStatusMetrics(b, "operator_capacitybuffer_", "a CapacityBuffer", doubling(0.5, 15), nil, nil),
		Deprecated:      newStatusMetrics(b, "operator_", "an object", prometheus.DefBuckets, []string{"group", "kind"}, nil),
	}
}

func newStatusMetrics(b *MetricBuilder, prefix, what string, buckets []float64, first, objectLabels []string) StatusMetrics {
	shown := make([]string, len(objectLabels))
	for i, label := range objectLabels {
		shown[i] = strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(label)
	}
	end := "."
	if len(first) > 0 {
		end = ". Deprecated: use the metric of the kind."
	}
	labels := func(own ...string) []string {
		out := append([]string{}, first...)
		return append(append(out, own...), shown...)
	}
	return StatusMetrics{
		Labels: objectLabels,
		Count: b.GaugeFuncs(prefix+"status_condition_count",
			"Always 1; the labels describe a condition of "+what+end, labels("namespace", "name", "type", "status", "reason")...),
		CurrentStatus: b.GaugeFuncs(prefix+"status_condition_current_status_seconds",
			"Time since a condition of "+what+" changed to its status"+end, labels("namespace", "name", "type", "status", "reason")...),
		Transition: b.Histograms(prefix+"status_condition_transition_seconds",
			"Time that a condition of "+what+" had its previous status"+end, buckets, labels("type", "status", "to_status")...),
		Transitions: b.Counters(prefix+"status_condition_transitions_total",
			"Changes of a condition of "+what+" to a status"+end, labels("type", "status", "reason")...),
		TerminationCurrent: b.GaugeFuncs(prefix+"termination_current_time_seconds",
			"Time since the deletion of "+what+" that still exists"+end, labels("namespace", "name")...),
		TerminationDuration: b.Histograms(prefix+"termination_duration_seconds",
			"Time from the deletion of "+what+" until it was removed"+end, buckets, labels()...),
	}
}
