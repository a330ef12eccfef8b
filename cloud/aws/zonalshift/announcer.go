package zonalshift

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// Announcer refreshes a watch, and notifies NodePools of shifts that begin and end. It is not safe for concurrent use.
type Announcer struct {
	Watch  *Watch
	Client client.Client
	// Manages says which pools are those of this cloud.
	Manages  func(*v1.NodeClassReference) bool
	Recorder *observe.Recorder

	// told are the zones that NodePools have events about.
	told []string
}

// Announce publishes changes once. If an event could not be published, the next call publishes the change again.
func (a *Announcer) Announce(ctx context.Context) error {
	if err := a.Watch.Refresh(ctx); err != nil {
		return err
	}
	zones := a.Watch.Zones()
	if slices.Equal(zones, a.told) {
		return nil
	}
	var pools v1.NodePoolList
	if err := a.Client.List(ctx, &pools); err != nil {
		return fmt.Errorf("listing nodepools: %w", err)
	}
	var classes awsv1.EC2NodeClassList
	if err := a.Client.List(ctx, &classes); err != nil {
		return fmt.Errorf("listing ec2nodeclasses: %w", err)
	}
	for i := range pools.Items {
		pool := &pools.Items[i]
		ref := pool.Spec.Template.Spec.NodeClassRef
		at := slices.IndexFunc(classes.Items, func(c awsv1.EC2NodeClass) bool { return a.Manages(ref) && c.Name == ref.Name })
		if at < 0 {
			continue
		}
		for _, zone := range without(zones, a.told) {
			a.publish(pool, &classes.Items[at], zone, telemetry.ZonalShiftActive)
		}
		for _, zone := range without(a.told, zones) {
			a.publish(pool, &classes.Items[at], zone, telemetry.ZonalShiftCleared)
		}
	}
	a.told = zones
	return nil
}

// without are the values of a that b has not.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// publish publishes an event about a zone on a NodePool, if the NodePool can have nodes there.
func (a *Announcer) publish(pool *v1.NodePool, class *awsv1.EC2NodeClass, zoneID string, event func(*v1.NodePool, string, string) observe.Event) {
	at := slices.IndexFunc(class.Status.Subnets, func(s awsv1.Subnet) bool { return s.ZoneID == zoneID })
	if at < 0 {
		return
	}
	zone, rules := class.Status.Subnets[at].Zone, awsv1.LabelRules()
	template := pool.Spec.Template
	allowed := cloud.Requirements(template.Spec.Requirements, rules).And(cloud.LabelRequirements(template.Labels, rules))
	if allowed.Get(corev1.LabelTopologyZone).Has(zone) && allowed.Get(awsv1.LabelZoneID).Has(zoneID) {
		a.Recorder.Publish(event(pool, zone, zoneID))
	}
}
