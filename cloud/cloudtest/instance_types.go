package cloudtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// instanceTypesAreComplete: names are unique, every type defines every well-known label, offerings are unique and
// complete.
func instanceTypesAreComplete(ctx context.Context, s Subject) error {
	types, err := s.Cloud.Provider.InstanceTypes(ctx, s.NodePool)
	if err != nil {
		return err
	}
	if len(types) == 0 {
		return errors.New("there are no instance types")
	}
	var errs []error
	seen := map[string]bool{}
	for _, t := range types {
		if t.Name == "" || seen[t.Name] {
			errs = append(errs, fmt.Errorf("instance type %q: the name is empty or taken", t.Name))
		}
		seen[t.Name] = true
		for _, err := range slices.Concat(typeLabels(t, s.Cloud.Labels), typeResources(t), typeOfferings(t, s.Cloud)) {
			errs = append(errs, fmt.Errorf("instance type %q: %w", t.Name, err))
		}
	}
	return errors.Join(errs...)
}

// typeLabels checks that t defines every well-known label once. The NodePool label is well-known too, but not a property of a
// type.
func typeLabels(t *cloud.InstanceType, rules v1.LabelRules) (errs []error) {
	defined := map[string]bool{}
	for _, r := range t.Requirements {
		key := rules.Normalize(r.Key)
		if defined[key] {
			errs = append(errs, fmt.Errorf("label %q is defined twice", key))
		}
		defined[key] = true
		if !rules.AllowsUndefined(key) {
			errs = append(errs, fmt.Errorf("label %q is defined but not registered as well-known or internal", key))
		}
		if rules.Internal[key] && !rules.Restricted(key) {
			errs = append(errs, fmt.Errorf("label %q is internal, but users may name it", key))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(rules.WellKnown)) {
		if !defined[key] && key != v1.NodePoolLabelKey {
			errs = append(errs, fmt.Errorf("well-known label %q is not defined; use DoesNotExist where it does not apply", key))
		}
	}
	set := cloud.Requirements(t.Requirements, rules)
	if got := set.Get(corev1.LabelInstanceTypeStable).Values(); !slices.Equal(got, []string{t.Name}) {
		errs = append(errs, fmt.Errorf("label %q is %q", corev1.LabelInstanceTypeStable, got))
	}
	for _, key := range []string{corev1.LabelTopologyZone, v1.CapacityTypeLabelKey} {
		var want []string
		for i := range t.Offerings {
			if t.Offerings[i].Available {
				want = append(want, t.Offerings[i].Label(key))
			}
		}
		slices.Sort(want)
		want = slices.Compact(want)
		if got := set.Get(key); got.Complement() || !slices.Equal(got.Values(), want) {
			errs = append(errs, fmt.Errorf("label %q is %s, but the available offerings have %q", key, got, want))
		}
	}
	return errs
}

// typeResources checks that the node can run pods at all and that overhead takes from it, but not too much.
func typeResources(t *cloud.InstanceType) (errs []error) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		if q := t.Capacity[name]; q.Sign() <= 0 {
			errs = append(errs, fmt.Errorf("capacity has no %s", name))
		}
	}
	for name, q := range t.Allocatable() {
		whole := t.Capacity[name]
		if q.Sign() < 0 || q.Cmp(whole) > 0 {
			errs = append(errs, fmt.Errorf("allocatable %s is %s of %s", name, q.String(), whole.String()))
		}
	}
	return errs
}

// typeOfferings checks that offerings are unique, named by well-known labels and priced.
func typeOfferings(t *cloud.InstanceType, c cloud.Cloud) (errs []error) {
	seen := map[string]bool{}
	for i := range t.Offerings {
		o := &t.Offerings[i]
		set := cloud.Requirements(o.Requirements, c.Labels)
		id := set.String()
		if seen[id] {
			errs = append(errs, fmt.Errorf("offering %d (%s): there is another with the same labels", i, id))
		}
		seen[id] = true
		if o.Zone() == "" {
			errs = append(errs, fmt.Errorf("offering %d (%s): has no zone", i, id))
		}
		switch o.CapacityType() {
		case v1.CapacityTypeSpot, v1.CapacityTypeOnDemand:
		case v1.CapacityTypeReserved:
			if c.ReservationIDLabel != "" && o.Label(c.ReservationIDLabel) == "" {
				errs = append(errs, fmt.Errorf("offering %d (%s): is reserved but names no reservation", i, id))
			}
		default:
			errs = append(errs, fmt.Errorf("offering %d (%s): capacity type %q is unknown", i, id, o.CapacityType()))
		}
		if o.Price < 0 || math.IsNaN(o.Price) || math.IsInf(o.Price, 0) {
			errs = append(errs, fmt.Errorf("offering %d (%s): price %v", i, id, o.Price))
		}
		for _, r := range set {
			if !c.Labels.WellKnown[r.Key] {
				errs = append(errs, fmt.Errorf("offering %d (%s): label %q is not registered as well-known", i, id, r.Key))
			}
			if op := r.Operator(); op != requirement.In && op != requirement.DoesNotExist {
				errs = append(errs, fmt.Errorf("offering %d (%s): label %q has no definite value", i, id, r.Key))
			}
		}
	}
	return errs
}

// instanceTypesAreStable: two calls without a change in between return equal lists, in the same order.
func instanceTypesAreStable(ctx context.Context, s Subject) error {
	first, err := s.Cloud.Provider.InstanceTypes(ctx, s.NodePool)
	if err != nil {
		return err
	}
	second, err := s.Cloud.Provider.InstanceTypes(ctx, s.NodePool)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(first, second); diff != "" {
		return fmt.Errorf("the second answer differs (-first +second):\n%s", diff)
	}
	return nil
}
