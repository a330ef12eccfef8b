package telemetry_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

func TestMetricsMatchTheSpecification(t *testing.T) {
	data, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			want = append(want, line)
		}
	}
	for _, d := range telemetry.NewMetrics(prometheus.NewRegistry()).Definitions() {
		labels := strings.Join(d.Labels, ",")
		if labels == "" {
			labels = "-"
		}
		got = append(got, fmt.Sprintf("%s %s %s", d.Name, d.Type, labels))
		if d.Name == "karpenter_cloudprovider_batcher_batch_size" && (len(d.Buckets) != 34 || d.Buckets[0] != 1 || d.Buckets[33] != 1000) {
			t.Errorf("the buckets of batches are %v", d.Buckets)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-specification +code):\n%s", diff)
	}
}

// TestDefinitionsAreWhatIsRegistered sets one series of every metric and reads back what a scrape returns.
func TestDefinitionsAreWhatIsRegistered(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := telemetry.NewMetrics(registry)
	for _, l := range []*observe.GaugeFuncVec{m.OfferingAvailable, m.OfferingPrice} {
		l.AddSource(func(add observe.AddSeries) { add(1, "t", "c", "z") })
	}
	for _, l := range []*observe.GaugeFuncVec{m.TypeCPU, m.TypeMemory} {
		l.AddSource(func(add observe.AddSeries) { add(1, "t") })
	}
	m.LaunchFailures.WithLabelValues("", "", "", "").Inc()
	m.TerminationFailures.WithLabelValues("", "").Inc()
	m.InterruptionReceived.WithLabelValues("").Inc()
	m.InterruptionDeleted.Inc()
	m.InstanceStatusUnhealthy.WithLabelValues("").Inc()
	m.UserDataBytes.WithLabelValues("").Set(1)
	for _, h := range []*prometheus.HistogramVec{m.BatchTime, m.BatchSize} {
		h.WithLabelValues("").Observe(1)
	}
	for _, c := range []*prometheus.CounterVec{m.SDK.Requests, m.SDK.Attempts} {
		c.WithLabelValues("", "", "").Inc()
	}
	for _, h := range []*prometheus.HistogramVec{m.SDK.RequestDuration, m.SDK.AttemptDuration, m.SDK.Retries} {
		h.WithLabelValues("", "", "").Observe(1)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, d := range m.Definitions() {
		want = append(want, fmt.Sprintf("%s %s %d", d.Name, d.Type, len(d.Labels)))
	}
	for _, f := range families {
		got = append(got, fmt.Sprintf("%s %s %d", f.GetName(), strings.ToLower(f.GetType().String()), len(f.GetMetric()[0].GetLabel())))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-definitions +scrape):\n%s", diff)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("the linter says %v, %v", problems, err)
	}
}
