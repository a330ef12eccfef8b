package translate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	coreresource "github.com/karpenter-anew/karpenter/internal/core/resource"
)

func container(cpu, memory string) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}}
}

func sidecar(cpu, memory string) corev1.Container {
	c := container(cpu, memory)
	always := corev1.ContainerRestartPolicyAlways
	c.RestartPolicy = &always
	return c
}

func TestWhatAPodAsksFor(t *testing.T) {
	t.Attr("covers", "L130 L131 L132 L133 L134 L135 L136")
	overhead := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
	for _, c := range []struct {
		name        string
		init, main  []corev1.Container
		change      func(*corev1.PodSpec)
		cpu, memory int64 // in thousandths of a core, and bytes
	}{
		{"containers add up", nil, []corev1.Container{container("1", "1"), container("2", "3")}, nil, 3000, 4},
		{"sidecars add to them", []corev1.Container{sidecar("1", "10")}, []corev1.Container{container("2", "3")}, nil, 3000, 13},
		{"the larger of init and main", []corev1.Container{container("5", "1")}, []corev1.Container{container("2", "3")}, nil, 5000, 3},
		{"init containers run one by one", []corev1.Container{container("5", "1"), container("4", "2")}, []corev1.Container{container("2", "3")}, nil, 5000, 3},
		{"a sidecar before a larger init container", []corev1.Container{sidecar("1", "1"), container("5", "1")}, []corev1.Container{container("2", "1")}, nil, 6000, 2},
		{"a sidecar before a smaller init container", []corev1.Container{sidecar("1", "1"), container("1", "1")}, []corev1.Container{container("2", "1")}, nil, 3000, 2},
		{"a sidecar after a larger init container", []corev1.Container{container("5", "1"), sidecar("1", "1")}, []corev1.Container{container("2", "1")}, nil, 5000, 2},
		{"a sidecar after a smaller init container", []corev1.Container{container("1", "1"), sidecar("1", "1")}, []corev1.Container{container("2", "1")}, nil, 3000, 2},
		{"several interleaved, the last init container decides", []corev1.Container{
			sidecar("1", "1"), container("3", "1"), sidecar("2", "1"), container("3", "1"),
		}, []corev1.Container{container("2", "1")}, nil, 6000, 3},
		{"several interleaved, the first init container decides", []corev1.Container{
			sidecar("1", "1"), container("9", "1"), sidecar("2", "1"), container("3", "1"), sidecar("1", "1"),
		}, []corev1.Container{container("2", "1")}, nil, 10000, 4},
		{"cpu from init, memory from main", []corev1.Container{container("5", "1")}, []corev1.Container{container("1", "9")}, nil, 5000, 9},
		{"memory from init, cpu from main", []corev1.Container{container("1", "9")}, []corev1.Container{container("5", "1")}, nil, 5000, 9},
		{"overhead comes on top of the maximum", []corev1.Container{container("5", "1")}, []corev1.Container{container("1", "9")}, func(s *corev1.PodSpec) {
			s.Overhead = overhead
		}, 5500, 9},
		{"the pod's own request replaces the sum", nil, []corev1.Container{container("1", "1"), container("2", "3")}, func(s *corev1.PodSpec) {
			s.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}}
		}, 8000, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: c.init, Containers: c.main}}
			if c.change != nil {
				c.change(&pod.Spec)
			}
			got := New(v1.CoreLabelRules()).Pod(pod).Shape.Requests
			if got.At(coreresource.CPU) != c.cpu || got.At(coreresource.Memory) != c.memory || got.At(coreresource.Pods) != 1 {
				t.Errorf("it asks for %d cpu, %d memory, %d pods; want %d, %d, 1",
					got.At(coreresource.CPU), got.At(coreresource.Memory), got.At(coreresource.Pods), c.cpu, c.memory)
			}
		})
	}
}

// TestTaintsThatCount checks which taints of a node count in each phase of its life.
func TestTaintsThatCount(t *testing.T) {
	t.Attr("covers", "L168 L171")
	taint := func(key string, effect corev1.TaintEffect) corev1.Taint {
		return corev1.Taint{Key: key, Effect: effect}
	}
	lasting := taint("example.com/dedicated", corev1.TaintEffectNoSchedule)
	startup := taint("example.com/boot", corev1.TaintEffectNoSchedule)
	for _, c := range []struct {
		name   string
		taint  corev1.Taint
		counts bool // while the node is starting
	}{
		{"not ready", taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule), false},
		{"not ready, evicting", taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute), false},
		{"unreachable", taint(corev1.TaintNodeUnreachable, corev1.TaintEffectNoSchedule), false},
		{"uninitialized by the cloud", taint("node.cloudprovider.kubernetes.io/uninitialized", corev1.TaintEffectNoSchedule), false},
		{"unregistered", taint(v1.UnregisteredTaintKey, corev1.TaintEffectNoExecute), false},
		{"a startup taint", startup, false},
		{"a startup taint of another effect", taint(startup.Key, corev1.TaintEffectNoExecute), true},
		{"a lasting taint", lasting, true},
		{"unschedulable", taint(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule), true},
		{"readiness", taint("readiness.k8s.io/network", corev1.TaintEffectNoSchedule), false},
		{"readiness with another effect", taint("readiness.k8s.io/x", corev1.TaintEffectNoExecute), false},
		{"readiness, soft", taint("readiness.k8s.io/x", corev1.TaintEffectPreferNoSchedule), false},
		{"readiness inside the key", taint("example.com/readiness.k8s.io", corev1.TaintEffectNoSchedule), true},
		{"readiness of a subdomain", taint("x.readiness.k8s.io/network", corev1.TaintEffectNoSchedule), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{c.taint}}}
			node.Labels = map[string]string{v1.NodeRegisteredLabelKey: "true"}
			claim := &v1.NodeClaim{Spec: v1.NodeClaimSpec{StartupTaints: []corev1.Taint{startup}}}
			starting := New(v1.CoreLabelRules()).Node("id", node, claim)
			expectTaints(t, "while it starts", starting, c.counts)
			started := node.DeepCopy()
			started.Labels[v1.NodeInitializedLabelKey] = "true"
			expectTaints(t, "once it has started", New(v1.CoreLabelRules()).Node("id", started, claim), true)
			expectTaints(t, "on a node of others", New(v1.CoreLabelRules()).Node("id", &corev1.Node{Spec: node.Spec}, nil), true)
		})
	}
}

func expectTaints(t *testing.T, when string, n *model.Node, counts bool) {
	t.Helper()
	if (len(n.Taints) == 1) != counts {
		t.Errorf("%s: taints %v count, want that: %v", when, n.Taints, counts)
	}
}
