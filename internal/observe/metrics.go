package observe

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics holds every metric of the process, by concern, except those of the API client, which exist earlier. Source: spec, Prometheus metrics.
type Metrics struct {
	// NodeClaims counts transitions of NodeClaims.
	NodeClaims NodeClaimMetrics
	// Nodes counts and describes Nodes.
	Nodes NodeMetrics
	// NodePools describes limits, usage, cost and budgets.
	NodePools NodePoolMetrics
	// Pods describes how long pods wait, and their evictions.
	Pods PodMetrics
	// Disruption describes voluntary disruption.
	Disruption DisruptionMetrics
	// Scheduler describes simulations.
	Scheduler SchedulerMetrics
	// Cluster describes the cluster state.
	Cluster ClusterMetrics
	// CloudProvider describes calls to the cloud provider.
	CloudProvider CloudProviderMetrics
	// Status describes the conditions of objects.
	Status StatusesMetrics
	// Ledger describes the decision ledger, and savings.
	Ledger LedgerMetrics
	// Notifications describes notifications to a webhook.
	Notifications NotificationMetrics

	buildInfo   *prometheus.GaugeVec
	definitions []Definition
	ofNodePools []partialDeleter
}

// Definition describes one metric, for documentation and checks.
type Definition struct {
	// Name with namespace.
	Name string
	// Type is counter, gauge, histogram or summary.
	Type string
	// Help is one sentence.
	Help string
	// Labels in order.
	Labels []string
	// Buckets of a histogram, upper bounds.
	Buckets []float64
}

// NewMetrics defines all metrics and registers them. wellKnown are the label keys whose values become labels of the node gauges, so
// build it after the cloud provider has named its labels; classes are the labels by which objects name their NodeClass. It panics when
// reg has one of the names already.
func NewMetrics(reg prometheus.Registerer, wellKnown []string, classes ...string) *Metrics {
	b := NewMetricBuilder(reg)
	labels := newNodeLabels(wellKnown)
	m := &Metrics{
		NodeClaims:    newNodeClaimMetrics(b),
		Nodes:         newNodeMetrics(b, labels),
		NodePools:     newNodePoolMetrics(b),
		Pods:          newPodMetrics(b),
		Disruption:    newDisruptionMetrics(b),
		Scheduler:     newSchedulerMetrics(b),
		Cluster:       newClusterMetrics(b),
		CloudProvider: newCloudProviderMetrics(b),
		Status:        newStatusesMetrics(b, classes),
		Ledger:        newLedgerMetrics(b),
		Notifications: newNotificationMetrics(b),
		buildInfo:     b.Gauges("karpenter_build_info", "Always 1; the labels describe the running build.", "version", "goversion", "goarch", "commit"),
	}
	m.definitions, m.ofNodePools = b.Definitions(), b.ofNodePools
	return m
}

// SetBuild publishes the running build.
func (m *Metrics) SetBuild(b Build) {
	m.buildInfo.Reset()
	m.buildInfo.WithLabelValues(b.Version, b.GoVersion, b.GoArch, b.Commit).Set(1)
}

// ForgetNodePool deletes the series that counted for a NodePool. Gauges follow objects and are deleted with these.
func (m *Metrics) ForgetNodePool(name string) {
	for _, family := range m.ofNodePools {
		for _, label := range nodePoolLabels() {
			family.DeletePartialMatch(prometheus.Labels{label: name})
		}
	}
}

// Definitions lists all metrics by name.
func (m *Metrics) Definitions() []Definition { return slices.Clone(m.definitions) }

// MetricBuilder creates metrics, registers them and keeps their definitions. Cloud providers define theirs with it.
type MetricBuilder struct {
	reg         prometheus.Registerer
	definitions []Definition
	// ofNodePools are the families that count and have the label of a NodePool.
	ofNodePools []partialDeleter
}

// nodePoolLabels returns the labels of series that count for a NodePool. Those of conditions show the label of the object.
func nodePoolLabels() []string { return []string{"nodepool", "karpenter_sh_nodepool"} }

func isNodePoolLabel(label string) bool { return slices.Contains(nodePoolLabels(), label) }

// partialDeleter is a family of series.
type partialDeleter interface {
	DeletePartialMatch(labels prometheus.Labels) int
}

// NewMetricBuilder returns a builder that registers metrics with reg. Its methods panic when reg has one of the names already.
func NewMetricBuilder(reg prometheus.Registerer) *MetricBuilder { return &MetricBuilder{reg: reg} }

func (b *MetricBuilder) add(c prometheus.Collector, d Definition) {
	b.reg.MustRegister(c)
	b.definitions = append(b.definitions, d)
	if family, ok := c.(partialDeleter); ok && d.Type != "gauge" && slices.ContainsFunc(d.Labels, isNodePoolLabel) {
		b.ofNodePools = append(b.ofNodePools, family)
	}
}

// Definitions returns the definitions by name.
func (b *MetricBuilder) Definitions() []Definition {
	return slices.SortedFunc(slices.Values(b.definitions), func(x, y Definition) int { return strings.Compare(x.Name, y.Name) })
}

// Counters defines counters, one for each value of the labels.
func (b *MetricBuilder) Counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	b.add(c, Definition{Name: name, Type: "counter", Help: help, Labels: labels})
	return c
}

// Counter defines a counter without labels.
func (b *MetricBuilder) Counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	b.add(c, Definition{Name: name, Type: "counter", Help: help})
	return c
}

// Gauges defines gauges, one for each value of the labels.
func (b *MetricBuilder) Gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	b.add(g, Definition{Name: name, Type: "gauge", Help: help, Labels: labels})
	return g
}

// Gauge defines a gauge without labels.
func (b *MetricBuilder) Gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	b.add(g, Definition{Name: name, Type: "gauge", Help: help})
	return g
}

// Histograms defines histograms, one for each value of the labels; buckets are upper bounds.
func (b *MetricBuilder) Histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	b.add(h, Definition{Name: name, Type: "histogram", Help: help, Labels: labels, Buckets: buckets})
	return h
}

// Histogram defines a histogram without labels; buckets are upper bounds.
func (b *MetricBuilder) Histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	b.add(h, Definition{Name: name, Type: "histogram", Help: help, Buckets: buckets})
	return h
}

func (b *MetricBuilder) summaries(name, help string, labels ...string) *prometheus.SummaryVec {
	s := prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: name, Help: help, Objectives: summaryObjectives()}, labels)
	b.add(s, Definition{Name: name, Type: "summary", Help: help, Labels: labels})
	return s
}

func (b *MetricBuilder) summary(name, help string) prometheus.Summary {
	s := prometheus.NewSummary(prometheus.SummaryOpts{Name: name, Help: help, Objectives: summaryObjectives()})
	b.add(s, Definition{Name: name, Type: "summary", Help: help})
	return s
}

// summaryObjectives are the quantiles of all summaries, each with an error of one percent.
func summaryObjectives() map[float64]float64 {
	return map[float64]float64{0: 0.01, 0.5: 0.01, 0.9: 0.01, 0.99: 0.01, 1: 0.01}
}

// DurationBuckets suit durations from a simulation to a slow start of an instance, in seconds.
func DurationBuckets() []float64 {
	return []float64{
		0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
		1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9,
		10, 15, 20, 25, 30, 40, 50, 60, 120, 150, 300, 450, 600,
	}
}

// doubling returns n buckets, each twice the one before.
func doubling(first float64, n int) []float64 { return prometheus.ExponentialBuckets(first, 2, n) }
