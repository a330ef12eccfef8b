package observe

import (
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Series takes the value and the label values of one series. The values are kept: they must not be changed afterwards.
type Series func(value float64, labels ...string)

// Live is a family of gauges that describe objects, of which there are many and whose values often change by themselves.
//
// Problem: a stored gauge for each of a hundred thousand pods costs more memory than the pods, and their ages would have to be
// set again and again, whether somebody looks or not. Approach: the owner of the objects is asked for the series when they are
// scraped. Nothing is refreshed, and nothing outlives its object. No two series of a scrape may have the same labels: a
// scrape that has them fails as a whole. It is safe for concurrent use.
type Live struct {
	desc *prometheus.Desc
	// names are the labels in the order in which they are written, and place is where in the definition each stands.
	names []string
	place []int

	mu      sync.Mutex
	sources []func(Series)
}

// From adds an owner. It is called in every scrape, possibly in several at once.
func (l *Live) From(source func(Series)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sources = append(l.sources, source)
}

// Describe implements prometheus.Collector.
func (l *Live) Describe(to chan<- *prometheus.Desc) { to <- l.desc }

// Collect implements prometheus.Collector.
func (l *Live) Collect(to chan<- prometheus.Metric) {
	l.mu.Lock()
	sources := slices.Clone(l.sources)
	l.mu.Unlock()
	for _, source := range sources {
		source(func(value float64, labels ...string) {
			to <- &liveSeries{live: l, value: value, labels: labels}
		})
	}
}

// Live defines a family of live gauges.
func (b *MetricBuilder) Live(name, help string, labels ...string) *Live {
	l := &Live{desc: prometheus.NewDesc(name, help, labels, nil), names: slices.Sorted(slices.Values(labels))}
	for _, sorted := range l.names {
		l.place = append(l.place, slices.Index(labels, sorted))
	}
	b.add(l, Definition{Name: name, Type: "gauge", Help: help, Labels: labels})
	return l
}

// liveSeries is one series of a scrape. It is written with few allocations: there are hundreds of thousands of them.
type liveSeries struct {
	live   *Live
	value  float64
	labels []string
}

// Desc implements prometheus.Metric.
func (s *liveSeries) Desc() *prometheus.Desc { return s.live.desc }

// Write implements prometheus.Metric.
func (s *liveSeries) Write(to *dto.Metric) error {
	if len(s.labels) != len(s.live.names) {
		return fmt.Errorf("%d label values for %d labels of %s", len(s.labels), len(s.live.names), s.live.desc)
	}
	pairs := make([]dto.LabelPair, len(s.labels))
	to.Label = make([]*dto.LabelPair, len(pairs))
	for i, place := range s.live.place {
		pairs[i].Name, pairs[i].Value = &s.live.names[i], &s.labels[place]
		to.Label[i] = &pairs[i]
	}
	to.Gauge = &dto.Gauge{Value: &s.value}
	return nil
}
