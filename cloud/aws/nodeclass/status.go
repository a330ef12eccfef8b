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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/cloud/aws/catalog"
	"github.com/karpenter-anew/karpenter/cloud/aws/image"
	"github.com/karpenter-anew/karpenter/cloud/aws/profile"
	"github.com/karpenter-anew/karpenter/cloud/aws/request"
	"github.com/karpenter-anew/karpenter/cloud/nodeclass"
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

// status is the controller of the status of classes.
func (c *Controller) status() *nodeclass.Status[*awsv1.EC2NodeClass] {
	return &nodeclass.Status[*awsv1.EC2NodeClass]{
		Kind: kind(), Client: c.Client, Recorder: c.Recorder, Now: c.Catalog.Clock.Now, Finalizer: awsv1.TerminationFinalizer,
		Conditions: c.object, Steps: c.steps(), Settle: keepOrder, End: c.end,
	}
}

// kind says which classes these are.
func kind() nodeclass.Kind[*awsv1.EC2NodeClass] {
	return nodeclass.Kind[*awsv1.EC2NodeClass]{Group: awsv1.Group, Name: "EC2NodeClass", New: func() *awsv1.EC2NodeClass { return &awsv1.EC2NodeClass{} }}
}

func (c *Controller) steps() []nodeclass.Step[*awsv1.EC2NodeClass] {
	type step = nodeclass.Step[*awsv1.EC2NodeClass]
	out := []step{{Name: "images", Run: c.images}}
	if c.Catalog.ReservesCapacity {
		out = append(out, step{Name: "capacity reservations", Run: c.capacityReservations})
	}
	return append(out, step{Name: "placement group", Run: c.placementGroup}, step{Name: "subnets", Run: c.subnets},
		step{Name: "security groups", Run: c.securityGroups}, step{Name: "instance profile", Run: c.instanceProfile}, step{Name: "validation", Run: c.validate})
}

// object is a class as its conditions are counted.
func (c *Controller) object(class *awsv1.EC2NodeClass) condition.Object {
	if c.Catalog.ReservesCapacity {
		return awsv1.Reserving{EC2NodeClass: class}
	}
	return class
}

// Reconcile updates the status of one class, see nodeclass.Status.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return c.status().Reconcile(ctx, req)
}

// Register adds the controller to a manager, with as many workers.
func (c *Controller) Register(m manager.Manager, workers int) error {
	return c.status().Register(m, workers)
}

// end deletes the resources of a class. A resource that cannot be deleted keeps the class.
func (c *Controller) end(ctx context.Context, class *awsv1.EC2NodeClass) error {
	if c.Profiles != nil && class.Spec.InstanceProfile == nil {
		if err := c.Profiles.RemoveAll(ctx, class); err != nil {
			return err
		}
	}
	if err := c.Requests.Templates.RemoveAll(ctx, class.Name); err != nil {
		return err
	}
	c.validations.Delete(class.Name)
	c.Requests.ForgetClass(class.Name)
	return nil
}

// NewHasher makes the controller that keeps the hash of classes.
func NewHasher(o Options) *nodeclass.Hasher[*awsv1.EC2NodeClass] {
	return &nodeclass.Hasher[*awsv1.EC2NodeClass]{
		Kind: kind(), Client: o.Client, HashAnnotation: awsv1.AnnotationHash, VersionAnnotation: awsv1.AnnotationHashVersion, Version: awsv1.HashVersion,
		Hash: func(class *awsv1.EC2NodeClass) string { return class.Hash(o.Requests.Cluster.Facts().CABundle) },
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
