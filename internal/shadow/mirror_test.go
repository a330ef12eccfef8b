package shadow_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/shadow"
)

const adoption = 15 * time.Second

// stage is a real cluster with its mirror, to which changes are applied at once.
type stage struct {
	t        *testing.T
	mirror   *shadow.Mirror
	real     []client.Object
	twins    map[string]client.Object
	now      time.Time
	versions int
}

func newStage(t *testing.T) *stage {
	return &stage{
		t: t, twins: map[string]client.Object{}, now: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
		mirror: shadow.NewMirror(shadow.Settings{
			ProviderID: func(node string) string { return "kwok://" + node },
			NodeClass:  v1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "shadow"}, Adoption: adoption,
		}),
	}
}

func id(o client.Object) string { return fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName()) }

// add adds objects to the real cluster, or changes them.
func (s *stage) add(objects ...client.Object) {
	for _, o := range objects {
		s.versions++
		o.SetResourceVersion(strconv.Itoa(s.versions))
		s.remove(o)
		s.real = append(s.real, o)
	}
}

func (s *stage) remove(objects ...client.Object) {
	for _, o := range objects {
		s.real = slices.DeleteFunc(s.real, func(r client.Object) bool { return id(r) == id(o) })
	}
}

// step lets time pass, takes a step and returns what was written, as verb and name.
func (s *stage) step(after time.Duration) []string {
	s.t.Helper()
	s.now = s.now.Add(after)
	var mirror []client.Object
	for _, o := range s.twins {
		mirror = append(mirror, o)
	}
	var out []string
	for _, c := range s.mirror.Step(shadow.ClusterOf(s.real), shadow.ClusterOf(mirror), s.now) {
		out = append(out, string(c.Verb)+" "+c.Object.GetName())
		key := id(c.Object)
		switch have := s.twins[key]; {
		case c.Verb == shadow.Delete:
			delete(s.twins, key)
		case c.Verb == shadow.Create && have != nil:
			s.t.Errorf("%s exists", key)
		default:
			s.versions++
			c.Object.SetResourceVersion(strconv.Itoa(s.versions))
			s.twins[key] = c.Object
		}
	}
	return out
}

func (s *stage) want(got []string, want ...string) {
	s.t.Helper()
	if !slices.Equal(got, want) {
		s.t.Errorf("written: %q, want %q", got, want)
	}
}

func (s *stage) twinPod(name string) *corev1.Pod {
	s.t.Helper()
	pod, ok := s.twins[id(pod(name, ""))].(*corev1.Pod)
	if !ok {
		s.t.Fatalf("no twin %s", name)
	}
	return pod
}

// pod is one of a ReplicaSet.
func pod(name, node string) *corev1.Pod {
	controls := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs", Controller: &controls}},
		},
		Spec: corev1.PodSpec{
			NodeName: node,
			Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}}},
		},
	}
}

func claimed(name, pool, hash string) (*corev1.Node, *v1.NodeClaim) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.NodePoolLabelKey: pool}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///zone/" + name},
	}
	claim := &v1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-claim", UID: types.UID(name), Labels: map[string]string{v1.NodePoolLabelKey: pool},
			Annotations: map[string]string{v1.NodePoolHashAnnotationKey: hash},
		},
		Spec:   v1.NodeClaimSpec{NodeClassRef: &v1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}},
		Status: v1.NodeClaimStatus{ProviderID: node.Spec.ProviderID, NodeName: name},
	}
	return node, claim
}

func pool(name, hash string) *v1.NodePool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1.NodePoolHashAnnotationKey: hash}}}
	p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}
	return p
}

func TestTheMirrorBeginsWithTheNodesOfTheCluster(t *testing.T) {
	s := newStage(t)
	node, claim := claimed("n1", "default", "a")
	old, oldClaim := claimed("n2", "default", "before-the-edit")
	other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "managed-by-hand"}}
	s.add(pool("default", "a"), node, claim, old, oldClaim, other, pod("a", "n1"), pod("b", "managed-by-hand"), pod("c", ""))
	s.want(s.step(0), "create default", "create managed-by-hand", "create n1-claim", "create n1", "create n2-claim", "create n2", "create a", "create b", "create c")
	for name, on := range map[string]string{"a": "n1", "b": "managed-by-hand", "c": ""} {
		if got := s.twinPod(name).Spec.NodeName; got != on {
			t.Errorf("twin of %s is on %q, want %q", name, got, on)
		}
	}
	twin, _ := s.twins[id(node)].(*corev1.Node)
	twinClaim, _ := s.twins[id(claim)].(*v1.NodeClaim)
	twinPool, _ := s.twins[id(pool("default", ""))].(*v1.NodePool)
	if twin.Spec.ProviderID != "kwok://n1" || twinClaim.Status.ProviderID != "kwok://n1" || twinClaim.Spec.NodeClassRef.Kind != "KWOKNodeClass" {
		t.Errorf("the instance is not that of the simulated cloud: node %q, claim %+v", twin.Spec.ProviderID, twinClaim)
	}
	if got := twinClaim.Annotations[v1.NodePoolHashAnnotationKey]; got != twinPool.Hash() {
		t.Errorf("a NodeClaim that matches its template has the hash %q there, the template %q", got, twinPool.Hash())
	}
	if drifted, _ := s.twins[id(oldClaim)].(*v1.NodeClaim); drifted.Annotations[v1.NodePoolHashAnnotationKey] == twinPool.Hash() {
		t.Error("a NodeClaim that has drifted from its template matches it in the mirror")
	}
	s.want(s.step(time.Second))
}

