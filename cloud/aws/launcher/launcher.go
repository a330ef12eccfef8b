// Package launcher launches EC2 instances for NodeClaims: it chooses instance types and subnets, sends the request, and records what
// the answer shows about capacity.
//
// Source: AWS provider specification, the launch decision; insufficient capacity.
package launcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/fleet"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
	"github.com/karpenter-anew/karpenter/cloud/aws/launch"
	"github.com/karpenter-anew/karpenter/cloud/aws/request"
	"github.com/karpenter-anew/karpenter/cloud/aws/reservation"
	"github.com/karpenter-anew/karpenter/cloud/aws/resourcetags"
	"github.com/karpenter-anew/karpenter/cloud/aws/subnet"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/aws/unavailableofferings"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// Catalog is what launches depend on of node classes and their instance types.
type Catalog interface {
	// Class returns a class by its name.
	Class(ctx context.Context, name string) (*awsv1.EC2NodeClass, error)
	// Types are all instance types under a class.
	Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*cloud.InstanceType, error)
}

// Options are what a launcher is made of.
type Options struct {
	Catalog  Catalog
	Requests *request.Builder
	EC2      fleet.EC2
	Clock    clock.PassiveClock
	// Addresses, Reservations and UnavailableOfferings record what launches show.
	Addresses            *subnet.Ledger
	Reservations         *reservation.Ledger
	UnavailableOfferings *unavailableofferings.Cache
	// StrictMinValues says that minValues are not relaxed at launch.
	StrictMinValues bool
	Metrics         *telemetry.Metrics
	// Publish publishes events.
	Publish func(...observe.Event)
	// Launched observes the size and waiting time of batches of launches.
	Launched func(size int, waited time.Duration)
}

// Launcher launches instances. Make one with New.
type Launcher struct {
	Options
	fleet         *fleet.Launcher
	offeringLists cloud.OfferingLists
	correction    cloud.Correction
}

// New returns a launcher.
func New(o Options) *Launcher {
	return &Launcher{Options: o, fleet: fleet.NewLauncher(o.EC2, o.Launched)}
}

// UseCorrection sets the correction of instance types. Call it before the controllers start.
func (l *Launcher) UseCorrection(c cloud.Correction) { l.correction = c }

// readyClass is the class of a claim, fit to be launched from.
func (l *Launcher) readyClass(ctx context.Context, claim *v1.NodeClaim) (*awsv1.EC2NodeClass, error) {
	if claim.Spec.NodeClassRef == nil {
		return nil, cloud.NewInsufficientCapacityError(fmt.Errorf("nodeclaim %q names no node class", claim.Name))
	}
	name := claim.Spec.NodeClassRef.Name
	class, err := l.Catalog.Class(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		l.Publish(observe.NodeClassMissing(claim, claim.UID))
		return nil, cloud.NewInsufficientCapacityError(err)
	case err != nil:
		return nil, err
	}
	at := slices.IndexFunc(class.Status.Conditions, func(c metav1.Condition) bool { return c.Type == awsv1.ConditionTypeReady })
	switch status := condition.Status(class, awsv1.ConditionTypeReady); {
	case status == metav1.ConditionFalse:
		return nil, cloud.NewNodeClassNotReadyError(errors.New(class.Status.Conditions[at].Message))
	case status != metav1.ConditionTrue:
		return nil, cloud.NewCreateError(fmt.Errorf("ec2nodeclass %q is not known to be ready", name), "NodeClassReadinessUnknown", "NodeClass is in Ready=Unknown")
	case class.Status.Conditions[at].ObservedGeneration != class.Generation:
		return nil, cloud.NewNodeClassNotReadyError(errors.New("nodeclass status has not been reconciled against the latest spec"))
	}
	if err := resourcetags.CheckTags(class.Spec.Tags); err != nil {
		return nil, cloud.NewNodeClassNotReadyError(err)
	}
	return class, nil
}

