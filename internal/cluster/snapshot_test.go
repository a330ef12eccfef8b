package cluster

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	coreresource "github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
	"github.com/karpenter-anew/karpenter/internal/cost"
)

// see returns the node with that ID in a new snapshot, or nil.
func see(s *Store, id string) *model.Node {
	n, _ := s.Snapshot().Nodes.Get(id)
	return n
}

func unbound(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.NodeName = ""
	return pod
}

func going(meta *metav1.ObjectMeta) { meta.DeletionTimestamp = &metav1.Time{Time: time.Now()} }

func TestPodsThatAreNotBoundOrAtAnEndDoNotCount(t *testing.T) {
	t.Attr("covers", "L372")
	s := newStore()
	s.UpdateNode(node("n", ""))
	s.UpdatePod(unbound(boundPod("unbound", "")))
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		ended := boundPod("ended-"+string(phase), "n")
		ended.Status.Phase = phase
		s.UpdatePod(ended)
	}
	if n := see(s, "node/n"); len(n.Pods) != 0 || n.Used.At(coreresource.CPU) != 0 {
		t.Errorf("%d pods count", len(n.Pods))
	}
	s.UpdatePod(boundPod("unbound", "n"))
	if n := see(s, "node/n"); len(n.Pods) != 1 || n.Used.At(coreresource.CPU) != 1000 {
		t.Errorf("the pod that was bound does not count: %v", n.Used)
	}
}

func TestAddingAndRemovingLeavesExactSums(t *testing.T) {
	t.Attr("covers", "L374")
	s := newStore()
	s.UpdateNode(node("n", ""))
	s.UpdatePod(boundPod("stays", "n"))
	for i := range 1000 {
		name := fmt.Sprint("p", i%7)
		p := boundPod(name, "n")
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("100m")
		s.UpdatePod(p)
		if i%3 == 0 {
			s.UpdatePod(p)
		}
		if i%5 == 0 {
			s.Snapshot()
		}
		s.DeletePod(name)
	}
	if n := see(s, "node/n"); len(n.Pods) != 1 || n.Used.At(coreresource.CPU) != 1000 || n.Used.At(coreresource.Pods) != 1 {
		t.Errorf("%d pods use %v, want one that uses one core", len(n.Pods), n.Used)
	}
}

func TestDaemonsAreSummedForThemselves(t *testing.T) {
	t.Attr("covers", "L375")
	s := newStore()
	s.UpdateNode(node("n", ""))
	s.UpdatePod(boundPod("web", "n"))
	daemon := daemonPod("agent-1", "set", "2", 0)
	daemon.Spec.NodeName = "n"
	s.UpdatePod(daemon)
	if n := see(s, "node/n"); n.Used.At(coreresource.CPU) != 3000 || n.UsedByDaemons.At(coreresource.CPU) != 2000 {
		t.Errorf("used %v, by daemons %v; want 3 cores and 2", n.Used, n.UsedByDaemons)
	}
	s.DeletePod("agent-1")
	if n := see(s, "node/n"); n.Used.At(coreresource.CPU) != 1000 || n.UsedByDaemons.At(coreresource.CPU) != 0 {
		t.Errorf("used %v, by daemons %v; want 1 core and none", n.Used, n.UsedByDaemons)
	}
}

func TestWhatIsDeletedIsForgotten(t *testing.T) {
	t.Attr("covers", "L376")
	for name, apply := range map[string]func(*Store){
		"a node": func(s *Store) {
			s.UpdateNode(node("a", "test://1"))
			s.DeleteNode("a")
		},
		"a claim": func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.DeleteNodeClaim("a")
		},
		"claim and node of one name, node first": func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.UpdateNode(node("a", "test://1"))
			s.DeleteNode("a")
			s.DeleteNodeClaim("a")
		},
		"claim and node of one name, claim first": func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.UpdateNode(node("a", "test://1"))
			s.DeleteNodeClaim("a")
			s.DeleteNode("a")
		},
		"claim and node of one name with different provider IDs": func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.UpdateNode(node("a", "test://2"))
			s.DeleteNode("a")
			s.DeleteNodeClaim("a")
		},
		"a node that was known by its name": func(s *Store) {
			s.UpdateNode(node("a", ""))
			s.UpdateNode(node("a", "test://1"))
			s.DeleteNode("a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			apply(s)
			if got := s.Snapshot().Nodes.Len(); got != 0 || len(s.entries)+len(s.nodeEntry)+len(s.claimEntry)+len(s.Pools.claims)+len(s.Pools.poolOf)+len(s.poolNodes) != 0 {
				t.Errorf("%d nodes, %d entries, %d and %d names, %d pools are left", got, len(s.entries), len(s.nodeEntry), len(s.claimEntry), len(s.Pools.claims)+len(s.poolNodes))
			}
		})
	}
	s := newStore()
	s.UpdateNodeClaim(claim("a", "test://1"))
	s.UpdateNode(node("a", "test://1"))
	s.DeleteNode("a")
	if n := see(s, "test://1"); n == nil || n.NodeName != "" || n.ClaimName != "a" {
		t.Errorf("the claim went with its node: %+v", n)
	}
}

