// Package launcher launches the virtual machines of NodeClaims: it chooses an offering, sends the request on one of two paths, and follows it
// until the node can start. A NodeClaim of a pool counts as launched when Azure has accepted the request; a failure that comes later ends the NodeClaim.
//
// Source: Azure provider specification, Create; launch of virtual machines, sequence.
package launcher

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/catalog"
	"github.com/karpenter-anew/karpenter/cloud/azure/choice"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/network"
	"github.com/karpenter-anew/karpenter/cloud/azure/request"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
	"github.com/karpenter-anew/karpenter/cloud/azure/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// Options are what a launcher is made of.
type Options struct {
	Catalog *catalog.Catalog
	// Path launches; VMs and AKSMachines have the instances that exist, those of AKSMachines in the agent pool with the name AKSMachinesPool.
	Path, VMs, AKSMachines Path
	AKSMachinesPool        string
	// Client reads and deletes NodeClaims.
	Client client.Client
	Clock  clock.WithTicker
	// FullSubnets learns which subnets have too few free addresses.
	FullSubnets *network.FullSubnets
	// Metrics count launches without an image.
	Metrics *telemetry.Metrics
	// Publish publishes events.
	Publish func(...observe.Event)
	// Disrupted counts a NodeClaim that ends because its launch failed later.
	Disrupted func(*v1.NodeClaim)
	// Random returns a number in [0, n).
	Random func(n int) int
}

// Launcher launches virtual machines. Make one with New.
type Launcher struct {
	Options
	Background *Background
	correction cloud.Correction
	// offerings are those of instance types, by NodePool and class.
	offerings cloud.OfferingLists
}

// New returns a launcher. Its background has to be started before the first launch.
func New(o Options) *Launcher { return &Launcher{Options: o, Background: newBackground()} }

// UseCorrection sets the correction of instance types. Call it before the controllers start.
func (l *Launcher) UseCorrection(c cloud.Correction) { l.correction = c }

// Launched is a launch that Azure has accepted, or whose virtual machine runs.
type Launched struct {
	Instance *instance.Instance
	// Type and Offering are what was launched; Type is nil if an earlier launch was something that the class cannot have any more.
	Type     *cloud.InstanceType
	Offering *cloud.Offering
	Request  request.Launch
	// InPlace is what can be changed without replacing the node.
	InPlace resourcetags.InPlace
}

// Launch launches a NodeClaim. Repeated for one that is launched already, it finds the same virtual machine, by its name.
func (l *Launcher) Launch(ctx context.Context, claim *v1.NodeClaim) (Launched, error) {
	class, err := l.readyClass(ctx, claim)
	if err != nil {
		return Launched{}, err
	}
	types, err := l.types(ctx, claim, class)
	if err != nil {
		return Launched{}, cloud.NewCreateError(err, "InstanceTypeResolutionFailed", "Error resolving instance types")
	}
	chosen, err := choice.Choose(choice.Input{
		Claim: claim, Offerings: l.offerings.Of(claim.Labels[v1.NodePoolLabelKey]+"/"+class.Name, types, label.Rules(), l.Clock.Now()), SKU: l.Catalog.SKU, Unavailable: l.Catalog.UnavailableOfferings, Random: l.Random,
	})
	if err != nil {
		return Launched{}, err
	}
	d, ok := l.Catalog.SKU(chosen.InstanceType.Name)
	if !ok {
		return Launched{}, cloud.NewCreateError(fmt.Errorf("azure lists size %q no more", chosen.InstanceType.Name), "InstanceTypeResolutionFailed", "Error resolving instance types")
	}
	order := request.Launch{Claim: claim, Class: class, Choice: chosen, SKU: d}
	began := l.Clock.Now()
	accepted, err := l.Path.Create(ctx, order)
	if err != nil {
		l.mark(err, class)
		if errors.Is(err, request.ErrNoImage) {
			l.Metrics.ImageErrors.WithLabelValues(class.ImageFamily()).Inc()
		}
		return Launched{}, err
	}
	if accepted.Existing {
		order = l.made(claim, class, types, accepted.Instance)
		accepted = l.Path.Follow(ctx, order, accepted.Instance)
	} else {
		accepted.began = began
	}
	accepted.class = class
	if claim.Labels[v1.NodePoolLabelKey] == "" {
		if err := l.wait(ctx, claim, &accepted); err != nil {
			return Launched{}, err
		}
	} else if !l.goFollow(claim, &accepted) {
		return Launched{}, errors.New("the controller is shutting down")
	}
	return Launched{
		Instance: accepted.Instance, Type: order.Choice.InstanceType, Offering: order.Choice.Offering, Request: order, InPlace: accepted.InPlace,
	}, nil
}

// goFollow follows a launch in the background. It reports false if the process is shutting down.
func (l *Launcher) goFollow(claim *v1.NodeClaim, accepted *Accepted) bool {
	followed := claim.DeepCopy() // the caller changes the claim
	return l.Background.Go(string(claim.UID), func(ctx context.Context) error { return l.follow(ctx, followed, accepted) })
}

// readyClass is the class of a claim, fit to be launched from.
func (l *Launcher) readyClass(ctx context.Context, claim *v1.NodeClaim) (*v1beta1.AKSNodeClass, error) {
	if claim.Spec.NodeClassRef == nil {
		return nil, cloud.NewInsufficientCapacityError(fmt.Errorf("nodeclaim %q names no node class", claim.Name))
	}
	class, err := l.Catalog.Class(ctx, claim.Spec.NodeClassRef.Name)
	if apierrors.IsNotFound(err) {
		l.Publish(telemetry.NodeClassResolutionError(claim, claim.UID))
	}
	if err != nil {
		return nil, cloud.NewInsufficientCapacityError(err)
	}
	switch status := condition.Status(class, v1beta1.ConditionTypeReady); status {
	case metav1.ConditionFalse:
		at := slices.IndexFunc(class.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1beta1.ConditionTypeReady })
		return nil, cloud.NewNodeClassNotReadyError(errors.New(class.Status.Conditions[at].Message))
	case metav1.ConditionTrue:
		return class, nil
	default:
		return nil, cloud.NewCreateError(fmt.Errorf("aksnodeclass %q is not known to be ready", class.Name), "NodeClassReadinessUnknown", "NodeClass is in Ready=Unknown")
	}
}

// types are the instance types that a NodeClaim of a class can be launched as.
func (l *Launcher) types(ctx context.Context, claim *v1.NodeClaim, class *v1beta1.AKSNodeClass) ([]*cloud.InstanceType, error) {
	types, err := l.Catalog.Types(ctx, class)
	if err == nil && l.correction != nil && claim.Labels[v1.NodePoolLabelKey] != "" {
		types, err = l.correction(claim.Labels[v1.NodePoolLabelKey], types)
	}
	return types, err
}