// Launch decides the request, sends it, and returns the result.
func (l *Launcher) Launch(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	class, err := l.readyClass(ctx, claim)
	if err != nil {
		return nil, err
	}
	order, err := l.choose(ctx, claim, class)
	if err != nil {
		return nil, err
	}
	for _, d := range order.Dropped {
		observe.Log(ctx).DebugContext(ctx, "filtered out instance types from launch", awsfield.Filter(d.Filter), logfield.InstanceTypes(strings.Join(d.Types[:min(len(d.Types), 5)], ", ")))
	}
	if n := countTypes(order.Candidates); order.SpotAvoided && n < 5 {
		observe.Log(ctx).ErrorContext(ctx, "at least 5 instance types are recommended when flexible to spot but requesting on-demand", logfield.InstanceTypeCount(n))
	}
	choice, err := l.Addresses.Pick(class.Status.Subnets, func(zone string) int64 { return podsIn(order.Candidates, zone) })
	if err != nil {
		return nil, cloud.NewCreateError(err, "SubnetResolutionFailed", "Error getting subnets")
	}
	started := launchedIn(nil)
	defer func() { l.Addresses.Settle(choice, started) }()
	answer, err := l.createFleet(ctx, claim, class, order, choice)
	if err != nil {
		return nil, err
	}
	l.recordFailures(ctx, &attempt{claim, class, order, choice}, answer)
	if answer.InstanceID == "" {
		return nil, insufficientCapacity(answer)
	}
	started = launchedIn(&answer)
	return l.describe(claim, class, order, answer), nil
}

// launchedIn are the subnets that a launch used.
func launchedIn(answer *fleet.Result) []string {
	if answer == nil {
		return nil
	}
	return []string{answer.SubnetID}
}

// choose decides which types, and how they are bought.
func (l *Launcher) choose(ctx context.Context, claim *v1.NodeClaim, class *awsv1.EC2NodeClass) (launch.Order, error) {
	types, err := l.Catalog.Types(ctx, class)
	if err != nil {
		return launch.Order{}, cloud.NewCreateError(err, "InstanceTypeResolutionFailed", "Error resolving instance types")
	}
	pool := claim.Labels[v1.NodePoolLabelKey]
	if l.correction != nil && pool != "" {
		if types, err = l.correction(pool, types); err != nil {
			return launch.Order{}, err
		}
	}
	offerings := l.offeringLists.Of(pool+"/"+class.Name, types, awsv1.LabelRules(), l.Clock.Now())
	return launch.Choose(slices.Collect(offerings.Candidates(claim)), claim, l.StrictMinValues && !request.Relaxed(claim))
}

// createFleet creates the launch templates that are missing and launches. Templates that were deleted meanwhile are created again, once.
func (l *Launcher) createFleet(ctx context.Context, claim *v1.NodeClaim, class *awsv1.EC2NodeClass, order launch.Order, choice subnet.Choice) (fleet.Result, error) {
	req, templates, err := l.Requests.Launch(ctx, claim, class, order, choice)
	if err != nil {
		return fleet.Result{}, createError(err, "Error getting launch template configs: ")
	}
	l.Requests.Measure(ctx, class.Name, templates)
	for attempt := 0; ; attempt++ {
		for _, t := range templates {
			if err := l.Requests.Templates.Ensure(ctx, t); err != nil {
				return fleet.Result{}, createError(err, "Error getting launch template configs: ")
			}
		}
		answer, err := l.fleet.Launch(ctx, req)
		switch {
		case err == nil:
			return answer, nil
		case !awserrors.IsLaunchTemplateMissing(err):
			return answer, createError(err, "Error creating fleet request: ")
		case attempt > 0:
			return answer, createError(err, "Launch templates not found when creating fleet request: ")
		}
		for _, c := range req.Configs {
			l.Requests.Templates.Forget(c.Template)
		}
	}
}

// createError returns why a call failed, for the condition of the NodeClaim.
func createError(err error, prefix string) error {
	why := awserrors.ReasonOf(err.Error())
	return cloud.NewCreateError(err, why.Reason, prefix+why.Message)
}

