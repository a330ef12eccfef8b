package kwok

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// publish simulates the device drivers of a node: it publishes the devices of the node's type.
// It does not change existing slices. The Node owns them.
func (j *joiner) publish(ctx context.Context, node *corev1.Node) error {
	devices := j.devices[node.Labels[corev1.LabelInstanceTypeStable]]
	if devices == nil {
		return nil
	}
	for i := range devices.ResourceSlices {
		slice := sliceOn(node, i, &devices.ResourceSlices[i])
		settle(slice, devices, i, string(node.UID))
		if err := j.client.Create(ctx, slice); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("publishing resource slice %q: %w", slice.Name, err)
		}
	}
	return nil
}

// sliceOn is the i-th slice of a node's type as published on the node. Names of pools and slices are unique in the
// cluster.
func sliceOn(node *corev1.Node, i int, template *resourcev1.ResourceSlice) *resourcev1.ResourceSlice {
	spec := template.Spec.DeepCopy()
	spec.NodeName, spec.NodeSelector, spec.AllNodes = &node.Name, nil, nil
	spec.Pool.Name = node.Name + "-" + spec.Pool.Name
	spec.Pool.Generation = 1
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:            fmt.Sprintf("%s-%s-%d", node.Name, strings.ReplaceAll(spec.Driver, ".", "-"), i),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		},
		Spec: *spec,
	}
}

// settle sets the attributes of the i-th slice that are known only on the running node: devices that are bound to
// each other, directly or indirectly, get the same value, which is unique to the node.
func settle(slice *resourcev1.ResourceSlice, devices *cloud.DynamicResources, i int, node string) {
	template := &devices.ResourceSlices[i].Spec
	for d := range slice.Spec.Devices {
		id := cloud.DeviceID{Driver: template.Driver, Pool: template.Pool.Name, Device: template.Devices[d].Name}
		for _, b := range devices.AttributeBindings {
			if !slices.Contains(b.Devices, id) {
				continue
			}
			if slice.Spec.Devices[d].Attributes == nil {
				slice.Spec.Devices[d].Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}
			}
			value := fmt.Sprintf("%s-%d", node, first(devices.AttributeBindings, b))
			slice.Spec.Devices[d].Attributes[resourcev1.QualifiedName(b.Attribute)] = resourcev1.DeviceAttribute{StringValue: &value}
		}
	}
}

// first is the first binding of the attribute to which b is connected.
func first(all []cloud.AttributeBinding, b cloud.AttributeBinding) int {
	connected := slices.Clone(b.Devices)
	for grown := true; grown; {
		grown = false
		for _, other := range all {
			meets := slices.ContainsFunc(other.Devices, func(d cloud.DeviceID) bool { return slices.Contains(connected, d) })
			adds := slices.ContainsFunc(other.Devices, func(d cloud.DeviceID) bool { return !slices.Contains(connected, d) })
			if other.Attribute == b.Attribute && meets && adds {
				connected, grown = append(connected, other.Devices...), true
			}
		}
	}
	return slices.IndexFunc(all, func(other cloud.AttributeBinding) bool {
		return other.Attribute == b.Attribute && slices.Contains(connected, other.Devices[0])
	})
}

// silent reports whether the drivers of a NodeClaim's node may not have published yet.
func (j *joiner) silent(claim *v1.NodeClaim) bool {
	return j.devices[claim.Labels[corev1.LabelInstanceTypeStable]] != nil && condition.Status(claim, v1.ConditionTypeInitialized) != metav1.ConditionTrue
}

// devicesByType are the devices of types, by the type's name; types without devices are missing.
func devicesByType(types []*cloud.InstanceType) map[string]*cloud.DynamicResources {
	out := map[string]*cloud.DynamicResources{}
	for _, t := range types {
		if t.DynamicResources != nil {
			out[t.Name] = t.DynamicResources
		}
	}
	return out
}
