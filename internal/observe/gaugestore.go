package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Sample is the value of one series of a gauge.
type Sample struct {
	// Gauge is the family the series belongs to.
	Gauge *prometheus.GaugeVec
	// Labels are the label values in the order of the definition.
	Labels []string
	// Value to set.
	Value float64
}

// GaugeStore keeps the series that describe objects, so that they disappear with the object or when one of its labels changes. A series
// must belong to one key only. It is safe for concurrent use; make it with NewGaugeStore.
type GaugeStore struct {
	mu     sync.Mutex
	series map[string]map[string]Sample
}

// NewGaugeStore returns an empty store.
func NewGaugeStore() *GaugeStore { return &GaugeStore{series: map[string]map[string]Sample{}} }

// Replace sets the samples of the object key and removes its earlier series that are not among them.
func (s *GaugeStore) Replace(key string, samples ...Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replace(key, samples)
}

// ReplaceAll sets the samples of all objects and removes all others.
func (s *GaugeStore) ReplaceAll(objects map[string][]Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range slices.Collect(maps.Keys(s.series)) {
		if _, ok := objects[key]; !ok {
			s.replace(key, nil)
		}
	}
	for key, samples := range objects {
		s.replace(key, samples)
	}
}

// Remove drops all series of the object key.
func (s *GaugeStore) Remove(key string) { s.Replace(key) }

func (s *GaugeStore) replace(key string, samples []Sample) {
	next := make(map[string]Sample, len(samples))
	for _, sample := range samples {
		next[sample.id()] = sample
	}
	for id, sample := range s.series[key] {
		if _, kept := next[id]; !kept {
			sample.Gauge.DeleteLabelValues(sample.Labels...)
		}
	}
	for _, sample := range next {
		sample.Gauge.WithLabelValues(sample.Labels...).Set(sample.Value)
	}
	if len(next) == 0 {
		delete(s.series, key)
		return
	}
	s.series[key] = next
}

// id distinguishes series across families.
func (s Sample) id() string {
	return fmt.Sprintf("%p\x00%s", s.Gauge, strings.Join(s.Labels, "\x00"))
}
