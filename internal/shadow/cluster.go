package shadow

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Cluster is the state of one cluster: objects of Kinds. They are not changed.
type Cluster struct {
	byKind map[string]map[types.NamespacedName]client.Object
}

// ClusterOf is the cluster with some objects; those of other kinds are left out.
func ClusterOf(objects []client.Object) Cluster {
	c := Cluster{byKind: map[string]map[types.NamespacedName]client.Object{}}
	for _, o := range objects {
		kind := kindOf(o)
		if kind == "" {
			continue
		}
		if c.byKind[kind] == nil {
			c.byKind[kind] = map[types.NamespacedName]client.Object{}
		}
		c.byKind[kind][client.ObjectKeyFromObject(o)] = o
	}
	return c
}

// all are the objects of a kind, by namespace and name.
func (c Cluster) all(kind string) []client.Object {
	out := make([]client.Object, 0, len(c.byKind[kind]))
	for _, o := range c.byKind[kind] {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return out
}

func (c Cluster) get(kind string, key types.NamespacedName) client.Object {
	return c.byKind[kind][key]
}

// claims are the NodeClaims by the provider ID of their instance.
func (c Cluster) claims() map[string]*v1.NodeClaim {
	out := map[string]*v1.NodeClaim{}
	for _, o := range c.byKind["NodeClaim"] {
		if claim, ok := o.(*v1.NodeClaim); ok && claim.Status.ProviderID != "" {
			out[claim.Status.ProviderID] = claim
		}
	}
	return out
}

func (c Cluster) pods() []*corev1.Pod {
	list := c.all("Pod")
	out := make([]*corev1.Pod, 0, len(list))
	for _, o := range list {
		if pod, ok := o.(*corev1.Pod); ok {
			out = append(out, pod)
		}
	}
	return out
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
