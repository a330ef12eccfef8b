package metering

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/podlatency"
)

// harness is a cluster without an API server: objects are shown to the meters as a watch would.
type harness struct {
	*fakecluster.Cluster
	deps  Deps
	nodes *nodes
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	w := fakecluster.New(t)
	d := Deps{Shared: w.Shared, PodLatency: &podlatency.Tracker{}, Buffers: true}
	return &harness{Cluster: w, deps: d, nodes: newNodes(d)}
}

// shown are the series of a family, each as the values of the requested labels and its value, sorted.
func shown(t *testing.T, family prometheus.Collector, labels ...string) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(family)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			values := map[string]string{}
			for _, pair := range m.GetLabel() {
				values[pair.GetName()] = pair.GetValue()
			}
			var line []string
			for _, label := range labels {
				line = append(line, values[label])
			}
			out = append(out, fmt.Sprintf("%s %v", strings.Join(line, "/"), m.GetGauge().GetValue()))
		}
	}
	slices.Sort(out)
	return out
}

// expect compares the series of a family.
func expect(t *testing.T, when string, family prometheus.Collector, labels []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, shown(t, family, labels...)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// labels makes a list of names readable.
func labels(names ...string) []string { return names }

// asking is a pod on a node with these requests and twice the memory as its limit.
func (w *harness) asking(name, node, cpu, memory string, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := w.Pod(name, node)
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: fakecluster.Resources("cpu", cpu, "memory", memory), Limits: fakecluster.Resources("memory", memory),
	}}}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func daemon(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "d"}}
}

func finished(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }

func failed(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

func pending(p *corev1.Pod) { p.Status.Phase, p.Spec.NodeName = corev1.PodPending, "" }

// boundTo binds a pod to a node at a time, readyAt makes it ready.
func boundTo(node string, at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName = node
		p.Status.Conditions = append(p.Status.Conditions, became(corev1.PodScheduled, at))
	}
}

func readyAt(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = append(p.Status.Conditions, became(corev1.PodReady, at))
	}
}

func became(name corev1.PodConditionType, at time.Time) corev1.PodCondition {
	return corev1.PodCondition{Type: name, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}
}

// changed is the pod with changes.
func changed(pod *corev1.Pod, changes ...func(*corev1.Pod)) *corev1.Pod {
	out := pod.DeepCopy()
	for _, change := range changes {
		change(out)
	}
	return out
}

// inPool is a Node as registration leaves it, of a pool and with a type.
func (w *harness) inPool(name string) *corev1.Node {
	node := w.RegisteredNode(name)
	node.Labels[v1.CapacityTypeLabelKey] = "spot"
	node.Labels[corev1.LabelArchStable] = "amd64"
	node.Labels[corev1.LabelInstanceTypeStable] = "small"
	return node
}
