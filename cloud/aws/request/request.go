package request

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/devices"
	"github.com/karpenter-anew/karpenter/cloud/aws/fleet"
	"github.com/karpenter-anew/karpenter/cloud/aws/image"
	"github.com/karpenter-anew/karpenter/cloud/aws/launch"
	"github.com/karpenter-anew/karpenter/cloud/aws/resourcetags"
	"github.com/karpenter-anew/karpenter/cloud/aws/subnet"
	"github.com/karpenter-anew/karpenter/cloud/aws/template"
)

// templateKey is what candidates have in common that share a launch template.
type templateKey struct {
	image         string
	pods, efas    int64
	reservation   string
	capacityBlock bool
	interruptible bool
	// reserved are the reserved resources, in JSON, if expressions give different amounts for different types; empty otherwise.
	reserved string
}

// Launch returns the request to EC2 for a launch, and the launch templates that it names: one for each image, number of pods, number of adapters
// and reservation.
func (b *Builder) Launch(ctx context.Context, claim *v1.NodeClaim, class *awsv1.EC2NodeClass, order launch.Order, choice subnet.Choice) (fleet.Request, []*ec2.CreateLaunchTemplateInput, error) {
	tags := resourcetags.LaunchTags(class.Spec.Tags, b.Cluster.Name, claim.Labels[v1.NodePoolLabelKey], class.Name)
	out := fleet.Request{CapacityType: order.CapacityType, Tags: tags, PriceOverlaid: hasAnnotation(claim, v1.PriceOverlayAppliedAnnotationKey)}
	if !Relaxed(claim) {
		out.Context = class.Spec.Context
	}
	ways, err := b.overridesByTemplate(claim, class, order, choice)
	if err != nil {
		return out, nil, err
	}
	var templates []*ec2.CreateLaunchTemplateInput
	for _, m := range slices.SortedFunc(maps.Keys(ways), compareTemplateKeys) {
		t, err := b.template(ctx, claim, class, order, m, tags)
		if err != nil {
			return out, nil, err
		}
		templates = append(templates, t)
		out.Configs = append(out.Configs, fleet.Config{Template: aws.ToString(t.LaunchTemplateName), Overrides: ways[m]})
		out.CapacityBlock, out.Interruptible = m.capacityBlock, m.interruptible
	}
	return out, templates, nil
}

func compareTemplateKeys(a, b templateKey) int {
	return cmp.Or(strings.Compare(a.image, b.image), cmp.Compare(a.pods, b.pods), cmp.Compare(a.efas, b.efas), strings.Compare(a.reservation, b.reservation), strings.Compare(a.reserved, b.reserved))
}

func hasAnnotation(claim *v1.NodeClaim, key string) bool {
	_, ok := claim.Annotations[key]
	return ok
}

// overridesByTemplate returns the overrides of a launch by the launch template that they need.
func (b *Builder) overridesByTemplate(claim *v1.NodeClaim, class *awsv1.EC2NodeClass, order launch.Order, choice subnet.Choice) (map[templateKey][]fleet.Override, error) {
	if len(class.Status.AMIs) == 0 {
		return nil, errors.New("no amis exist given constraints")
	}
	in := map[string]string{} // subnets by zone
	for _, s := range choice.Subnets {
		in[s.Zone] = s.ID
	}
	images := map[*cloud.InstanceType]string{}
	out := map[templateKey][]fleet.Override{}
	for _, c := range order.Candidates {
		id, looked := images[c.Type]
		if !looked {
			if chosen, ok := image.Choose(class.Status.AMIs, c.Type); ok {
				id = chosen.ID
			}
			images[c.Type] = id
		}
		zone := c.Offering.Zone()
		if id == "" || in[zone] == "" {
			continue
		}
		m := templateKey{
			image: id, pods: c.Type.Capacity.Pods().Value(), efas: requestedEFAs(claim, c.Type), reservation: c.Offering.Label(awsv1.LabelCapacityReservationID),
			capacityBlock: c.Offering.Label(awsv1.LabelCapacityReservationType) == string(awsv1.CapacityReservationTypeCapacityBlock),
			interruptible: c.Offering.Label(awsv1.LabelCapacityReservationInterruptible) == "true",
		}
		var err error
		if m.reserved, err = b.Catalog.Reserved(class, c.Type.Name); err != nil {
			return nil, err
		}
		out[m] = append(out[m], fleet.Override{InstanceType: c.Type.Name, Zone: zone, SubnetID: in[zone], ImageID: id, Price: c.Offering.Price})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no instance types satisfy requirements of amis %v", amiIDs(class))
	}
	return out, nil
}

