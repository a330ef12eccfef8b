package cluster

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// heap returns the bytes in use. It collects several times: weak references and finalizers take more than one cycle.
func heap() int {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// fleet is a cluster state of a size.
type fleet struct{ nodes, podsPerNode, pools int }

// pod returns pod j of node i. Pods of a generation request what those of others do not.
func (f fleet) pod(i, j, generation int) *corev1.Pod {
	name := fmt.Sprintf("pod-%d-%d", i, j)
	pod := boundPod(name, fmt.Sprintf("node-%d", i))
	pod.UID = types.UID(fmt.Sprintf("%s-%d", name, generation))
	pod.Labels = map[string]string{"app": fmt.Sprintf("app-%d", j)}
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = *resource.NewQuantity(int64(1000+generation), resource.BinarySI)
	return pod
}

func (f fleet) pool(i int) string { return fmt.Sprintf("pool-%d", i%f.pools) }

func (f fleet) addNode(s *Store, i int) {
	name := fmt.Sprintf("node-%d", i)
	claim, node := claim(name, "test://"+name), node(name, "test://"+name)
	claim.Labels[v1.NodePoolLabelKey], node.Labels[v1.NodePoolLabelKey] = f.pool(i), f.pool(i)
	s.UpdateNodeClaim(claim)
	s.UpdateNode(node)
}

// fill adds all pools, nodes and pods.
func (f fleet) fill(s *Store) {
	for i := range f.pools {
		pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: f.pool(i)}}
		pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: "test.sh", Kind: "Class", Name: fmt.Sprintf("class-%d", i)}
		s.Pools.UpdateNodePool(pool)
	}
	for i := range f.nodes {
		f.addNode(s, i)
		for j := range f.podsPerNode {
			s.UpdatePod(f.pod(i, j, 0))
		}
	}
	s.Snapshot()
}

// churn applies events: updates, deletions and creations of pods, each with other requests, and of every tenth node. Afterwards there are as many
// objects as before, none of which existed before.
func (f fleet) churn(s *Store, events int) {
	uids, done := map[string]string{}, 0
	for generation := 1; done < events; generation++ {
		for i := range f.nodes {
			if i%10 == 0 {
				s.DeleteNode(fmt.Sprintf("node-%d", i))
				s.DeleteNodeClaim(fmt.Sprintf("node-%d", i))
				f.addNode(s, i)
				done += 4
			}
			for j := range f.podsPerNode {
				fresh := f.pod(i, j, generation)
				old, ok := uids[fresh.Name]
				if !ok {
					old = string(f.pod(i, j, 0).UID)
				}
				s.DeletePod(old)
				s.UpdatePod(fresh)
				s.UpdatePod(fresh.DeepCopy())
				uids[fresh.Name] = string(fresh.UID)
				done += 3
			}
			if i%50 == 0 {
				s.Snapshot()
			}
		}
	}
	s.Snapshot()
}

// TestMemoryReturnsAfterManyEvents checks what the cluster state takes, and that events leave nothing behind.
func TestMemoryReturnsAfterManyEvents(t *testing.T) {
	f := fleet{nodes: 1000, podsPerNode: 10, pools: 100}
	empty, s := heap(), newStore()
	f.fill(s)
	full := heap() - empty
	f.churn(s, 100_000)
	after := heap() - empty
	if perPod := full / (f.nodes * f.podsPerNode); perPod > mostPerPod {
		t.Errorf("the state takes %d bytes for each pod, want at most %d", perPod, mostPerPod)
	}
	if grown := after - full; grown > full/5 {
		t.Errorf("the state of the same size took %d KiB, and takes %d KiB after 100 000 events", full>>10, after>>10)
	}
	for i := range f.nodes {
		name := fmt.Sprintf("node-%d", i)
		for _, pod := range s.podsOn[name] {
			s.DeletePod(pod.UID)
		}
		s.DeleteNode(name)
		s.DeleteNodeClaim(name)
	}
	for i := range f.pools {
		s.Pools.DeleteNodePool(f.pool(i))
	}
	s.Snapshot()
	if left := heap() - empty; left > full/5 {
		t.Errorf("%d of %d KiB are left when all objects are gone", left>>10, full>>10)
	}
	t.Logf("full %d KiB, %d KiB after the events", full>>10, after>>10)
	runtime.KeepAlive(s)
}

// mostPerPod is what the state may take for each pod, its part of a node and its NodeClaim included: one and a half times what was measured.
const mostPerPod = 1600

// TestLargePodsTakeLittleMemory checks what a pod with a spec of a mebibyte takes, in what the kubelet reads and in what scheduling reads.
func TestLargePodsTakeLittleMemory(t *testing.T) {
	for name, enlarge := range map[string]func(*corev1.Pod){
		"environment": func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: strings.Repeat("x", 1<<20)}}
		},
		"node selector": func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{}
			for i := range 1 << 14 {
				p.Spec.NodeSelector[fmt.Sprintf("example.com/label-%d", i)] = strings.Repeat("x", 40)
			}
		},
		"tolerations": func(p *corev1.Pod) {
			for i := range 1 << 14 {
				p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: fmt.Sprintf("example.com/taint-%d", i), Value: strings.Repeat("x", 40)})
			}
		},
		"resources": func(p *corev1.Pod) {
			for i := range 1 << 15 {
				p.Spec.Containers[0].Resources.Requests[corev1.ResourceName(fmt.Sprintf("example.com/resource-%d", i))] = resource.MustParse("1")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			s.Snapshot()
			before := heap()
			pending := boundPod("large", "")
			pending.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
			enlarge(pending)
			s.UpdatePod(pending)
			if n := s.Snapshot().Pending.Len(); n != 1 {
				t.Fatalf("%d pods are pending, want 1", n)
			}
			pending = nil
			taken := heap() - before
			t.Logf("%d KiB", taken>>10)
			if taken > mostForLargePod {
				t.Errorf("the pod takes %d KiB in the state, want at most %d", taken>>10, mostForLargePod>>10)
			}
			s.DeletePod("large")
			s.Snapshot()
			if left := heap() - before; left > 64<<10 {
				t.Errorf("%d KiB are left when the pod is gone", left>>10)
			}
			runtime.KeepAlive(s)
		})
	}
}

// mostForLargePod is what a pod with a spec of a mebibyte may take: one and a half times what was measured.
const mostForLargePod = 5 << 20

// BenchmarkMemory measures the state of the largest cluster that docs/reference/limits.md names, before and after 100 000 events.
func BenchmarkMemory(b *testing.B) {
	f := fleet{nodes: 20_000, podsPerNode: 10, pools: 1000}
	for b.Loop() {
		empty, s := heap(), newStore()
		f.fill(s)
		full := heap() - empty
		f.churn(s, 100_000)
		b.ReportMetric(float64(full)/(1<<20), "MiB")
		b.ReportMetric(float64(heap()-empty)/(1<<20), "MiB-after")
		runtime.KeepAlive(s)
	}
}
