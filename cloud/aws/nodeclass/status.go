// Package nodeclass keeps the status of EC2NodeClasses: what their selectors find, whether instances could be launched with them, and
// their hash. It ends with a class what was made for it.
//
// Source: AWS provider specification, node class reconciliation; hash controller.
package nodeclass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/cloud/aws/catalog"
	"github.com/karpenter-anew/karpenter/cloud/aws/image"
	"github.com/karpenter-anew/karpenter/cloud/aws/profile"
	"github.com/karpenter-anew/karpenter/cloud/aws/request"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// Requeue intervals: shorter where a resource is missing.
const (
	soon      = time.Minute
	sometimes = 5 * time.Minute
	seldom    = 10 * time.Minute
)

// EC2 are the calls that dry runs make.
type EC2 interface {
	CreateFleet(context.Context, *ec2.CreateFleetInput, ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error)
	RunInstances(context.Context, *ec2.RunInstancesInput, ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error)
}

// Options are what the controllers are made of.
type Options struct {
	// Catalog has the instance types of classes and what classes select, Requests the launch templates.
	Catalog  *catalog.Catalog
	Requests *request.Builder
	EC2      EC2
	// Profiles is nil if IAM is not reachable: classes then need an instanceProfile.
	Profiles *profile.Manager
	Client   client.Client
	Recorder *observe.Recorder
	// DryRuns says that a class is validated with dry-run calls.
	DryRuns bool
	// ValidationTTL is how long the result of dry runs is cached; 0 for half an hour. See RandomValidationTTL.
	ValidationTTL time.Duration
}

// Controller reconciles EC2NodeClasses. Make one with New.
type Controller struct {
	Options
	// validations are the results of dry runs, by the name of the class.
	validations *ttlcache.Cache[string, cachedValidation]
}

// New makes a controller.
func New(o Options) *Controller {
	return &Controller{Options: o, validations: ttlcache.New[string, cachedValidation](o.Catalog.Clock, cmp.Or(o.ValidationTTL, validationTTL))}
}

// step is one part of the status. It returns when to look again; 0 for never.
type step struct {
	name string
	run  func(context.Context, *awsv1.EC2NodeClass, condition.Set) (time.Duration, error)
}

func (c *Controller) steps() []step {
	out := []step{{"images", c.images}}
	if c.Catalog.ReservesCapacity {
		out = append(out, step{"capacity reservations", c.capacityReservations})
	}
	return append(out, step{"placement group", c.placementGroup}, step{"subnets", c.subnets}, step{"security groups", c.securityGroups},
		step{"instance profile", c.instanceProfile}, step{"validation", c.validate})
}

// object is a class as its conditions are counted.
func (c *Controller) object(class *awsv1.EC2NodeClass) condition.Object {
	if c.Catalog.ReservesCapacity {
		return awsv1.Reserving{EC2NodeClass: class}
	}
	return class
}

// Reconcile updates the status of one class. All steps run, even if others fail; a failed step leaves its
// part unchanged.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	class := &awsv1.EC2NodeClass{}
	if err := c.Client.Get(ctx, req.NamespacedName, class); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !class.DeletionTimestamp.IsZero() {
		return c.finalize(ctx, class)
	}
	if !controllerutil.ContainsFinalizer(class, awsv1.TerminationFinalizer) {
		before := class.DeepCopy()
		controllerutil.AddFinalizer(class, awsv1.TerminationFinalizer)
		if err := c.Client.Patch(ctx, class, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return settle(err)
		}
	}
	before := class.DeepCopy()
	set := condition.For(c.object(class), c.Catalog.Clock.Now())
	var again time.Duration
	var errs []error
	for _, s := range c.steps() {
		after, err := s.run(ctx, class, set)
		if err != nil {
			errs = append(errs, fmt.Errorf("looking after %s of ec2nodeclass %q: %w", s.name, class.Name, err))
		}
		if after > 0 && (again == 0 || after < again) {
			again = after
		}
	}
	keepOrder(before, class)
	if !equality.Semantic.DeepEqual(before.Status, class.Status) {
		if err := c.Client.Status().Patch(ctx, class, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			if result, err := settle(err); err == nil {
				return result, errors.Join(errs...)
			}
			errs = append(errs, err)
		}
	}
	return reconcile.Result{RequeueAfter: again}, errors.Join(errs...)
}

// settle handles the error of a write: conflicts are retried, not found is no error.
func settle(err error) (reconcile.Result, error) {
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: time.Second}, nil
	default:
		return reconcile.Result{}, err
	}
}

// keepOrder leaves subnets in their order where the same ones are there: they are in order of free addresses, which change with
// every pod.
func keepOrder(before, class *awsv1.EC2NodeClass) {
	members := func(subnets []awsv1.Subnet) map[awsv1.Subnet]bool {
		out := map[awsv1.Subnet]bool{}
		for _, s := range subnets {
			out[s] = true
		}
		return out
	}
	if maps.Equal(members(before.Status.Subnets), members(class.Status.Subnets)) && before.Generation == observed(before) {
		class.Status.Subnets = slices.Clone(before.Status.Subnets)
	}
}

