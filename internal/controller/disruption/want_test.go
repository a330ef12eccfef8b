package disruption

import (
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// deleted are the names of NodeClaims with a deletion timestamp, sorted.
func (w *harness) deleted() []string {
	w.Helper()
	var list v1.NodeClaimList
	if err := w.client.List(w.Context(), &list, client.UnsafeDisableDeepCopy); err != nil {
		w.Fatal(err)
	}
	out := []string{}
	for i := range list.Items {
		if c := &list.Items[i]; !c.DeletionTimestamp.IsZero() {
			out = append(out, c.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (w *harness) wantDeleted(names ...string) {
	w.Helper()
	if got := w.deleted(); !slices.Equal(got, append([]string{}, names...)) {
		w.Errorf("after %s: deleted %v, want %v", w.age(), got, names)
	}
}

// wantUnmarked checks that a node shows no trace of a command.
func (w *harness) wantUnmarked(name string) {
	w.Helper()
	if disrupted(w.node(name)) {
		w.Errorf("after %s: node %s is tainted", w.age(), name)
	}
	if c := condition.For(w.claim(name), time.Now()).Get(v1.ConditionTypeDisruptionReason); c != nil {
		w.Errorf("after %s: nodeclaim %s has a disruption reason: %v", w.age(), name, c)
	}
}

// age is the time since the bubble began.
func (w *harness) age() time.Duration {
	return time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
}

func (w *harness) wantEvent(event string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.events, event) {
		w.Errorf("no event %q among %q", event, w.events)
	}
	w.wantExplained(event)
}

// told is the number of events with the prefix.
func (w *harness) told(prefix string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := 0
	for _, e := range w.events {
		if strings.HasPrefix(e, prefix) {
			got++
		}
	}
	return got
}

// wantEvents checks the number of events with the prefix.
func (w *harness) wantEvents(prefix string, want int) {
	w.Helper()
	got := w.told(prefix)
	w.mu.Lock()
	defer w.mu.Unlock()
	if got != want {
		w.Errorf("%d events %q, want %d, among %q", got, prefix, want, w.events)
		return
	}
	if want > 0 {
		w.wantExplained(prefix)
	}
}

func (w *harness) wantNoEvent(prefix string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if strings.HasPrefix(e, prefix) {
			w.Errorf("unexpected event %q", e)
		}
	}
}

func (w *harness) wantLog(text string) {
	w.Helper()
	if !strings.Contains(w.logs.String(), text) {
		w.Errorf("no %q in the log:\n%s", text, w.logs.String())
	}
}

// wantMetric compares the sum of the series with these labels, which are "name=value" in any order. A series that does not
// exist is 0.
func (w *harness) wantMetric(metric string, want float64, labels ...string) {
	w.Helper()
	if got := w.metric(metric, labels...); got != want {
		w.Errorf("%s%v = %v, want %v", metric, labels, got, want)
	}
}

// metric is the sum of the series with these labels, of the number of samples where they are histograms.
func (w *harness) metric(metric string, labels ...string) float64 {
	w.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	got := 0.0
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, series := range family.GetMetric() {
			var have []string
			for _, l := range series.GetLabel() {
				have = append(have, l.GetName()+"="+l.GetValue())
			}
			if !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(have, l) }) {
				got += series.GetCounter().GetValue() + series.GetGauge().GetValue() + float64(series.GetHistogram().GetSampleCount())
			}
		}
	}
	return got
}
