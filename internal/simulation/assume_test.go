package simulation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
)

func poolWith(name, group, class string) *v1.NodePool {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: group, Kind: "KWOKNodeClass", Name: class}
	return pool
}

func TestNodeClassesAreAssumedOnlyWhereNoneIsDescribed(t *testing.T) {
	vendor, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pools := []client.Object{
		poolWith("a", v1alpha1.Group, "two"), poolWith("b", v1alpha1.Group, "one"), poolWith("c", v1alpha1.Group, "two"),
		poolWith("foreign", "example.com", "three"), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "without"}},
	}
	objects, assumed := AssumeNodeClasses(pools, vendor)
	if diff := cmp.Diff([]AssumedClass{{"KWOKNodeClass", "one"}, {"KWOKNodeClass", "two"}}, assumed); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	result, err := Run(t.Context(), objects, vendor, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Problem.Pools) != 3 || len(result.Skipped) != 2 {
		t.Errorf("%d pools are used and %d are not, want 3 and 2", len(result.Problem.Pools), len(result.Skipped))
	}
	described := &v1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	described.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("KWOKNodeClass"))
	if objects, assumed := AssumeNodeClasses(append(pools, described), vendor); len(assumed) != 0 || len(objects) != len(pools)+1 {
		t.Errorf("assumed %v beside a class that is described", assumed)
	}
}

// TestInvalidLabelsAreNotCalledCustom: a NodePool with a restricted label launches no nodes that could have it.
func TestInvalidLabelsAreNotCalledCustom(t *testing.T) {
	vendor, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int{v1alpha1.Group + "/instance-famly": 0, "node.kubernetes.io/instance-typ": 1} {
		pool := poolWith("a", v1alpha1.Group, "one")
		pool.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{"c"}}}
		if got := gather([]client.Object{pool}, vendor, Options{}).poolWarnings(t.Context(), vendor.Provider, time.Time{}); len(got) != want {
			t.Errorf("%s: %q, want %d", key, got, want)
		}
	}
}
