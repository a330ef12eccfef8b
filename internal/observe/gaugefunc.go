package observe

import (
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// AddSeries adds one series to a scrape. It keeps the label values: the caller must not change them afterwards.
type AddSeries func(value float64, labels ...string)

// GaugeFuncVec is a family of gauges whose series are computed when they are scraped, for objects that are many or whose values change with
// time.
//
// Problem: a stored gauge for each of a hundred thousand pods costs more memory than the pods, and their ages would have to be
// refreshed all the time. Approach: a scrape calls functions that add the series. No series outlives its object. Two series of a
// scrape with the same labels fail the whole scrape. It is safe for concurrent use.
type GaugeFuncVec struct {
	desc *prometheus.Desc
	// names are the labels in the order in which they are written, and index the position of each in the definition.
	names []string
	index []int

	mu      sync.Mutex
	sources []func(AddSeries)
}

// AddSource adds a function that every scrape calls, possibly several scrapes at once.
func (l *GaugeFuncVec) AddSource(source func(AddSeries)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sources = append(l.sources, source)
}

// Describe implements prometheus.Collector.
func (l *GaugeFuncVec) Describe(to chan<- *prometheus.Desc) { to <- l.desc }

// Collect implements prometheus.Collector.
func (l *GaugeFuncVec) Collect(to chan<- prometheus.Metric) {
	l.mu.Lock()
	sources := slices.Clone(l.sources)
	l.mu.Unlock()
	for _, source := range sources {
		source(func(value float64, labels ...string) {
			to <- &gaugeFuncSeries{vec: l, value: value, labels: labels}
		})
	}
}

// GaugeFuncs defines a family of gauges computed by scrapes.
func (b *MetricBuilder) GaugeFuncs(name, help string, labels ...string) *GaugeFuncVec {
	l := &GaugeFuncVec{desc: prometheus.NewDesc(name, help, labels, nil), names: slices.Sorted(slices.Values(labels))}
	for _, sorted := range l.names {
		l.index = append(l.index, slices.Index(labels, sorted))
	}
	b.add(l, Definition{Name: name, Type: "gauge", Help: help, Labels: labels})
	return l
}

// gaugeFuncSeries is one series of a scrape. Writing it allocates little: there are hundreds of thousands.
type gaugeFuncSeries struct {
	vec    *GaugeFuncVec
	value  float64
	labels []string
}

// Desc implements prometheus.Metric.
func (s *gaugeFuncSeries) Desc() *prometheus.Desc { return s.vec.desc }

// Write implements prometheus.Metric.
func (s *gaugeFuncSeries) Write(to *dto.Metric) error {
	if len(s.labels) != len(s.vec.names) {
		return fmt.Errorf("%d label values for %d labels of %s", len(s.labels), len(s.vec.names), s.vec.desc)
	}
	pairs := make([]dto.LabelPair, len(s.labels))
	to.Label = make([]*dto.LabelPair, len(pairs))
	for i, index := range s.vec.index {
		pairs[i].Name, pairs[i].Value = &s.vec.names[i], &s.labels[index]
		to.Label[i] = &pairs[i]
	}
	to.Gauge = &dto.Gauge{Value: &s.value}
	return nil
}
