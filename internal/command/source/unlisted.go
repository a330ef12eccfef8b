package source

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
)

// UnlistedNodes notes that nodes of NodePools have instance types or zones that the cloud does not list for them: the cluster has other
// instance types. It returns nothing if all are listed.
func UnlistedNodes(ctx context.Context, opened plugin.Opened) []string {
	listed := listedPlaces(ctx, opened)
	all, missing, example := 0, 0, ""
	for _, o := range opened.Objects {
		node, ok := o.(*corev1.Node)
		if !ok {
			continue
		}
		places, known := listed[node.Labels[v1.NodePoolLabelKey]]
		instanceType, zone := node.Labels[corev1.LabelInstanceTypeStable], node.Labels[corev1.LabelTopologyZone]
		if !known || instanceType == "" || zone == "" {
			continue
		}
		if all++; !places[typeInZone{instanceType, zone}] {
			missing++
			example = cmp.Or(example, instanceType+" in "+zone)
		}
	}
	if missing == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s has no offering for %d of %d nodes of NodePools, such as %s: the cluster seems to have other instance "+
		"types, and nodes to launch and prices are wrong then", opened.Source, missing, all, example)}
}

// typeInZone is where an instance type is offered.
type typeInZone struct{ instanceType, zone string }

// listedPlaces are the places of all offerings, by NodePool. NodePools whose instance types cannot be listed are left out.
func listedPlaces(ctx context.Context, opened plugin.Opened) map[string]map[typeInZone]bool {
	out := map[string]map[typeInZone]bool{}
	for _, o := range opened.Objects {
		pool, ok := o.(*v1.NodePool)
		if !ok || !opened.Cloud.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		types, err := opened.Cloud.Provider.InstanceTypes(ctx, pool)
		if err != nil {
			continue
		}
		places := map[typeInZone]bool{}
		for _, t := range types {
			for i := range t.Offerings {
				places[typeInZone{t.Name, t.Offerings[i].Zone()}] = true
			}
		}
		out[pool.Name] = places
	}
	return out
}
