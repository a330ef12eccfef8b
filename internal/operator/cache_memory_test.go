package operator

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"
)

// template returns the object of a file, as the API server sends it.
func template[T interface{ Marshal() ([]byte, error) }](tb testing.TB, file string, into T) []byte {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	encoded, err := into.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	return encoded
}

// livePods returns pods by number as a client decodes them: with what a chart, admission, kube-scheduler and the kubelet add, and no part in
// common with another pod. A hundred of them have the same template.
func livePods(tb testing.TB) func(i int) any {
	encoded := template(tb, "testdata/pod.yaml", &corev1.Pod{})
	return func(i int) any {
		pod := &corev1.Pod{}
		if err := pod.Unmarshal(encoded); err != nil {
			tb.Fatal(err)
		}
		workload := fmt.Sprintf("app-%d", i/100)
		pod.Name, pod.UID = fmt.Sprintf("%s-7d9f8c6b5d-%05d", workload, i), types.UID(fmt.Sprintf("0d4f6b1e-6f0a-4a39-9f0e-%012d", i))
		pod.Labels["app.kubernetes.io/name"], pod.OwnerReferences[0].Name = workload, workload
		pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels["app.kubernetes.io/name"] = workload
		pod.Spec.NodeName = nodeName(i / 10)
		started := time.Date(2026, 11, 29, 8, 0, i%86_400, 0, time.UTC)
		for c := range pod.Status.Conditions {
			pod.Status.Conditions[c].LastTransitionTime = metav1.NewTime(started.Add(time.Duration(c) * time.Second))
		}
		return pod
	}
}

// liveNodes is the same for nodes.
func liveNodes(tb testing.TB) func(i int) any {
	encoded := template(tb, "testdata/node.yaml", &corev1.Node{})
	return func(i int) any {
		node := &corev1.Node{}
		if err := node.Unmarshal(encoded); err != nil {
			tb.Fatal(err)
		}
		node.Name = nodeName(i)
		node.Labels[corev1.LabelHostname], node.UID = node.Name, types.UID(fmt.Sprintf("3b1e2c4d-5f60-4718-9a2b-%012d", i))
		return node
	}
}

func nodeName(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-west-1.compute.internal", i>>16, i>>8&255, i&255)
}

// bytesCached returns the bytes that a cache of n objects takes.
func bytesCached(tb testing.TB, n int, object func(i int) any, transform toolscache.TransformFunc) int {
	tb.Helper()
	before := inUse()
	objects := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	for i := range n {
		o, err := transform(object(i))
		if err != nil {
			tb.Fatal(err)
		}
		if err := objects.Add(o); err != nil {
			tb.Fatal(err)
		}
	}
	bytes := inUse() - before
	runtime.KeepAlive(objects)
	runtime.KeepAlive(transform)
	return bytes
}

// inUse returns the bytes that are in use after garbage collection.
func inUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestCachedObjectsTakeLittleMemory checks what an object may take in the cache of the client, in bytes: one and a half times what was measured.
func TestCachedObjectsTakeLittleMemory(t *testing.T) {
	const n = 5000
	for name, c := range map[string]struct {
		object func(i int) any
		most   int
	}{
		"pod":  {livePods(t), 2800},
		"node": {liveNodes(t), 13_000},
	} {
		t.Run(name, func(t *testing.T) {
			each := bytesCached(t, n, c.object, newLean().transform) / n
			t.Logf("%d bytes", each)
			if each > c.most {
				t.Errorf("each takes %d bytes, want at most %d", each, c.most)
			}
		})
	}
}

// BenchmarkCache measures the caches of the largest cluster that docs/reference/limits.md names, with whole objects and with trimmed ones.
func BenchmarkCache(b *testing.B) {
	whole := func(o any) (any, error) { return o, nil }
	for _, c := range []struct {
		name      string
		n         int
		object    func(i int) any
		transform toolscache.TransformFunc
	}{
		{"pods/whole", 200_000, livePods(b), whole},
		{"pods/trimmed", 200_000, livePods(b), newLean().transform},
		{"nodes/whole", 20_000, liveNodes(b), whole},
		{"nodes/trimmed", 20_000, liveNodes(b), newLean().transform},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(bytesCached(b, c.n, c.object, c.transform))/(1<<20), "MiB")
			}
		})
	}
}
