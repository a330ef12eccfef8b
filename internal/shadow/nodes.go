package shadow

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// followNodes keeps the nodes that no NodePool manages equal: they are there for both fleets.
func (m *Mirror) followNodes(real, mirror Cluster) []Change {
	var out []Change
	managed := real.claims()
	for _, o := range real.all("Node") {
		node, ok := o.(*corev1.Node)
		if !ok || owned(node, managed) || node.DeletionTimestamp != nil {
			continue
		}
		id := ref{"Node", client.ObjectKeyFromObject(node)}
		twin := mirror.get("Node", id.key)
		now := nodeVersion(node)
		if twin != nil && m.sources[id] == now {
			continue
		}
		m.sources[id], m.nodes[node.Name] = now, true
		want := reflectNode(node)
		out = append(out, m.write(want, twin)...)
	}
	for id := range m.sources {
		if id.kind != "Node" || real.get("Node", id.key) != nil {
			continue
		}
		if twin := mirror.get("Node", id.key); twin != nil {
			out = append(out, Change{Verb: Delete, Object: twin})
		}
		delete(m.sources, id)
		delete(m.nodes, id.key.Name)
	}
	return out
}

// owned: a NodeClaim has the node, or had it.
func owned(node *corev1.Node, claims map[string]*v1.NodeClaim) bool {
	return claims[node.Spec.ProviderID] != nil || node.Labels[v1.NodePoolLabelKey] != ""
}

// nodeVersion changes when something changes that pods depend on, and not with each heartbeat.
func nodeVersion(node *corev1.Node) string {
	parts := struct {
		Labels   map[string]string
		Taints   []corev1.Taint
		Closed   bool
		Capacity corev1.ResourceList
	}{node.Labels, node.Spec.Taints, node.Spec.Unschedulable, node.Status.Allocatable}
	return digest(parts)
}

// reflectNode is the node of the mirror for a real one: a node that is ready.
func reflectNode(node *corev1.Node) *corev1.Node {
	out := node.DeepCopy()
	strip(out)
	out.Spec.Taints = slices.DeleteFunc(out.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	})
	out.Status.VolumesInUse, out.Status.VolumesAttached, out.Status.Images = nil, nil, nil
	return out
}

// seed creates the nodes that Karpenter has launched until now, with their NodeClaims. NodeClaims without a Node, and those that are being
// deleted, have no twin: the controller of the mirror decides what their pods need.
func (m *Mirror) seed(real Cluster) []Change {
	var out []Change
	claims := real.claims()
	for _, o := range real.all("Node") {
		node, ok := o.(*corev1.Node)
		if !ok {
			continue
		}
		claim := claims[node.Spec.ProviderID]
		if claim == nil {
			continue
		}
		if claim.DeletionTimestamp != nil || node.DeletionTimestamp != nil {
			m.leftAtStart["NodeClaims that were being deleted at the start"]++
			continue
		}
		pool, _ := real.get("NodePool", types.NamespacedName{Name: claim.Labels[v1.NodePoolLabelKey]}).(*v1.NodePool)
		twinClaim, twinNode := m.seededClaim(claim, node, pool), m.seededNode(node)
		m.nodes[node.Name] = true
		out = append(out, Change{Verb: Create, Object: twinClaim, Status: true}, Change{Verb: Create, Object: twinNode, Status: true})
	}
	return out
}

func (m *Mirror) seededNode(node *corev1.Node) *corev1.Node {
	out := reflectNode(node)
	out.Spec.ProviderID = m.settings.ProviderID(node.Name)
	out.Spec.Unschedulable = false
	disrupted := v1.DisruptedNoScheduleTaint()
	out.Spec.Taints = slices.DeleteFunc(out.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&disrupted) })
	out.Finalizers = []string{v1.TerminationFinalizer}
	out.Labels = maps.Clone(out.Labels)
	return out
}

func (m *Mirror) seededClaim(claim *v1.NodeClaim, node *corev1.Node, pool *v1.NodePool) *v1.NodeClaim {
	out := claim.DeepCopy()
	strip(out)
	out.Finalizers = []string{v1.TerminationFinalizer}
	class := m.settings.NodeClass
	out.Spec.NodeClassRef = &class
	out.Status.ProviderID, out.Status.NodeName = m.settings.ProviderID(node.Name), node.Name
	if pool == nil {
		return out
	}
	// The template of the mirror has another node class, and so another hash: what matters is whether the claim matches its template.
	hash := pool.Annotations[v1.NodePoolHashAnnotationKey]
	if hash != "" && hash == claim.Annotations[v1.NodePoolHashAnnotationKey] {
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		if twin, ok := m.reflect(pool).(*v1.NodePool); ok {
			out.Annotations[v1.NodePoolHashAnnotationKey] = twin.Hash()
			out.Annotations[v1.NodePoolHashVersionAnnotationKey] = v1.NodePoolHashVersion
		}
		return out
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[v1.NodePoolHashAnnotationKey] = "drifted"
	out.Annotations[v1.NodePoolHashVersionAnnotationKey] = v1.NodePoolHashVersion
	return out
}