func TestWhatIsBeingDeletedCountsAsGoing(t *testing.T) {
	t.Attr("covers", "L377")
	s := newStore()
	unmanaged, ours := node("unmanaged", ""), node("ours", "test://1")
	going(&unmanaged.ObjectMeta)
	going(&ours.ObjectMeta)
	s.UpdateNode(unmanaged)
	s.UpdateNode(ours)
	s.UpdateNodeClaim(claim("ours", "test://1"))
	if !see(s, "node/unmanaged").Deleting {
		t.Error("a node of others that is being deleted is not going")
	}
	if see(s, "test://1").Deleting {
		t.Error("a managed node goes with its claim, not before")
	}
	s.UpdateNodeClaim(goingClaim("ours", "test://1"))
	if !see(s, "test://1").Deleting {
		t.Error("a claim that is being deleted is not going")
	}
}

func TestNominationsCanBeProlonged(t *testing.T) {
	t.Attr("covers", "L378")
	s, soon := newStore(), time.Now().Add(20*time.Second)
	s.UpdateNode(node("n", ""))
	s.Nominate(soon, "node/n")
	s.Nominate(soon.Add(-time.Second), "node/n")
	if got := see(s, "node/n").NominatedUntil; got != soon.UnixNano() {
		t.Errorf("nominated until %v, want %v: a shorter nomination takes nothing away", got, soon.UnixNano())
	}
	s.Nominate(soon.Add(time.Minute), "node/n")
	if got := see(s, "node/n").NominatedUntil; got != soon.Add(time.Minute).UnixNano() {
		t.Errorf("the nomination was not prolonged: %v", got)
	}
}

func TestOnlyRequiredAntiAffinityIsIndexed(t *testing.T) {
	t.Attr("covers", "L380")
	s := newStore()
	s.UpdateNode(node("n", ""))
	apart := func(name string, required bool) *corev1.Pod {
		p := boundPod(name, "n")
		term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{}}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
		if required {
			p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{term}
		} else {
			p.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}}
		}
		return p
	}
	s.UpdatePod(apart("must", true))
	s.UpdatePod(apart("preferred", false))
	s.UpdatePod(unbound(apart("unbound", true)))
	s.UpdatePod(boundPod("plain", "n"))
	if guarded := see(s, "node/n").AntiAffinityPods; len(guarded) != 1 || guarded[0].Name != "must" {
		t.Errorf("guarded by %v, want the bound pod that requires it", guarded)
	}
	s.DeletePod("must")
	if guarded := see(s, "node/n").AntiAffinityPods; len(guarded) != 0 {
		t.Errorf("guarded by %v after the pod is gone", guarded)
	}
}

func TestVolumesAndHostPortsSurviveUpdates(t *testing.T) {
	t.Attr("covers", "L386")
	s := newStore()
	pod := boundPod("p", "n")
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	check := func(when string) {
		t.Helper()
		n := see(s, "test://1")
		if len(n.Pods) != 1 || len(n.Pods[0].Shape.HostPorts) != 1 || len(n.Pods[0].Attachments()) != 1 ||
			n.Pods[0].Attachments()[0] != (volume.Attachment{Driver: "csi.test", Claim: "default/data"}) {
			t.Errorf("%s: pods %+v", when, n.Pods)
		}
	}
	s.Volumes.UpdateVolumeClaim(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv"},
	})
	s.Volumes.UpdateVolume(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.test"}},
	}})
	s.UpdatePod(pod)
	s.UpdateNode(node("n", "test://1"))
	check("once the node is known")
	s.UpdateNodeClaim(claim("a", "test://1"))
	s.UpdateNodeClaim(claim("a", "test://1"))
	check("after the claim was updated")
	s.UpdateNode(node("n", "test://1"))
	s.UpdatePod(pod)
	s.UpdatePod(pod)
	check("after node and pod were shown again")
}

