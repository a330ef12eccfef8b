package translate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// TestAStaticClaimIsItsTemplate compares every field of the template with the claim.
func TestAStaticClaimIsItsTemplate(t *testing.T) {
	t.Attr("covers", "L352")
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "fixed", UID: "pool-uid"}}
	pool.Spec.Replicas = new(int64(3))
	pool.Spec.Template = v1.NodeClaimTemplate{
		ObjectMeta: v1.ObjectMeta{
			Labels:      map[string]string{"team": "search"},
			Annotations: map[string]string{"note": "kept"},
		},
		Spec: v1.NodeClaimTemplateSpec{
			NodeClassRef: &v1.NodeClassReference{Group: "test.sh", Kind: "Class", Name: "default"},
			Requirements: []v1.NodeSelectorRequirementWithMinValues{
				{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"b", "a"}},
				{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: new(2)},
				{Key: "tier", Operator: corev1.NodeSelectorOpIn, Values: []string{"gold"}},
				{Key: "absent", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"x"}},
			},
			Taints:                 []corev1.Taint{{Key: "own", Effect: corev1.TaintEffectNoSchedule}},
			StartupTaints:          []corev1.Taint{{Key: "boot", Effect: corev1.TaintEffectNoSchedule}},
			TerminationGracePeriod: &metav1.Duration{Duration: time.Hour},
			ExpireAfter:            v1.NewNillableDuration(24 * time.Hour),
		},
	}
	got := New(v1.CoreLabelRules()).StaticNodeClaim(pool, nil)

	wantMeta := metav1.ObjectMeta{
		GenerateName: "fixed-",
		Labels: map[string]string{
			"team": "search", "tier": "gold", v1.NodePoolLabelKey: "fixed", "test.sh/class": "default",
		},
		Annotations: map[string]string{
			"note": "kept", v1.NodePoolHashAnnotationKey: pool.Hash(), v1.NodePoolHashVersionAnnotationKey: v1.NodePoolHashVersion,
		},
		Finalizers: []string{v1.TerminationFinalizer},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "fixed", UID: "pool-uid", BlockOwnerDeletion: new(true),
		}},
	}
	if diff := cmp.Diff(wantMeta, got.ObjectMeta); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	in := func(key string, values ...string) v1.NodeSelectorRequirementWithMinValues {
		return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	want := v1.NodeClaimSpec{
		NodeClassRef: pool.Spec.Template.Spec.NodeClassRef,
		Requirements: []v1.NodeSelectorRequirementWithMinValues{
			{Key: "absent", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"x"}},
			in(v1.NodePoolLabelKey, "fixed"),
			{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: new(2)},
			in("team", "search"), in("test.sh/class", "default"), in("tier", "gold"),
			in(corev1.LabelTopologyZone, "a", "b"),
		},
		Taints:                 pool.Spec.Template.Spec.Taints,
		StartupTaints:          pool.Spec.Template.Spec.StartupTaints,
		TerminationGracePeriod: pool.Spec.Template.Spec.TerminationGracePeriod,
		ExpireAfter:            pool.Spec.Template.Spec.ExpireAfter,
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func TestAStaticClaimTakesTheDefaultGracePeriodOnlyWithoutItsOwn(t *testing.T) {
	pool := &v1.NodePool{}
	fallback := &metav1.Duration{Duration: time.Minute}
	if got := New(v1.CoreLabelRules()).StaticNodeClaim(pool, fallback).Spec.TerminationGracePeriod; got != fallback {
		t.Errorf("grace period %v, want the default", got)
	}
	pool.Spec.Template.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour}
	if got := New(v1.CoreLabelRules()).StaticNodeClaim(pool, fallback).Spec.TerminationGracePeriod; got.Duration != time.Hour {
		t.Errorf("grace period %v, want the template's", got)
	}
}

func TestTheGracePeriodOfAClaim(t *testing.T) {
	t.Attr("covers", "L217")
	hour, minute := &metav1.Duration{Duration: time.Hour}, &metav1.Duration{Duration: time.Minute}
	for name, c := range map[string]struct{ pool, provider, want *metav1.Duration }{
		"that of the pool":     {hour, minute, hour},
		"that of the provider": {nil, minute, minute},
		"none":                 {nil, nil, nil},
	} {
		pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
		pool.Spec.Template.Spec.TerminationGracePeriod = c.pool
		got := New(v1.CoreLabelRules()).NodeClaim(pool, solve.NodeClaim{Pool: "p"}, c.provider).Spec.TerminationGracePeriod
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
