package simulation

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
)

func TestWorkload(t *testing.T) {
	is := true
	for _, c := range []struct {
		want string
		meta metav1.ObjectMeta
	}{
		{"alone", metav1.ObjectMeta{Name: "alone", Namespace: "default"}},
		{"kube-system/alone", metav1.ObjectMeta{Name: "alone", Namespace: "kube-system"}},
		{"web", metav1.ObjectMeta{
			Name: "web-7d-x", Namespace: "default", Labels: map[string]string{"pod-template-hash": "7d"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-7d", Controller: &is}},
		}},
		{"db", metav1.ObjectMeta{
			Name: "db-0", Namespace: "default",
			OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "db", Controller: &is}},
		}},
	} {
		if got := Workload(&corev1.Pod{ObjectMeta: c.meta}); got != c.want {
			t.Errorf("pod %s belongs to %q, want %q", c.meta.Name, got, c.want)
		}
	}
}

// closedShop fails to list instance types for one pool and lists none for the others.
type closedShop struct{ cloud.Provider }

func (closedShop) InstanceTypes(_ context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	if pool.Name == "failing" {
		return nil, errors.New("the API of the cloud is down")
	}
	return nil, nil
}

func TestPoolsWithoutInstanceTypesAreSkippedWithTheReason(t *testing.T) {
	t.Attr("covers", "L200")
	c := cloud.Cloud{
		Name:        "closed",
		Provider:    closedShop{},
		Labels:      v1.CoreLabelRules(),
		NodeClasses: []cloud.NodeClass{{GVK: schema.GroupVersionKind{Group: v1alpha1.Group, Kind: "KWOKNodeClass"}}},
	}
	class := &v1alpha1.KWOKNodeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "KWOKNodeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Status:     v1alpha1.KWOKNodeClassStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}},
	}
	objects := []client.Object{class}
	for _, name := range []string{"failing", "empty"} {
		pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
		pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1alpha1.Group, Kind: "KWOKNodeClass", Name: "default"}
		objects = append(objects, pool)
	}
	result, err := Run(context.Background(), objects, c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "skip empty: the cloud lists no instance types for it\nskip failing: the API of the cloud is down\ntotal 0 nodes, $0.0000/h\n"
	if got := result.Text(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, objects, c, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run ends with %v", err)
	}
}

// TestUnreadableBudgetsAreIgnored: as the controller does, a run ignores a PodDisruptionBudget that cannot be read, and warns.
func TestUnreadableBudgetsAreIgnored(t *testing.T) {
	vendor, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		t.Fatal(err)
	}
	going := metav1.Now()
	name := metav1.ObjectMeta{
		Name: "going", Labels: map[string]string{v1.NodePoolLabelKey: "default", v1alpha1.Group + "/kwoknodeclass": "default", v1.NodeInitializedLabelKey: "true"},
		DeletionTimestamp: &going, Finalizers: []string{v1.TerminationFinalizer},
	}
	claim := &v1.NodeClaim{ObjectMeta: name, Status: v1.NodeClaimStatus{NodeName: "going", ProviderID: "kwok://going"}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1alpha1.Group, Kind: "KWOKNodeClass", Name: "default"}
	unreadable := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "odd", Namespace: "default"}}
	unreadable.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}
	objects := []client.Object{
		claim,
		&corev1.Node{ObjectMeta: name, Spec: corev1.NodeSpec{ProviderID: "kwok://going"}},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "moves", Namespace: "default", UID: "moves", OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "r", Controller: new(true)}}},
			Spec:       corev1.PodSpec{NodeName: "going"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
		},
		unreadable,
	}
	result, err := Run(t.Context(), objects, vendor, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Problem.Pods) != 1 || result.Warning == nil {
		t.Errorf("%d pods to place, warning %v; want the pod of the node being deleted, and a warning", len(result.Problem.Pods), result.Warning)
	}
	// A protective budget that cannot be read matters before its nodes are deleted, too.
	if result, err = Run(t.Context(), []client.Object{unreadable}, vendor, Options{}); err != nil || result.Warning == nil {
		t.Errorf("warning %v, error %v; want a warning", result.Warning, err)
	}
}

// TestOperationsPoliciesAreNotConsidered: without the feature gate, the result says so.
func TestOperationsPoliciesAreNotConsidered(t *testing.T) {
	w := &clusterObjects{}
	w.add(&opsv1alpha1.OperationsPolicy{ObjectMeta: metav1.ObjectMeta{Name: "nights"}})
	want := []string{`OperationsPolicy "nights" is not considered: the feature gate OperationsPolicy is off`}
	if got := w.policyWarnings(Options{}); !slices.Equal(got, want) {
		t.Errorf("notes %q, want %q", got, want)
	}
	if got := w.considered(Options{}); got != nil {
		t.Errorf("%d policies count, want none", len(got))
	}
	if got := w.policyWarnings(Options{OperationsPolicies: true}); got != nil {
		t.Errorf("notes %q with the feature gate, want none", got)
	}
}
