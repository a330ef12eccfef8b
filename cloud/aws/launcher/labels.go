package launcher

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
)

// Labels are the labels of an instance's node: what its type is, and how it was bought.
func Labels(i *instance.Instance, class *awsv1.EC2NodeClass, t *cloud.InstanceType) map[string]string {
	out := map[string]string{}
	if t != nil {
		for _, r := range t.Requirements {
			if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
				out[r.Key] = r.Values[0]
			}
		}
	}
	// These are about how types can be bought.
	for _, key := range awsv1.LaunchLabels() {
		delete(out, key)
	}
	delete(out, awsv1.LabelZoneID)
	maps.Copy(out, map[string]string{
		corev1.LabelInstanceTypeStable: i.Type, corev1.LabelTopologyZone: i.Zone, v1.CapacityTypeLabelKey: i.CapacityType, awsv1.LabelInstanceTenancy: i.Tenancy,
	})
	if class != nil {
		for _, s := range class.Status.Subnets {
			if s.Zone == i.Zone && s.ZoneID != "" {
				out[awsv1.LabelZoneID] = s.ZoneID
				break
			}
		}
	}
	if i.CapacityType == v1.CapacityTypeReserved {
		out[awsv1.LabelCapacityReservationID] = i.ReservationID
		out[awsv1.LabelCapacityReservationType] = string(i.ReservationType)
		out[awsv1.LabelCapacityReservationInterruptible] = strconv.FormatBool(i.Interruptible)
	}
	if i.PlacementGroupID != "" {
		out[awsv1.LabelPlacementGroupID] = i.PlacementGroupID
		if i.Partition > 0 {
			out[awsv1.LabelPlacementGroupPartition] = strconv.Itoa(int(i.Partition))
		}
	}
	return out
}

// WithoutZeros drops zero quantities. Fabric adapters are present only if the instance has them.
func WithoutZeros(list corev1.ResourceList, efas int64) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range list {
		if !q.IsZero() && (name != awsv1.ResourceEFA || efas > 0) {
			out[name] = q.DeepCopy()
		}
	}
	return out
}
