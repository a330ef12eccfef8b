package disruption

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/bookkeeper"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// BenchmarkRecord makes passes over 5 000 nodes that are within the consolidateAfter of their pool: the cheapest passes there are, because no
// pod is read and nothing simulated. It reports the time of a pass without the lists of the API server in memory, which are slower than
// a cache, and the share of it that the record takes.
func BenchmarkRecord(b *testing.B) {
	w := newHarness(b)
	w.provider.types = ondemand(2)
	w.pool("pool", budget("100%"), underutilized)
	for i := range 5000 {
		w.addNode("pool", fmt.Sprintf("node-%d", i), func(m *nodeAndClaim) {
			m.node.Labels[corev1.LabelInstanceTypeStable] = "x2"
			condition.For(m.claim, time.Now()).Clear(v1.ConditionTypeConsolidatable)
			w.store.UpdateNodeClaim(m.claim)
			w.store.UpdateNode(m.node)
		})
	}
	book := ledger.New(time.Now, 64<<20, nil)
	book.Begin(ledger.Start{}, nil, 1)
	w.deps.Books = bookkeeper.New(bookkeeper.Deps{Ledger: book, Clock: w.deps.Clock, Client: w.deps.Client, Cloud: w.deps.Cloud, Metrics: w.deps.Metrics})
	c := New(w.deps)
	if err := c.Register(fakeManager{w: w}); err != nil {
		b.Fatal(err)
	}
	pl := c.planner
	pl.lastSurvey = time.Now().Add(time.Hour)
	var tried []disrupt.Candidate
	if _, err := pl.pass(b.Context(), &tried); err != nil { // the full record
		b.Fatal(err)
	}
	var all, gather, record time.Duration
	for b.Loop() {
		started := time.Now()
		if acted, err := pl.pass(b.Context(), &tried); err != nil || acted {
			b.Fatal(acted, err)
		}
		all += time.Since(started)
		b.StopTimer()
		started = time.Now()
		v, err := pl.reads.gather(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		gather += time.Since(started)
		p := &pass{view: v, candidates: tried, left: pl.told.obstacles}
		started = time.Now()
		pl.recordPass(p, nil)
		record += time.Since(started)
		b.StartTimer()
	}
	work := all - gather
	b.ReportMetric(float64(work.Microseconds())/float64(b.N), "µs-pass/op")
	b.ReportMetric(float64(record.Microseconds())/float64(b.N), "µs-record/op")
	b.ReportMetric(100*record.Seconds()/work.Seconds(), "%-record")
}