func amiIDs(class *awsv1.EC2NodeClass) []string {
	var out []string
	for _, i := range class.Status.AMIs {
		out = append(out, i.ID)
	}
	return out
}

// requestedEFAs is how many fabric adapters an instance gets: all that its type supports, if the claim requests any, as a resource or as
// devices.
func requestedEFAs(claim *v1.NodeClaim, t *cloud.InstanceType) int64 {
	drivers := strings.Split(claim.Annotations[v1.RequestedDRADriversAnnotationKey], ",")
	if q := claim.Spec.Resources.Requests[awsv1.ResourceEFA]; q.IsZero() && !slices.Contains(drivers, devices.EFA) {
		return 0
	}
	q := t.Capacity[awsv1.ResourceEFA]
	return q.Value()
}

// EFAs is how many fabric adapters the instance has, configured by the class or requested by the claim.
func EFAs(claim *v1.NodeClaim, class *awsv1.EC2NodeClass, t *cloud.InstanceType) int64 {
	var laidOut int64
	for _, i := range class.Spec.NetworkInterfaces {
		if i.InterfaceType == awsv1.InterfaceTypeEFAOnly {
			laidOut++
		}
	}
	if laidOut > 0 {
		return laidOut
	}
	return requestedEFAs(claim, t)
}

// template returns the launch template for a key.
func (b *Builder) template(ctx context.Context, claim *v1.NodeClaim, class *awsv1.EC2NodeClass, order launch.Order, m templateKey, tags map[string]string) (*ec2.CreateLaunchTemplateInput, error) {
	text, err := b.userData(ctx, claim, class, order.CapacityType, m)
	if err != nil {
		return nil, err
	}
	in := template.Input{
		Class: class, Tags: tags, UserData: base64.StdEncoding.EncodeToString([]byte(text)), ImageID: m.image, CapacityType: order.CapacityType,
		Tenancy: order.Tenancy, Partition: order.Partition, EFAs: m.efas, ReservesCapacity: b.ReservesCapacity,
		IPv6: strings.Contains(b.Cluster.Facts().DNS, ":"), MetadataHasNoIPv6: strings.HasPrefix(b.Region, "us-iso"),
		PlacementGroupID: OnlyValue(order.Candidates[0].Type, awsv1.LabelPlacementGroupID),
	}
	if m.reservation != "" {
		at := slices.IndexFunc(class.Status.CapacityReservations, func(r awsv1.CapacityReservation) bool { return r.ID == m.reservation })
		if at < 0 {
			return nil, fmt.Errorf("capacity reservation %q is not in the status of the class", m.reservation)
		}
		in.Reservation = &class.Status.CapacityReservations[at]
	}
	return template.Build(in)
}

// Relaxed reports whether a claim's minValues were relaxed.
func Relaxed(claim *v1.NodeClaim) bool {
	return claim.Annotations[v1.NodeClaimMinValuesRelaxedAnnotationKey] == "true"
}

// OnlyValue is the one value that a type has for a label; empty for none or several.
func OnlyValue(t *cloud.InstanceType, key string) string {
	for _, r := range t.Requirements {
		if r.Key == key && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
			return r.Values[0]
		}
	}
	return ""
}
