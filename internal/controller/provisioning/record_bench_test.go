package provisioning

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/bookkeeper"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// BenchmarkRecord plans 1 000 pods in a cluster of 5 000 nodes that are full. It reports the time to gather and to solve, without writes to
// the API server, and the share of it that the record of the pass takes.
func BenchmarkRecord(b *testing.B) {
	w := newHarness(b, readyPool("pool"))
	for i := range 5000 {
		name := fmt.Sprintf("node-%d", i)
		claim := w.LaunchedClaim(name, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized)
		node := w.RegisteredNode(name)
		node.Labels[v1.NodeInitializedLabelKey], node.Labels[corev1.LabelInstanceTypeStable] = "true", "small"
		w.store.UpdateNodeClaim(claim)
		w.store.UpdateNode(node)
		pod := w.Pod("on-"+name, name)
		pod.Spec.Containers = pendingPod("x").Spec.Containers
		w.store.UpdatePod(pod)
	}
	for i := range 1000 {
		w.store.UpdatePod(pendingPod(fmt.Sprintf("pod-%d", i)))
	}
	book := ledger.New(w.Time.Now, 64<<20, nil)
	book.Begin(ledger.Start{}, nil, 1)
	w.p.Books = bookkeeper.New(bookkeeper.Deps{Ledger: book, Clock: w.Time, Client: w.Client, Cloud: w.Cloud, Metrics: w.Metrics})
	var pass, record time.Duration
	for b.Loop() {
		started := time.Now()
		in, err := w.p.gather(b.Context(), w.Time.Now())
		if err != nil {
			b.Fatal(err)
		}
		plan := w.p.solve(in.problem)
		pass += time.Since(started)
		if len(plan.NodeClaims) == 0 {
			b.Fatal("nothing is launched")
		}
		created, errs := make([]string, len(plan.NodeClaims)), make([]error, len(plan.NodeClaims))
		for i := range created {
			created[i] = fmt.Sprintf("pool-%d", i)
		}
		started = time.Now()
		recordPass(w.p, in, plan, created, errs)
		record += time.Since(started)
	}
	b.ReportMetric(float64(pass.Microseconds())/float64(b.N), "µs-pass/op")
	b.ReportMetric(float64(record.Microseconds())/float64(b.N), "µs-record/op")
	b.ReportMetric(100*record.Seconds()/pass.Seconds(), "%-record")
}
