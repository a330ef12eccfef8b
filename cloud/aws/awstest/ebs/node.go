package ebs

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

// serveNodes starts the driver on nodes on which it does not run.
func (d *Driver) serveNodes(ctx context.Context, seen *view) {
	var machines []awstest.Host
	for i := range seen.nodes.Items {
		node := &seen.nodes.Items[i]
		if node.DeletionTimestamp != nil || node.Labels[ZoneLabel] != "" && !slices.ContainsFunc(node.Spec.Taints, notReady) {
			continue
		}
		if machines == nil {
			machines = d.o.Account.Hosts()
		}
		at := slices.IndexFunc(machines, func(m awstest.Host) bool { return strings.HasSuffix(node.Spec.ProviderID, "/"+m.ID) })
		if at < 0 {
			continue
		}
		registered := slices.ContainsFunc(seen.drivers.Items, func(n storagev1.CSINode) bool { return n.Name == node.Name })
		if !registered && d.o.Client.Create(ctx, csiNode(node, &machines[at])) != nil {
			continue
		}
		before := node.DeepCopy()
		metav1.SetMetaDataLabel(&node.ObjectMeta, ZoneLabel, machines[at].Zone)
		node.Spec.Taints = slices.DeleteFunc(slices.Clone(node.Spec.Taints), notReady)
		// A taint that another client adds concurrently must not be lost.
		_ = d.o.Client.Patch(ctx, node, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
}

func notReady(t corev1.Taint) bool { return t.Key == NotReady }

// csiNode publishes how many volumes can be attached to the instance of a node. The node owns it.
func csiNode(node *corev1.Node, m *awstest.Host) *storagev1.CSINode {
	count := int32(m.Volumes)
	return &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
		}},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: Name, NodeID: m.ID, TopologyKeys: []string{ZoneLabel}, Allocatable: &storagev1.VolumeNodeResources{Count: &count}},
		}},
	}
}