func TestWhatAPodCostsSurvivesUpdatesOfTheClaim(t *testing.T) {
	t.Attr("covers", "L395 W001")
	s := newStore()
	pod := boundPod("p", "n")
	pod.Annotations = map[string]string{"controller.kubernetes.io/pod-deletion-cost": fmt.Sprint(1 << 27)}
	s.UpdatePod(pod)
	s.UpdateNode(node("n", "test://1"))
	s.UpdateNodeClaim(claim("a", "test://1"))
	s.Snapshot()
	s.UpdateNodeClaim(claim("a", "test://1"))
	if got := see(s, "test://1").Pods[0].EvictionCost; got != 2 {
		t.Errorf("evicting the pod costs %v, want 2", got)
	}
}

func TestANodeCountsAsOneInEveryPhase(t *testing.T) {
	t.Attr("covers", "L392")
	s := newStore()
	initialized := node("n", "test://1")
	initialized.Labels[v1.NodeRegisteredLabelKey], initialized.Labels[v1.NodeInitializedLabelKey] = "true", "true"
	for _, step := range []struct {
		phase string
		id    string
		take  func()
	}{
		{"asked for", "nodeclaim/a", func() { s.UpdateNodeClaim(claim("a", "")) }},
		{"launched", "test://1", func() { s.UpdateNodeClaim(claim("a", "test://1")) }},
		{"joined", "test://1", func() { s.UpdateNode(node("n", "test://1")) }},
		{"initialized", "test://1", func() { s.UpdateNode(initialized) }},
		{"unmanaged", "node/m", func() { s.UpdateNode(node("m", "")) }},
	} {
		step.take()
		if got := see(s, step.id).Capacity.At(coreresource.Nodes); got != 1 {
			t.Errorf("%s: it counts as %d nodes", step.phase, got)
		}
	}
}

// TestEstimatedCapacityCountsUntilTheNodeReportsIt checks the usage of a pool at each phase of the life of one node.
func TestEstimatedCapacityCountsUntilTheNodeReportsIt(t *testing.T) {
	t.Attr("covers", "C173")
	s := newStore()
	f := NewWatcher(s, clock.RealClock{})
	close(f.ready)
	small, initialized := node("n", "test://1"), node("n", "test://1")
	delete(small.Status.Capacity, corev1.ResourceCPU)
	initialized.Status.Capacity[corev1.ResourceCPU] = resource.MustParse("6")
	initialized.Labels[v1.NodePoolLabelKey] = "default"
	initialized.Labels[v1.NodeRegisteredLabelKey], initialized.Labels[v1.NodeInitializedLabelKey] = "true", "true"
	for _, step := range []struct {
		phase string
		take  func()
		want  int64
	}{
		{"launched", func() { s.UpdateNodeClaim(claim("a", "test://1")) }, 8},
		{"joined, saying nothing yet", func() { s.UpdateNode(small) }, 8},
		{"initialized with less", func() { s.UpdateNode(initialized) }, 6},
	} {
		step.take()
		usage, _ := NewUsage(s, f).PoolUsage("default")
		if cpu := usage[corev1.ResourceCPU]; cpu.Value() != step.want {
			t.Errorf("%s: %v cores, want %d", step.phase, cpu.Value(), step.want)
		}
	}
}