// insufficientCapacity returns why a fleet launched nothing: insufficient capacity, or a failure that other launches would have as well.
func insufficientCapacity(answer fleet.Result) error {
	var faults []awserrors.FleetError
	for _, f := range answer.Failures {
		faults = append(faults, f.FleetError)
	}
	err := observe.WithLogFields(fmt.Errorf("with fleet error(s), %s", fleet.ErrorText(answer.Failures)),
		awsfield.OperationName("CreateFleet"), awsfield.ErrorCode("UnfulfillableCapacity"), awsfield.StatusCode(http.StatusOK), awsfield.RequestID(answer.RequestID))
	if awserrors.NoCapacity(faults) {
		return cloud.NewInsufficientCapacityError(err)
	}
	why := awserrors.ReasonOf(err.Error())
	return cloud.NewCreateError(err, why.Reason, why.Message)
}

// describe returns the NodeClaim with labels and status of its instance.
func (l *Launcher) describe(claim *v1.NodeClaim, class *awsv1.EC2NodeClass, order launch.Order, answer fleet.Result) *v1.NodeClaim {
	at := slices.IndexFunc(order.Candidates, func(c cloud.Candidate) bool {
		return c.Type.Name == answer.InstanceType && c.Offering.Zone() == answer.Zone
	})
	chosen := order.Candidates[max(at, 0)]
	i := &instance.Instance{
		ID: answer.InstanceID, Type: answer.InstanceType, Zone: answer.Zone, SubnetID: answer.SubnetID, ImageID: answer.ImageID,
		CapacityType: order.CapacityType, Tenancy: order.Tenancy, EFAs: request.EFAs(claim, class, chosen.Type),
	}
	if order.CapacityType == v1.CapacityTypeReserved {
		i.ReservationID = chosen.Offering.Label(awsv1.LabelCapacityReservationID)
		i.ReservationType = awsv1.CapacityReservationType(chosen.Offering.Label(awsv1.LabelCapacityReservationType))
		i.Interruptible = chosen.Offering.Label(awsv1.LabelCapacityReservationInterruptible) == "true"
	}
	out := claim.DeepCopy()
	out.Labels = Labels(i, class, chosen.Type)
	if group := request.OnlyValue(chosen.Type, awsv1.LabelPlacementGroupID); group != "" {
		out.Labels[awsv1.LabelPlacementGroupID] = group
		if chosen.Offering.Label(awsv1.LabelPlacementGroupPartition) != "" {
			// An open partition is left empty, until the instance says which it is.
			out.Labels[awsv1.LabelPlacementGroupPartition] = order.Partition
		}
	}
	maps.Copy(out.Labels, claim.Labels)
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[awsv1.AnnotationHash] = class.Hash(l.Requests.Cluster.Facts().CABundle)
	out.Annotations[awsv1.AnnotationHashVersion] = awsv1.HashVersion
	out.Annotations[awsv1.AnnotationInstanceProfile] = class.Status.InstanceProfile
	out.Status.ProviderID, out.Status.ImageID = i.ProviderID(), answer.ImageID
	out.Status.Capacity = WithoutZeros(chosen.Type.CapacityOf(chosen.Offering), i.EFAs)
	out.Status.Allocatable = WithoutZeros(chosen.Type.AllocatableOf(chosen.Offering), i.EFAs)
	return out
}

// countTypes is how many types there are among candidates.
func countTypes(candidates []cloud.Candidate) int {
	types := map[string]bool{}
	for _, c := range candidates {
		types[c.Type.Name] = true
	}
	return len(types)
}

// podsIn is the smallest number of pods that a type has which may be launched in a zone; negative if there is none.
func podsIn(candidates []cloud.Candidate, zone string) int64 {
	least := int64(-1)
	for _, c := range candidates {
		if c.Offering.Zone() != zone {
			continue
		}
		if pods := c.Type.Capacity.Pods().Value(); least < 0 || pods < least {
			least = pods
		}
	}
	return least
}
