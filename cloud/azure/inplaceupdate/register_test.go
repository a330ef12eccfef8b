package inplaceupdate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

func TestOnlyChangesOfTagsTrigger(t *testing.T) {
	t.Attr("covers", "Z146")
	class := func(change func(*v1beta1.AKSNodeClass)) *v1beta1.AKSNodeClass {
		out := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		out.Spec.Tags = map[string]string{"a": "1"}
		change(out)
		return out
	}
	old := class(func(*v1beta1.AKSNodeClass) {})
	for name, test := range map[string]struct {
		to   *v1beta1.AKSNodeClass
		want bool
	}{
		"nothing":     {class(func(*v1beta1.AKSNodeClass) {}), false},
		"family":      {class(func(c *v1beta1.AKSNodeClass) { c.Spec.ImageFamily = new("AzureLinux") }), false},
		"status":      {class(func(c *v1beta1.AKSNodeClass) { c.Status.KubernetesVersion = "1.34.1" }), false},
		"another tag": {class(func(c *v1beta1.AKSNodeClass) { c.Spec.Tags["b"] = "2" }), true},
		"a value":     {class(func(c *v1beta1.AKSNodeClass) { c.Spec.Tags["a"] = "2" }), true},
		"no tags":     {class(func(c *v1beta1.AKSNodeClass) { c.Spec.Tags = nil }), true},
	} {
		if got := tagChanges().Update(event.UpdateEvent{ObjectOld: old, ObjectNew: test.to}); got != test.want {
			t.Errorf("%s: triggers %t", name, got)
		}
	}
	if !tagChanges().Create(event.CreateEvent{Object: old}) || tagChanges().Delete(event.DeleteEvent{Object: old}) {
		t.Error("new classes must trigger, deleted ones must not")
	}
}

func TestNodeClaimsTriggerAtTheStartAndByGeneration(t *testing.T) {
	claim := func(generation int64, annotation string) *v1.NodeClaim {
		return &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: generation, Annotations: map[string]string{"a": annotation}}}
	}
	on := claimChanges()
	if !on.Create(event.CreateEvent{Object: claim(1, "")}) || !on.Update(event.UpdateEvent{ObjectOld: claim(1, ""), ObjectNew: claim(2, "")}) {
		t.Error("a new NodeClaim and a new generation must trigger")
	}
	if on.Update(event.UpdateEvent{ObjectOld: claim(1, ""), ObjectNew: claim(1, "hash")}) {
		t.Error("an annotation triggers")
	}
}

func TestNodeClaimsOfAClass(t *testing.T) {
	cluster := apiserver.New().Build()
	for name, ref := range map[string]*v1.NodeClassReference{
		"a": {Group: v1beta1.Group, Name: "default"}, "b": {Group: v1beta1.Group, Name: "other"}, "c": {Group: "karpenter.kwok.sh", Name: "default"}, "d": nil,
	} {
		claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		claim.Spec.NodeClassRef = ref
		if err := cluster.Create(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
	c := New(Options{Client: cluster, Manages: func(ref *v1.NodeClassReference) bool { return ref != nil && ref.Group == v1beta1.Group }})
	got := c.claimsOf(t.Context(), &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	if diff := cmp.Diff([]reconcile.Request{{NamespacedName: client.ObjectKey{Name: "a"}}}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
