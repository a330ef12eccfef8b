package overlay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/overlay"
)

// instanceType returns an instance type in zones a and b, on demand for 1 and spot for 0.5.
func instanceType(name string) *cloud.InstanceType {
	out := &cloud.InstanceType{
		Name: name,
		Requirements: []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(corev1.LabelInstanceTypeStable, name),
			cloud.In(corev1.LabelArchStable, "amd64"),
			cloud.In(corev1.LabelTopologyZone, "a", "b"),
			cloud.In(v1.CapacityTypeLabelKey, "on-demand", "spot"),
			cloud.DoesNotExist("example.com/reservation"),
		},
		Capacity: resources("cpu", "4", "example.com/disk", "1"),
		Overhead: resources("cpu", "100m"),
	}
	for _, zone := range []string{"a", "b"} {
		for capacityType, price := range map[string]float64{"on-demand": 1, "spot": 0.5} {
			out.Offerings = append(out.Offerings, cloud.Offering{
				Requirements: []v1.NodeSelectorRequirementWithMinValues{
					cloud.In(corev1.LabelTopologyZone, zone), cloud.In(v1.CapacityTypeLabelKey, capacityType),
				},
				Price: price, Available: true,
			})
		}
	}
	slices.SortFunc(out.Offerings, func(a, b cloud.Offering) int { return strings.Compare(way(a), way(b)) })
	return out
}

// way is how tests name an offering: zone and capacity type.
func way(o cloud.Offering) string { return o.Zone() + "/" + o.CapacityType() }

func resources(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

// pool is a pool that lists the types.
func pool(name string, labels map[string]string, types ...*cloud.InstanceType) overlay.Pool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Template.Labels = labels
	return overlay.Pool{NodePool: p, Types: types}
}

// part sets a field of an overlay.
type part func(*v1alpha1.NodeOverlay)

func named(name string, parts ...part) *v1alpha1.NodeOverlay {
	out := &v1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, say := range parts {
		say(out)
	}
	return out
}

func weight(n int32) part  { return func(o *v1alpha1.NodeOverlay) { o.Spec.Weight = &n } }
func price(p string) part  { return func(o *v1alpha1.NodeOverlay) { o.Spec.Price = &p } }
func adjust(p string) part { return func(o *v1alpha1.NodeOverlay) { o.Spec.PriceAdjustment = &p } }

func capacity(pairs ...string) part {
	return func(o *v1alpha1.NodeOverlay) { o.Spec.Capacity = resources(pairs...) }
}

func where(key string, operator corev1.NodeSelectorOperator, values ...string) part {
	return func(o *v1alpha1.NodeOverlay) {
		o.Spec.Requirements = append(o.Spec.Requirements, v1alpha1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values})
	}
}

func in(key string, values ...string) part { return where(key, corev1.NodeSelectorOpIn, values...) }
func zone(zones ...string) part            { return in(corev1.LabelTopologyZone, zones...) }
func capacityType(types ...string) part    { return in(v1.CapacityTypeLabelKey, types...) }
func typed(names ...string) part           { return in(corev1.LabelInstanceTypeStable, names...) }
func inPool(names ...string) part          { return in(v1.NodePoolLabelKey, names...) }

// outcome is the result of an evaluation.
type outcome struct {
	corrections *overlay.Corrections
	verdicts    map[string]string
	pools       []overlay.Pool
}

func evaluate(t *testing.T, overlays []*v1alpha1.NodeOverlay, pools ...overlay.Pool) outcome {
	t.Helper()
	before := contents(pools)
	corrections, verdicts := overlay.Evaluate(overlays, pools, v1.CoreLabelRules())
	out := outcome{corrections, map[string]string{}, pools}
	for _, v := range verdicts {
		out.verdicts[v.Overlay.Name] = v.Reason
		if v.With != "" {
			out.verdicts[v.Overlay.Name] += " with " + v.With
		}
	}
	for _, p := range pools {
		corrections.Apply(p.NodePool.Name, p.Types)
	}
	if diff := cmp.Diff(before, contents(pools)); diff != "" {
		t.Errorf("what the cloud handed out was changed:\n%s", diff)
	}
	return out
}

// contents returns the list of the cloud as text.
func contents(pools []overlay.Pool) []string {
	var out []string
	for _, p := range pools {
		for _, t := range p.Types {
			out = append(out, fmt.Sprintf("%+v", *t))
		}
	}
	return out
}

// types are the corrected types of a pool.
func (o outcome) types(pool string) []*cloud.InstanceType {
	i := slices.IndexFunc(o.pools, func(p overlay.Pool) bool { return p.NodePool.Name == pool })
	return o.corrections.Apply(pool, o.pools[i].Types)
}

// changes are the corrections of a pool: "type zone/capacity-type" to price, "type resource" to quantity.
func (o outcome) changes(pool string) map[string]string {
	out := map[string]string{}
	for _, t := range o.types(pool) {
		for _, offering := range t.Offerings {
			if offering.PriceOverlaid {
				out[t.Name+" "+way(offering)] = fmt.Sprintf("%.4g", offering.Price)
			}
		}
		if !t.CapacityOverlaid {
			continue
		}
		plain := instanceType(t.Name).Capacity
		for name, q := range t.Capacity {
			if q.Cmp(plain[name]) != 0 {
				out[t.Name+" "+string(name)] = q.String()
			}
		}
	}
	return out
}

func (o outcome) expectVerdicts(t *testing.T, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, o.verdicts); diff != "" {
		t.Errorf("verdicts (-want +got)\n%s", diff)
	}
}

func (o outcome) expectChanges(t *testing.T, pool string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, o.changes(pool)); diff != "" {
		t.Errorf("changes in pool %s (-want +got)\n%s", pool, diff)
	}
}

func overlays(list ...*v1alpha1.NodeOverlay) []*v1alpha1.NodeOverlay { return list }
