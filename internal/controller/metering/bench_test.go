package metering

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/podlatency"
)

// BenchmarkScrape is one scrape of a cluster of ten thousand nodes with ten pods each, with all metrics. A
// hundred pods have changed since the last one.
func BenchmarkScrape(b *testing.B) {
	const nodes, podsPerNode = 10_000, 10
	w := fakecluster.New(b)
	registry := prometheus.NewRegistry()
	w.Metrics = observe.NewMetrics(registry, []string{v1.NodePoolLabelKey, corev1.LabelTopologyZone, corev1.LabelInstanceTypeStable, v1.CapacityTypeLabelKey, corev1.LabelArchStable}, fakecluster.ClassLabel)
	d := Deps{Shared: w.Shared, PodLatency: &podlatency.Tracker{}}
	o, claims, nodeStatuses := newNodes(d), newStatuses(d, ofNodeClaims(d)), newStatuses(d, ofNodes(d))
	pod := func(node, i int) *corev1.Pod {
		p := w.Pod(fmt.Sprintf("p-%d-%d", node, i), fmt.Sprint("n", node))
		p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: fakecluster.Resources("cpu", "100m", "memory", "1Gi")}}}
		return p
	}
	for i := range nodes {
		name := fmt.Sprint("n", i)
		node := w.RegisteredNode(name)
		o.putNode(node)
		nodeStatuses.put(node, true)
		claims.put(w.LaunchedClaim(name, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized), true)
		for j := range podsPerNode {
			o.putPod(pod(i, j))
		}
	}
	handler, request := promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	scrape := func() {
		answer := &discarded{header: http.Header{}}
		handler.ServeHTTP(answer, request)
		if answer.status >= http.StatusBadRequest {
			b.Fatalf("status %d", answer.status)
		}
	}
	scrape()
	b.ReportAllocs()
	for b.Loop() {
		for i := range 100 {
			o.putPod(pod(i, 0))
		}
		scrape()
	}
}

// discarded is a response that is not read.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header { return d.header }

func (d *discarded) Write(p []byte) (int, error) { return len(p), nil }

func (d *discarded) WriteHeader(status int) { d.status = status }