// TestSumsByPool checks the usage of pools after every kind of change.
func TestSumsByPool(t *testing.T) {
	t.Attr("covers", "C174 L389")
	of := func(pool string, c *v1.NodeClaim) *v1.NodeClaim {
		c.Labels = map[string]string{v1.NodePoolLabelKey: pool}
		return c
	}
	for name, c := range map[string]struct {
		apply func(*Store)
		want  map[string]int64 // cores by pool; every node has eight, a planned one two
	}{
		"several pools": {func(s *Store) {
			s.UpdateNodeClaim(of("x", claim("a", "test://1")))
			s.UpdateNodeClaim(of("x", claim("b", "test://2")))
			s.UpdateNodeClaim(of("y", claim("c", "test://3")))
		}, map[string]int64{"x": 16, "y": 8}},
		"a claim that is not launched": {func(s *Store) { s.UpdateNodeClaim(of("x", claim("a", ""))) }, map[string]int64{"x": 2}},
		"a claim that moves to another pool": {func(s *Store) {
			s.UpdateNodeClaim(of("x", claim("a", "test://1")))
			s.Snapshot()
			s.UpdateNodeClaim(of("y", claim("a", "test://1")))
		}, map[string]int64{"y": 8}},
		"a provider id that changes": {func(s *Store) {
			s.UpdateNodeClaim(of("x", claim("a", "test://1")))
			s.Snapshot()
			s.UpdateNodeClaim(of("x", claim("a", "test://2")))
		}, map[string]int64{"x": 8}},
		"claim and node count once": {func(s *Store) {
			s.UpdateNodeClaim(of("x", claim("a", "test://1")))
			s.UpdateNode(node("n", "test://1"))
		}, map[string]int64{"x": 8}},
		"the node goes, the claim stays": {func(s *Store) {
			s.UpdateNodeClaim(of("x", claim("a", "test://1")))
			s.UpdateNode(node("n", "test://1"))
			s.DeleteNode("n")
		}, map[string]int64{"x": 8}},
		"the claim goes": {func(s *Store) {
			s.UpdateNodeClaim(of("x", claim("a", "test://1")))
			s.UpdateNodeClaim(of("x", claim("b", "test://2")))
			s.DeleteNodeClaim("a")
		}, map[string]int64{"x": 8}},
		"a claim that is being deleted": {func(s *Store) { s.UpdateNodeClaim(of("x", goingClaim("a", "test://1"))) }, nil},
		"marked": {func(s *Store) {
			s.UpdateNodeClaim(of("x", claim("a", "test://1")))
			s.Mark("test://1")
			s.Mark("test://1")
		}, nil},
		"marked, and then deleted: subtracted once": {func(s *Store) {
			s.UpdateNodeClaim(of("x", claim("a", "test://1")))
			s.UpdateNodeClaim(of("x", claim("b", "test://2")))
			s.Mark("test://1")
			s.UpdateNodeClaim(of("x", goingClaim("a", "test://1")))
			s.DeleteNodeClaim("a")
		}, map[string]int64{"x": 8}},
		"unmarked again": {func(s *Store) {
			s.UpdateNodeClaim(of("x", claim("a", "test://1")))
			s.Mark("test://1")
			s.Snapshot()
			s.Unmark("test://1")
		}, map[string]int64{"x": 8}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			f := NewWatcher(s, clock.RealClock{})
			close(f.ready)
			c.apply(s)
			got := map[string]int64{}
			for _, pool := range []string{"x", "y"} {
				usage, ok := NewUsage(s, f).PoolUsage(pool)
				if !ok {
					t.Fatal("not ready")
				}
				if cpu := usage[corev1.ResourceCPU]; !cpu.IsZero() {
					got[pool] = cpu.Value()
				}
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("usage %v, want %v", got, c.want)
			}
		})
	}
}

func TestPurchases(t *testing.T) {
	t.Attr("covers", "L397")
	s := newStore()
	f := NewWatcher(s, clock.RealClock{})
	u := NewUsage(s, f)
	if _, ok := u.Purchases(); ok {
		t.Error("reported from incomplete cluster state")
	}
	close(f.ready)
	launched := claim("a", "test://1")
	launched.Labels[corev1.LabelInstanceTypeStable], launched.Labels[corev1.LabelTopologyZone], launched.Labels[v1.CapacityTypeLabelKey] = "m", "z", "spot"
	s.UpdateNodeClaim(launched)
	s.UpdateNodeClaim(launched) // shown twice
	s.UpdateNodeClaim(claim("b", ""))
	s.UpdateNode(node("unmanaged", ""))
	ofA := cost.Offering{InstanceType: "m", Zone: "z", CapacityType: "spot"}
	if got, _ := u.Purchases(); len(got) != 1 || !slices.Contains(got["default"], ofA) || len(got["default"]) != 2 || got["default"][0].Complete() == got["default"][1].Complete() {
		t.Errorf("bought %v, want one launched node and one that is not launched yet", got)
	}
	s.Mark("test://1")
	if got, _ := u.Purchases(); !slices.Contains(got["default"], ofA) {
		t.Error("a node that is being deleted costs nothing")
	}
	s.DeleteNodeClaim("a")
	s.DeleteNodeClaim("b")
	if got, _ := u.Purchases(); len(got) != 0 {
		t.Errorf("bought %v after the claims are gone", got)
	}
}

// TestUsageOfNodesThatReportTooMuch: amounts whose sum does not fit into 64 bits stay above the limit of their pool.
func TestUsageOfNodesThatReportTooMuch(t *testing.T) {
	s := newStore()
	f := NewWatcher(s, clock.RealClock{})
	close(f.ready)
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		c := claim(id, "test://"+id)
		c.Labels = map[string]string{v1.NodePoolLabelKey: "default"}
		c.Status.Capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4611686018427387904"), corev1.ResourceMemory: resource.MustParse("4611686018427387904"),
		}
		s.UpdateNodeClaim(c)
	}
	usage, _ := NewUsage(s, f).PoolUsage("default")
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		limits := v1.Limits{name: resource.MustParse("1000")}
		if limits.Exceeded(usage) != name {
			used := usage[name]
			t.Errorf("the pool uses %s of %s, which is not more than 1000", used.String(), name)
		}
	}
}
