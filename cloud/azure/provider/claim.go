package provider

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/launcher"
	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
	"github.com/karpenter-anew/karpenter/cloud/azure/zone"
)

// claimOf is the claim that describes an instance. What depends on a pool, class or type that is gone is left out.
func (p *Provider) claimOf(ctx context.Context, i *instance.Instance) (*v1.NodeClaim, error) {
	pool := i.Tags[label.TagNodePool]
	class, err := p.classOfPool(ctx, pool)
	if err != nil {
		return nil, err
	}
	var t *cloud.InstanceType
	if class != nil {
		if all, err := p.Catalog.Types(ctx, class); err == nil {
			t = typeNamed(all, i.Size)
		}
	}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: ownerOf(i), CreationTimestamp: metav1.NewTime(i.Created), Labels: labelsOf(i, t)}}
	if pool != "" {
		claim.Labels[v1.NodePoolLabelKey] = pool
	}
	if i.Deleting {
		now := metav1.NewTime(p.Catalog.Clock.Now())
		claim.DeletionTimestamp = &now
	}
	if claim.Status.ProviderID, err = i.ProviderID(); err != nil {
		return nil, err
	}
	claim.UID, _ = p.started.Get(claim.Status.ProviderID)
	claim.Status.ImageID = i.ImageID
	if i.AKSMachineID != "" {
		claim.Annotations = map[string]string{label.AnnotationAKSMachineResourceID: i.AKSMachineID}
	}
	if t != nil {
		claim.Status.Capacity, claim.Status.Allocatable = withoutZeros(t.Capacity), withoutZeros(t.Allocatable())
	}
	return claim, nil
}

// ownerOf is the name of the NodeClaim that an instance was launched for; empty if the instance does not say. It protects the instance of a
// NodeClaim that an earlier process launched without having written its provider ID.
func ownerOf(i *instance.Instance) string {
	if i.AKSMachineID != "" {
		return i.Tags[label.TagAKSMachineNodeClaim]
	}
	name, _ := naming.NodeClaimOfVM(i.Name)
	return name
}

func typeNamed(types []*cloud.InstanceType, name string) *cloud.InstanceType {
	for _, t := range types {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// describe returns the NodeClaim with labels, annotations and status of its instance.
func (p *Provider) describe(claim *v1.NodeClaim, l *launcher.Launched) (*v1.NodeClaim, error) {
	out := claim.DeepCopy()
	out.Labels = labelsOf(l.Instance, l.Type)
	if l.Request.Choice.UltraSSD {
		out.Labels[label.SKUUltraSSD] = label.True
	}
	rules := label.Rules()
	for _, r := range claim.Spec.Requirements {
		if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 && rules.WellKnown[r.Key] {
			if _, have := out.Labels[r.Key]; !have {
				out.Labels[r.Key] = r.Values[0]
			}
		}
	}
	maps.Copy(out.Labels, claim.Labels)
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[label.AnnotationHash] = l.Request.Class.Hash()
	out.Annotations[label.AnnotationHashVersion] = v1beta1.HashVersion
	out.Annotations[label.AnnotationInPlaceUpdateHash] = l.InPlace.Hash()
	if id := l.Instance.AKSMachineID; id != "" {
		out.Annotations[label.AnnotationAKSMachineResourceID] = id
	}
	var err error
	if out.Status.ProviderID, err = l.Instance.ProviderID(); err != nil {
		return nil, err
	}
	out.Status.ImageID = l.Instance.ImageID
	if l.Type != nil {
		out.Status.Capacity, out.Status.Allocatable = withoutZeros(l.Type.Capacity), withoutZeros(l.Type.Allocatable())
		if l.Offering != nil {
			out.Status.Capacity, out.Status.Allocatable = withoutZeros(l.Type.CapacityOf(l.Offering)), withoutZeros(l.Type.AllocatableOf(l.Offering))
		}
	}
	return out, nil
}

// labelsOf are the labels of an instance: those that its type leaves no choice about, and how it was bought. The type may be nil.
func labelsOf(i *instance.Instance, t *cloud.InstanceType) map[string]string {
	out := map[string]string{}
	if t != nil {
		for _, r := range t.Requirements {
			if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
				out[r.Key] = r.Values[0]
			}
		}
	}
	delete(out, label.SKUUltraSSD) // what the type can have, the instance need not
	priority := label.PriorityRegular
	if i.CapacityType == v1.CapacityTypeSpot {
		priority = label.PrioritySpot
	}
	maps.Copy(out, map[string]string{
		corev1.LabelInstanceTypeStable: i.Size, corev1.LabelTopologyZone: i.Zone, v1.CapacityTypeLabelKey: i.CapacityType,
		label.PlacementScope: zone.PlacementScope(i.Zone), label.AKSScaleSetPriority: priority, label.AKSPriority: priority,
	})
	return out
}

// withoutZeros drops zero quantities.
func withoutZeros(list corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range list {
		if !q.IsZero() {
			out[name] = q.DeepCopy()
		}
	}
	return out
}
