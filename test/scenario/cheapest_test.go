package scenario

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariorun"
)

// TestTheCheapestSuitableTypeComesFirst requires combinations of architecture, operating system, zone and capacity type of real instance
// types at real prices, by the pod, by the pool, or each by one of them.
func TestTheCheapestSuitableTypeComesFirst(t *testing.T) {
	t.Attr("covers", "L104")
	const (
		arch, system   = corev1.LabelArchStable, corev1.LabelOSStable
		zone, capacity = corev1.LabelTopologyZone, v1.CapacityTypeLabelKey
	)
	ec2 := scenariorun.Clouds(t)("aws/us-east-1")
	for _, wanted := range []map[string]string{
		{arch: "arm64"},
		{arch: "amd64"},
		{zone: "us-east-1b"},
		{capacity: "on-demand"},
		{capacity: "spot"},
		{capacity: "on-demand", zone: "us-east-1a"},
		{capacity: "spot", zone: "us-east-1d"},
		{capacity: "on-demand", arch: "arm64"},
		{capacity: "spot", arch: "arm64"},
		{arch: "arm64", zone: "us-east-1b"},
		{arch: "amd64", zone: "us-east-1c", capacity: "spot"},
		{arch: "amd64", system: "linux", zone: "us-east-1b", capacity: "spot"},
		{arch: "arm64", system: "linux", zone: "us-east-1a", capacity: "on-demand"},
	} {
		for _, by := range []string{"pod", "pool", "both"} {
			t.Run(fmt.Sprint(by, " ", wanted), func(t *testing.T) {
				selector, template := divide(wanted, by)
				name, price := cheapest(t, ec2, wanted)
				result, err := simulation.Run(context.Background(), small(selector, template), ec2, simulation.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if len(result.Plan.NodeClaims) != 1 {
					t.Fatalf("the plan is\n%s", result.Text())
				}
				if got := result.Plan.NodeClaims[0]; math.Abs(got.Price-price) > 1e-9 || !slices.Contains(name, got.InstanceTypes[0]) {
					t.Errorf("%s at $%.5f/h comes first, want %s at $%.5f", got.InstanceTypes[0], got.Price, name, price)
				}
			})
		}
	}
}

// divide gives requirements to the pod, to the pool, or alternately to both.
func divide(wanted map[string]string, by string) (pod, pool map[string]string) {
	pod, pool = map[string]string{}, map[string]string{}
	keys := []string{}
	for key := range wanted {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for i, key := range keys {
		if by == "pod" || by == "both" && i%2 == 0 {
			pod[key] = wanted[key]
		} else {
			pool[key] = wanted[key]
		}
	}
	return pod, pool
}

// small is one pod of a core and a gibibyte, and a pool.
func small(selector, template map[string]string) []client.Object {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1alpha1.Group, Kind: "KWOKNodeClass", Name: "default"}
	for key, value := range template {
		pool.Spec.Template.Spec.Requirements = append(pool.Spec.Template.Spec.Requirements, cloud.In(key, value))
	}
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "default", UID: "one"},
		Spec: corev1.PodSpec{NodeSelector: selector, Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
	class := &v1alpha1.KWOKNodeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.Group + "/v1alpha1", Kind: "KWOKNodeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Status:     v1alpha1.KWOKNodeClassStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}},
	}
	return []client.Object{pool, class, pod}
}

// cheapest returns the types with the cheapest offering that has the wanted labels, by brute force.
func cheapest(t *testing.T, c cloud.Cloud, wanted map[string]string) (names []string, price float64) {
	t.Helper()
	types, err := c.Provider.InstanceTypes(context.Background(), &v1.NodePool{})
	if err != nil {
		t.Fatal(err)
	}
	price = math.Inf(1)
	for _, it := range types {
		room := it.Allocatable()
		if room.Cpu().MilliValue() < 1000 || room.Memory().Value() < 1<<30 {
			continue
		}
		for _, o := range it.Offerings {
			if !o.Available || !has(slices.Concat(o.Requirements, it.Requirements), wanted) || o.Price > price {
				continue
			}
			if o.Price < price {
				names, price = nil, o.Price
			}
			names = append(names, it.Name)
		}
	}
	return names, price
}

// has reports whether the first requirement on every wanted label has the wanted value.
func has(labels []v1.NodeSelectorRequirementWithMinValues, wanted map[string]string) bool {
	for key, value := range wanted {
		i := slices.IndexFunc(labels, func(r v1.NodeSelectorRequirementWithMinValues) bool { return r.Key == key })
		if i < 0 || !strings.Contains(fmt.Sprint(labels[i].Values), value) {
			return false
		}
	}
	return true
}