// observed is the generation that the status is about.
func observed(class *awsv1.EC2NodeClass) int64 {
	for _, c := range class.Status.Conditions {
		if c.Type == awsv1.ConditionTypeSubnetsReady {
			return c.ObservedGeneration
		}
	}
	return 0
}

func (c *Controller) images(ctx context.Context, class *awsv1.EC2NodeClass, set condition.Set) (time.Duration, error) {
	found, err := c.Catalog.Finder.Images(ctx, class, c.Requests.Cluster.Facts().Version)
	var unsupported *image.UnsupportedAliasError
	if errors.As(err, &unsupported) {
		class.Status.AMIs = nil
		set.False(awsv1.ConditionTypeAMIsReady, "UnsupportedAlias", unsupported.Error())
		return 0, nil
	}
	if _, _, malformed := class.Alias(); malformed != nil {
		class.Status.AMIs = nil
		set.False(awsv1.ConditionTypeAMIsReady, "UnsupportedAlias", malformed.Error())
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	class.Status.AMIs = found
	if len(found) == 0 {
		set.False(awsv1.ConditionTypeAMIsReady, "AMINotFound", "AMISelector did not match any AMIs")
		return soon, nil
	}
	set.True(awsv1.ConditionTypeAMIsReady)
	return sometimes, nil
}

func (c *Controller) capacityReservations(ctx context.Context, class *awsv1.EC2NodeClass, set condition.Set) (time.Duration, error) {
	found, err := c.Catalog.Finder.CapacityReservations(ctx, class)
	if err != nil {
		return 0, err
	}
	class.Status.CapacityReservations = found
	set.True(awsv1.ConditionTypeCapacityReservationsReady)
	again := soon
	for _, r := range found {
		if r.EndTime == nil {
			continue
		}
		if left := r.EndTime.Sub(c.Catalog.Clock.Now()); left > 0 {
			again = min(again, left)
		}
	}
	return again, nil
}

func (c *Controller) placementGroup(ctx context.Context, class *awsv1.EC2NodeClass, set condition.Set) (time.Duration, error) {
	selector := class.Spec.PlacementGroupSelector
	if selector == nil {
		set.True(awsv1.ConditionTypePlacementGroupReady)
		return 0, nil
	}
	group, err := c.Catalog.Finder.PlacementGroup(ctx, class)
	switch {
	case group == nil && err != nil:
		set.False(awsv1.ConditionTypePlacementGroupReady, "PlacementGroupResolutionFailed", "Failed to resolve placement group")
		return 0, err
	case group == nil:
		name := ""
		if selector.Name != nil {
			name = *selector.Name
		}
		if selector.ID != nil {
			name = *selector.ID
		}
		set.False(awsv1.ConditionTypePlacementGroupReady, "PlacementGroupNotFound", fmt.Sprintf("Placement group %q not found", name))
		return soon, nil
	}
	set.True(awsv1.ConditionTypePlacementGroupReady)
	return 0, err
}

func (c *Controller) subnets(ctx context.Context, class *awsv1.EC2NodeClass, set condition.Set) (time.Duration, error) {
	found, err := c.Catalog.Finder.Subnets(ctx, class)
	if err != nil {
		return 0, err
	}
	class.Status.Subnets = found
	if len(found) == 0 {
		set.False(awsv1.ConditionTypeSubnetsReady, "SubnetsNotFound", "SubnetSelector did not match any Subnets")
		return soon, nil
	}
	set.True(awsv1.ConditionTypeSubnetsReady)
	return soon, nil
}

func (c *Controller) securityGroups(ctx context.Context, class *awsv1.EC2NodeClass, set condition.Set) (time.Duration, error) {
	found, err := c.Catalog.Finder.SecurityGroups(ctx, class)
	if err != nil {
		return 0, err
	}
	class.Status.SecurityGroups = found
	if len(found) == 0 {
		set.False(awsv1.ConditionTypeSecurityGroupsReady, "SecurityGroupsNotFound", "SecurityGroupSelector did not match any SecurityGroups")
		return soon, nil
	}
	set.True(awsv1.ConditionTypeSecurityGroupsReady)
	return sometimes, nil
}

// errNoIAM reports a class that needs IAM, which is not reachable.
var errNoIAM = errors.New("IAM is not reachable: the class needs an instanceProfile")

func (c *Controller) instanceProfile(ctx context.Context, class *awsv1.EC2NodeClass, set condition.Set) (time.Duration, error) {
	switch {
	case c.Profiles != nil:
		name, err := c.Profiles.Ensure(ctx, class)
		if err != nil {
			return 0, err
		}
		class.Status.InstanceProfile = name
	case class.Spec.InstanceProfile == nil:
		return 0, errNoIAM
	default:
		class.Status.InstanceProfile = *class.Spec.InstanceProfile
	}
	set.True(awsv1.ConditionTypeInstanceProfileReady)
	return 0, nil
}