func TestNodesOfTheStartDoNotComeBack(t *testing.T) {
	s := newStage(t)
	node, claim := claimed("n1", "default", "a")
	s.add(node, claim)
	s.step(0)
	delete(s.twins, id(node))
	delete(s.twins, id(claim))
	later, laterClaim := claimed("n3", "default", "a")
	s.add(later, laterClaim)
	s.want(s.step(time.Minute))
}

func TestATwinStaysForThePodThatReplacesItsOwn(t *testing.T) {
	s := newStage(t)
	s.add(pod("a", ""))
	s.step(0)
	s.twinPod("a").Spec.NodeName = "ours"
	s.remove(pod("a", ""))
	s.want(s.step(time.Second))
	s.add(pod("b", "theirs"))
	s.want(s.step(time.Second))
	s.want(s.step(adoption))
	if got := s.twinPod("a").Spec.NodeName; got != "ours" {
		t.Errorf("the twin is on %q", got)
	}
	s.remove(pod("b", ""))
	s.step(time.Second)
	s.want(s.step(adoption), "delete a")
	s.want(s.step(adoption))
}

func TestAPodWithOtherRequestsIsNoReplacement(t *testing.T) {
	s := newStage(t)
	s.add(pod("a", ""))
	s.step(0)
	s.remove(pod("a", ""))
	larger := pod("b", "")
	larger.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
	s.add(larger)
	s.want(s.step(time.Second), "create b")
	s.want(s.step(adoption), "delete a")
}

func TestAnEvictedTwinWaitsForAnotherPlace(t *testing.T) {
	s := newStage(t)
	node, claim := claimed("n1", "default", "a")
	s.add(node, claim, pod("a", "n1"))
	s.step(0)
	delete(s.twins, id(pod("a", "")))
	s.want(s.step(time.Second)) // its creation may not show yet
	s.want(s.step(time.Minute), "create a")
	if got := s.twinPod("a").Spec.NodeName; got != "" {
		t.Errorf("the twin is bound to %q, which its eviction was to free", got)
	}
}

func TestChangesOfAPodReachItsTwin(t *testing.T) {
	s := newStage(t)
	s.add(pod("a", ""))
	s.step(0)
	protected := pod("a", "")
	protected.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
	s.add(protected)
	s.want(s.step(time.Second), "update a")
	if s.twinPod("a").Annotations[v1.DoNotDisruptAnnotationKey] != "true" {
		t.Error("the twin is not protected")
	}
	resized := protected.DeepCopy()
	resized.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("3")
	s.add(resized)
	s.want(s.step(time.Second), "delete a")
	s.want(s.step(time.Second), "create a")
	if got := s.twinPod("a").Spec.Containers[0].Resources.Requests.Cpu().String(); got != "3" {
		t.Errorf("the twin requests %s", got)
	}
}

func TestABudgetIsStatedAsPods(t *testing.T) {
	s := newStage(t)
	half := intstr.FromString("50%")
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &half},
		Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, ExpectedPods: 10, DesiredHealthy: 5},
	}
	s.add(budget)
	s.want(s.step(0), "create web")
	twin, _ := s.twins[id(budget)].(*policyv1.PodDisruptionBudget)
	if twin.Spec.MaxUnavailable != nil || twin.Spec.MinAvailable.IntValue() != 5 {
		t.Errorf("the budget is %+v", twin.Spec)
	}
	s.remove(budget)
	s.want(s.step(time.Second), "delete web")
	s.want(s.step(time.Second))
}

func TestWhatHasNoTwinIsCounted(t *testing.T) {
	s := newStage(t)
	with := pod("gpu", "")
	with.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
	foreign := pod("batch", "")
	foreign.Spec.SchedulerName = "volcano"
	s.add(with, foreign)
	s.want(s.step(0))
	if left := s.mirror.Left(); left["pods with resource claims"] != 1 || left["pods of other schedulers than default-scheduler"] != 1 {
		t.Errorf("left out: %v", left)
	}
}

func TestOnlyPodsOfTheStartStayWhereTheyAre(t *testing.T) {
	s := newStage(t)
	s.add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "managed-by-hand"}})
	s.step(0)
	s.add(pod("a", "managed-by-hand"))
	s.want(s.step(time.Second), "create a")
	if got := s.twinPod("a").Spec.NodeName; got != "" {
		t.Errorf("a pod that came later is bound to %q, without the scheduler of the mirror", got)
	}
}
