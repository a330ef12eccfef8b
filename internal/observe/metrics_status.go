package observe

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// StatusMetrics describe the conditions of one kind of object, and how long its objects take to go. The gauges and all other
// metrics carry after the labels named here those of Labels.
type StatusMetrics struct {
	// Labels are the object labels that are shown with every metric.
	Labels []string
	// Count is 1 for each condition, CurrentStatus its age in seconds; both have labels namespace, name, type, status, reason.
	Count, CurrentStatus *Live
	// Transition is how long a condition had a status that it left; labels type, status.
	Transition *prometheus.HistogramVec
	// Transitions counts the statuses that conditions came to; labels type, status, reason.
	Transitions *prometheus.CounterVec
	// TerminationCurrent is for how long an object has been going; labels namespace, name.
	TerminationCurrent *Live
	// TerminationDuration is how long objects took to go.
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
	ofClaims := append(classes[:len(classes):len(classes)], "karpenter.sh/nodepool")
	ofNodes := append(ofClaims[:len(ofClaims):len(ofClaims)], "karpenter.sh/initialized")
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
		end = ". Deprecated: each kind has its own."
	}
	labels := func(own ...string) []string {
		out := append([]string{}, first...)
		return append(append(out, own...), shown...)
	}
	return StatusMetrics{
		Labels: objectLabels,
		Count: b.Live(prefix+"status_condition_count",
			"Always 1; the labels describe a condition of "+what+end, labels("namespace", "name", "type", "status", "reason")...),
		CurrentStatus: b.Live(prefix+"status_condition_current_status_seconds",
			"Time since a condition of "+what+" came to its status"+end, labels("namespace", "name", "type", "status", "reason")...),
		Transition: b.Histograms(prefix+"status_condition_transition_seconds",
			"Time that a condition of "+what+" had a status until it left it"+end, buckets, labels("type", "status")...),
		Transitions: b.Counters(prefix+"status_condition_transitions_total",
			"Times that a condition of "+what+" came to a status"+end, labels("type", "status", "reason")...),
		TerminationCurrent: b.Live(prefix+"termination_current_time_seconds",
			"Time since the deletion of "+what+" that is still there"+end, labels("namespace", "name")...),
		TerminationDuration: b.Histograms(prefix+"termination_duration_seconds",
			"Time from the deletion of "+what+" until it was gone"+end, buckets, labels()...),
	}
}
