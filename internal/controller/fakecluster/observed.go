package fakecluster

import (
	"fmt"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sink records events as "Type Reason name: message".
type sink struct{ *Cluster }

// Event implements record.EventRecorder.
func (s sink) Event(object runtime.Object, eventType, reason, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf("%s %s %s: %s", eventType, reason, object.(client.Object).GetName(), message))
}

// Eventf implements record.EventRecorder.
func (s sink) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	s.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (s sink) AnnotatedEventf(object runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	s.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

// Events returns the events so far, each as "Type Reason name: message".
func (w *Cluster) Events() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

// Count returns the value of a counter, or the number of samples of a histogram or summary, summed over the series
// that carry the labels, which are given as "name=value".
func (w *Cluster) Count(metric string, labels ...string) float64 {
	w.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, series := range family.GetMetric() {
			if carries(series, labels) {
				sum += series.GetCounter().GetValue() + float64(series.GetHistogram().GetSampleCount()) + float64(series.GetSummary().GetSampleCount())
			}
		}
	}
	return sum
}

func carries(series *dto.Metric, labels []string) bool {
	for _, want := range labels {
		name, value, _ := strings.Cut(want, "=")
		if !slices.ContainsFunc(series.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == name && l.GetValue() == value }) {
			return false
		}
	}
	return true
}

// Sum is what the samples of a histogram or summary add up to, over all its series.
func (w *Cluster) Sum(metric string) float64 {
	w.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, series := range family.GetMetric() {
			sum += series.GetHistogram().GetSampleSum() + series.GetSummary().GetSampleSum()
		}
	}
	return sum
}

// Series is the number of series of each metric that has any.
func (w *Cluster) Series() map[string]int {
	w.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	out := map[string]int{}
	for _, family := range families {
		out[family.GetName()] = len(family.GetMetric())
	}
	return out
}
