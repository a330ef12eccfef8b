package problem

import (
	"context"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// change sets a field of a pod.
type change func(*corev1.Pod)

func ownedBy(apiVersion, kind string) change {
	return func(p *corev1.Pod) {
		p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "owner"})
	}
}

func protectedBy(value string) change {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: value} }
}

func inPhase(phase corev1.PodPhase) change { return func(p *corev1.Pod) { p.Status.Phase = phase } }

func terminating(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)} }

func notReady(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
}

// startedAgo sets the start time of the pod.
func startedAgo(d time.Duration) change {
	return func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: time.Unix(10_000, 0).Add(-d)} }
}

func boundPod(name string, changes ...change) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "a"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, c := range changes {
		c(p)
	}
	return p
}

// fullBudget selects the pods of boundPod and allows no disruption.
func fullBudget(name string, changes ...func(*policyv1.PodDisruptionBudget)) policyv1.PodDisruptionBudget {
	b := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	for _, c := range changes {
		c(&b)
	}
	return b
}

func alwaysAllow(b *policyv1.PodDisruptionBudget) {
	policy := policyv1.AlwaysAllow
	b.Spec.UnhealthyPodEvictionPolicy = &policy
}

func TestPodsThatBlockDisruption(t *testing.T) {
	t.Attr("covers", "C269 C277 C279 C280 C281 C282 C283 C295 C296")
	const protected = `pod has "karpenter.sh/do-not-disrupt" annotation (Pod=shop/p)`
	const blocked = "pdb prevents pod evictions (PodDisruptionBudget=[shop/first])"
	one := []policyv1.PodDisruptionBudget{fullBudget("first")}
	for _, tt := range []struct {
		name    string
		pod     *corev1.Pod
		budgets []policyv1.PodDisruptionBudget
		want    string
	}{
		{"an ordinary pod", boundPod("p"), nil, ""},
		{"a pod that is protected", boundPod("p", protectedBy("true")), nil, protected},
		{"a protected mirror pod", boundPod("p", protectedBy("true"), ownedBy("v1", "Node")), nil, protected},
		{"a protected DaemonSet pod", boundPod("p", protectedBy("true"), ownedBy("apps/v1", "DaemonSet")), nil, protected},
		{"a protected pod that has succeeded", boundPod("p", protectedBy("true"), inPhase(corev1.PodSucceeded)), nil, ""},
		{"a protected pod that has failed", boundPod("p", protectedBy("true"), inPhase(corev1.PodFailed)), nil, ""},
		{"a protected pod that is ending", boundPod("p", protectedBy("true"), terminating), nil, ""},
		{"a duration that runs", boundPod("p", protectedBy("10m"), startedAgo(9*time.Minute)), nil, protected},
		{"a duration that is over", boundPod("p", protectedBy("10m"), startedAgo(10*time.Minute)), nil, ""},
		{"a duration of a pod that has not started", boundPod("p", protectedBy("10m")), nil, protected},
		{"false is no duration", boundPod("p", protectedBy("false"), startedAgo(0)), nil, ""},
		{"a malformed duration", boundPod("p", protectedBy("soon"), startedAgo(0)), nil, ""},
		{"a duration below zero", boundPod("p", protectedBy("-1h"), startedAgo(0)), nil, ""},
		{"a budget that allows nothing", boundPod("p"), one, blocked},
		{"on a DaemonSet pod as well", boundPod("p", ownedBy("apps/v1", "DaemonSet")), one, blocked},
		{"not on a mirror pod", boundPod("p", ownedBy("v1", "Node")), one, ""},
		{"not on a pod that has succeeded", boundPod("p", inPhase(corev1.PodSucceeded)), one, ""},
		{"not on a pod that has failed", boundPod("p", inPhase(corev1.PodFailed)), one, ""},
		{"not on a pod that is ending", boundPod("p", terminating), one, ""},
		{"not from another namespace", boundPod("p"), []policyv1.PodDisruptionBudget{
			fullBudget("first", func(b *policyv1.PodDisruptionBudget) { b.Namespace = "other" }),
		}, ""},
		{"AlwaysAllow lets a pod go that is not ready", boundPod("p", notReady), []policyv1.PodDisruptionBudget{fullBudget("first", alwaysAllow)}, ""},
		{"AlwaysAllow keeps a pod that is ready", boundPod("p"), []policyv1.PodDisruptionBudget{fullBudget("first", alwaysAllow)}, blocked},
		{"without it a pod that is not ready stays", boundPod("p", notReady), one, blocked},
		{
			"two budgets, whatever they allow", boundPod("p"), []policyv1.PodDisruptionBudget{
				fullBudget("first", func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 5 }),
				fullBudget("second", alwaysAllow),
			}, "eviction does not support multiple PDBs (PodDisruptionBudget(s)=[shop/first shop/second])",
		},
		{"annotations come before budgets", boundPod("p", protectedBy("true")), one, protected},
	} {
		t.Run(tt.name, func(t *testing.T) {
			budgets, err := podrules.NewBudgets(tt.budgets)
			if err != nil {
				t.Fatal(err)
			}
			pods := []*corev1.Pod{boundPod("before", ownedBy("v1", "Node")), tt.pod}
			o, found := podObstacle(&model.Node{Name: "a"}, pods, budgets, time.Unix(10_000, 0))
			got := ""
			if found {
				got = o.String()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestTheLongestProtectionCounts checks that the blocking pod is the one whose protection has not expired, at any position.
func TestTheLongestProtectionCounts(t *testing.T) {
	t.Attr("covers", "C297")
	short, long := boundPod("short", protectedBy("5m"), startedAgo(0)), boundPod("long", protectedBy("1h"), startedAgo(0))
	for _, pods := range [][]*corev1.Pod{{short, long}, {long, short}} {
		for _, tt := range []struct {
			after time.Duration
			want  bool
		}{{4 * time.Minute, true}, {6 * time.Minute, true}, {59 * time.Minute, true}, {time.Hour, false}} {
			if _, found := podObstacle(&model.Node{}, pods, podrules.Budgets{}, time.Unix(10_000, 0).Add(tt.after)); found != tt.want {
				t.Errorf("%s first, after %s: blocked %t, want %t", pods[0].Name, tt.after, found, tt.want)
			}
		}
	}
}

func TestDisruptionRules(t *testing.T) {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general"}}
	pool.Spec.Disruption.ConsolidationPolicy = v1.ConsolidationPolicyBalanced
	if got := disruptionRules(pool); !got.ConsolidationDisabled || got.Usable || got.Policy != disrupt.Balanced || got.Static {
		t.Errorf("got %+v", got)
	}
	pool.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(time.Minute)
	if got := disruptionRules(pool); got.ConsolidationDisabled || got.ConsolidateAfter != time.Minute {
		t.Errorf("got %+v", got)
	}
}

// podsOnNodes is a Reader of the pods of nodes only.
type podsOnNodes struct {
	Reader
	pods map[string][]*corev1.Pod
}

func (r podsOnNodes) PodsOn(_ context.Context, node string) ([]*corev1.Pod, error) {
	return r.pods[node], nil
}

// TestPodsThatNodesUnderwayKeep: the nodes of commands under way are no candidates any more, and their pods not among those of candidates.
func TestPodsThatNodesUnderwayKeep(t *testing.T) {
	kept, free := boundPod("kept", protectedBy("true"), ownedBy("apps/v1", "ReplicaSet")), boundPod("free", ownedBy("apps/v1", "ReplicaSet"))
	kept.UID, free.UID = "kept", "free"
	b := Builder{Reader: podsOnNodes{pods: map[string][]*corev1.Pod{"a": {kept, free}}}}
	got, err := b.unevictable(t.Context(), Disruption{
		Now: time.Unix(10_000, 0), Unevictable: map[string]bool{"other": true},
		Underway: []disrupt.Command{{Candidates: []disrupt.Candidate{{Node: &model.Node{NodeName: "a"}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]bool{"kept": true, "other": true}; !maps.Equal(got, want) {
		t.Errorf("pods that may not be moved: %v, want %v", got, want)
	}
}
