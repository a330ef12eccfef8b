package cloudtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// impossibleType is an instance type that no cloud has.
const impossibleType = "no-such-instance-type"

// create makes a claim and calls Create on it.
func create(ctx context.Context, s Subject) (claim, created *v1.NodeClaim, err error) {
	if claim, err = s.NewNodeClaim(ctx); err != nil {
		return nil, nil, fmt.Errorf("making a claim: %w", err)
	}
	if created, err = s.Cloud.Provider.Create(ctx, claim); err != nil {
		return nil, nil, fmt.Errorf("Create: %w", err)
	}
	return claim, created, nil
}

// launch makes a claim and brings its instance to life.
func launch(ctx context.Context, s Subject) (*v1.NodeClaim, error) {
	_, created, err := create(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := s.Launched(ctx, created); err != nil {
		return nil, fmt.Errorf("recording the launch: %w", err)
	}
	return created, nil
}

// createDescribesTheInstance: the result has an id, the labels of an offering, and capacity for the requests.
func createDescribesTheInstance(ctx context.Context, s Subject) error {
	claim, created, err := create(ctx, s)
	if err != nil {
		return err
	}
	types, err := s.Cloud.Provider.InstanceTypes(ctx, s.NodePool)
	if err != nil {
		return err
	}
	var errs []error
	if created.Status.ProviderID == "" {
		errs = append(errs, errors.New("the provider id is empty"))
	}
	if created.Name != claim.Name || created.UID != claim.UID {
		errs = append(errs, fmt.Errorf("the answer is about claim %q (%s), not %q (%s)", created.Name, created.UID, claim.Name, claim.UID))
	}
	for _, key := range []string{
		corev1.LabelInstanceTypeStable, corev1.LabelTopologyZone, v1.CapacityTypeLabelKey, corev1.LabelArchStable, corev1.LabelOSStable,
	} {
		if created.Labels[key] == "" {
			errs = append(errs, fmt.Errorf("label %q is missing", key))
		}
	}
	labels := cloud.LabelRequirements(created.Labels, s.Cloud.Labels)
	everything := func(string) bool { return true }
	if want := cloud.Requirements(claim.Spec.Requirements, s.Cloud.Labels); !labels.Compatible(want, everything) {
		errs = append(errs, fmt.Errorf("the labels %s do not meet the requirements %s", labels, want))
	}
	errs = append(errs, soldAs(created, types))
	for name, q := range claim.Spec.Resources.Requests {
		if have := created.Status.Allocatable[name]; have.Cmp(q) < 0 {
			errs = append(errs, fmt.Errorf("allocatable %s is %s, requested were %s", name, have.String(), q.String()))
		}
	}
	for name, q := range created.Status.Allocatable {
		if whole := created.Status.Capacity[name]; q.Cmp(whole) > 0 {
			errs = append(errs, fmt.Errorf("allocatable %s is %s, but capacity only %s", name, q.String(), whole.String()))
		}
	}
	return errors.Join(errs...)
}

// soldAs checks that the labels name a type and an available offering of it.
func soldAs(created *v1.NodeClaim, types []*cloud.InstanceType) error {
	name := created.Labels[corev1.LabelInstanceTypeStable]
	i := slices.IndexFunc(types, func(t *cloud.InstanceType) bool { return t.Name == name })
	if i < 0 {
		return fmt.Errorf("instance type %q is not among the instance types", name)
	}
	zone, capacityType := created.Labels[corev1.LabelTopologyZone], created.Labels[v1.CapacityTypeLabelKey]
	if !slices.ContainsFunc(types[i].Offerings, func(o cloud.Offering) bool {
		return o.Launchable() && o.Zone() == zone && o.CapacityType() == capacityType
	}) {
		return fmt.Errorf("instance type %q has no available offering %s in %s", name, capacityType, zone)
	}
	return nil
}

func createLeavesItsArgumentAlone(ctx context.Context, s Subject) error {
	claim, err := s.NewNodeClaim(ctx)
	if err != nil {
		return err
	}
	before := claim.DeepCopy()
	created, err := s.Cloud.Provider.Create(ctx, claim)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(before, claim); diff != "" {
		return fmt.Errorf("Create changed its argument (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before.Spec, created.Spec); diff != "" {
		return fmt.Errorf("Create changed the spec (-claim +created):\n%s", diff)
	}
	return nil
}

// sameInstance compares two answers of Create for one claim.
func sameInstance(a, b *v1.NodeClaim) error {
	if a.Status.ProviderID != b.Status.ProviderID {
		return fmt.Errorf("one claim became two instances: %q and %q", a.Status.ProviderID, b.Status.ProviderID)
	}
	if !maps.Equal(a.Labels, b.Labels) {
		return fmt.Errorf("instance %q was described in two ways:\n%s", a.Status.ProviderID, cmp.Diff(a.Labels, b.Labels))
	}
	return nil
}

// createIsIdempotent: launching a claim again, before and after the first answer was recorded, finds the same instance.
func createIsIdempotent(ctx context.Context, s Subject) error {
	claim, first, err := create(ctx, s)
	if err != nil {
		return err
	}
	again, err := s.Cloud.Provider.Create(ctx, claim)
	if err != nil {
		return fmt.Errorf("second Create: %w", err)
	}
	if err := sameInstance(first, again); err != nil {
		return err
	}
	if err := s.Launched(ctx, first); err != nil {
		return err
	}
	late, err := s.Cloud.Provider.Create(ctx, claim)
	if err != nil {
		return fmt.Errorf("Create of a claim that is already running: %w", err)
	}
	if err := sameInstance(first, late); err != nil {
		return err
	}
	return livesOnce(ctx, s, first.Status.ProviderID, 1)
}

// livesOnce checks that the list has total living instances, and that one of them is id.
func livesOnce(ctx context.Context, s Subject, id string, total int) error {
	listed, err := s.Cloud.Provider.List(ctx)
	if err != nil {
		return err
	}
	var living []string
	for _, c := range listed {
		if c.DeletionTimestamp.IsZero() {
			living = append(living, c.Status.ProviderID)
		}
	}
	if len(living) != total || !slices.Contains(living, id) {
		return fmt.Errorf("the living instances are %q, expected were %d with %q among them", living, total, id)
	}
	return nil
}

func createIsIdempotentUnderConcurrency(ctx context.Context, s Subject) error {
	claim, err := s.NewNodeClaim(ctx)
	if err != nil {
		return err
	}
	const callers = 8
	created, errs := make([]*v1.NodeClaim, callers), make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { created[i], errs[i] = s.Cloud.Provider.Create(ctx, claim.DeepCopy()) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, c := range created {
		if err := sameInstance(created[0], c); err != nil {
			return err
		}
	}
	if err := s.Launched(ctx, created[0]); err != nil {
		return err
	}
	return livesOnce(ctx, s, created[0].Status.ProviderID, 1)
}

func claimsDoNotShareInstances(ctx context.Context, s Subject) error {
	a, err := launch(ctx, s)
	if err != nil {
		return err
	}
	b, err := launch(ctx, s)
	if err != nil {
		return err
	}
	if a.Status.ProviderID == b.Status.ProviderID {
		return fmt.Errorf("claims %q and %q both became %q", a.Name, b.Name, a.Status.ProviderID)
	}
	return errors.Join(livesOnce(ctx, s, a.Status.ProviderID, 2), livesOnce(ctx, s, b.Status.ProviderID, 2))
}

// createRefusesTheImpossible: an unsatisfiable claim ends in InsufficientCapacityError and in no instance.
func createRefusesTheImpossible(ctx context.Context, s Subject) error {
	claim, err := s.NewNodeClaim(ctx)
	if err != nil {
		return err
	}
	claim.Spec.Requirements = append(claim.Spec.Requirements, cloud.In(corev1.LabelInstanceTypeStable, impossibleType))
	created, err := s.Cloud.Provider.Create(ctx, claim)
	if err == nil {
		return fmt.Errorf("a claim for instance type %q became %q", impossibleType, created.Status.ProviderID)
	}
	if !cloud.IsInsufficientCapacity(fmt.Errorf("wrapped: %w", err)) {
		return fmt.Errorf("the refusal is not an InsufficientCapacityError: %w", err)
	}
	listed, err := s.Cloud.Provider.List(ctx)
	if err != nil {
		return err
	}
	if len(listed) != 0 {
		return fmt.Errorf("the refusal left instance %q", listed[0].Status.ProviderID)
	}
	return nil
}
