package convert

import (
	"go.yaml.in/yaml/v3"
)

// writtenByCluster are the fields of metadata that users do not set.
func writtenByCluster() []string {
	return []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"managedFields", "selfLink", "finalizers", "ownerReferences",
	}
}

// goneAnnotations are annotations of pools and classes that are no longer read, or are recomputed, with the
// reason.
func goneAnnotations() map[string]string {
	const hash = "Karpenter works the hash out anew"
	const marker = "it is no longer used"
	return map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": "it holds the old object; kubectl writes it anew",
		"karpenter.sh/provisioner-hash":                    hash,
		"karpenter.sh/nodepool-hash":                       hash,
		"karpenter.sh/nodepool-hash-version":               hash,
		"karpenter.k8s.aws/nodetemplate-hash":              hash,
		"karpenter.k8s.aws/ec2nodeclass-hash":              hash,
		"karpenter.k8s.aws/ec2nodeclass-hash-version":      hash,
		"karpenter.azure.com/aksnodeclass-hash":            hash,
		"karpenter.azure.com/aksnodeclass-hash-version":    hash,
		"karpenter.sh/voluntary-disruption":                "what is to be disrupted is told by conditions of NodeClaims",
		"karpenter.sh/linked":                              marker,
		"karpenter.sh/managed-by":                          marker,
	}
}

// renamedAnnotations are annotations of nodes that have another name in the current API.
func renamedAnnotations() map[string]string {
	return map[string]string{
		"karpenter.sh/do-not-evict":       "karpenter.sh/do-not-disrupt",
		"karpenter.sh/do-not-consolidate": "karpenter.sh/do-not-disrupt",
	}
}

// metadata copies the metadata of an object. The name is m's, which the source object may not have.
func (c *conversion) metadata(m *draft, v value) {
	out := m.root.child("metadata")
	in := v.fields()
	name := in.take("name")
	switch {
	case m.name == "" && len(c.drafts) > 1: // it is noted already
	case m.name == "":
		c.addFinding(value{path: join(v.path, "name")}, "missing")
	case name.present():
		out.carry("name", name)
	default:
		out.add("name", scalar(m.name))
	}
	m.nameNode = child(out.node, "name")
	out.carry("labels", in.take("labels"))
	c.annotations(m, out, in.take("annotations"))
	for _, gone := range writtenByCluster() {
		if f := in.take(gone); f.present() {
			c.leaveOut(m, f, "the cluster writes it")
		}
	}
	if f := in.take("namespace"); f.present() {
		c.leaveOut(m, f, "the object belongs to the whole cluster")
	}
	in.end()
}

// annotations copies the annotations that the current API reads.
func (c *conversion) annotations(m *draft, out *mapping, v value) {
	kept := newMapping()
	for _, a := range v.fields().rest() {
		if why, gone := goneAnnotations()[a.key.Value]; gone {
			a.node = &yaml.Node{} // too long to repeat
			c.leaveOut(m, a, "%s", why)
			continue
		}
		kept.carry(a.key.Value, a)
	}
	if len(kept.node.Content) > 0 {
		c.origins[kept.node] = v.path
		out.add("annotations", kept.node)
	}
}

// nodeAnnotations copies annotations for nodes, under their current names.
func (c *conversion) nodeAnnotations(m *draft, out *mapping, v value) {
	kept := newMapping()
	all := v.fields().rest()
	for _, a := range all {
		today, renamed := renamedAnnotations()[a.key.Value]
		switch {
		case !renamed:
			kept.carry(a.key.Value, a)
		case kept.has(today) || child(v.node, today) != nil:
			c.leaveOut(m, a, "it is called %s today, which is there as well", today)
		default:
			kept.carry(today, a, c.note(a, "it is called %s today, and keeps nodes from every voluntary disruption", today))
		}
	}
	if len(kept.node.Content) > 0 {
		c.origins[kept.node] = v.path
		out.add("annotations", kept.node)
	}
}

// nodeLabels copies labels for nodes, except the one that Karpenter sets itself.
func (c *conversion) nodeLabels(m *draft, out *mapping, v value) {
	kept := newMapping()
	for _, l := range v.fields().rest() {
		if l.key.Value == "karpenter.sh/provisioner-name" {
			c.leaveOut(m, l, "the label is called karpenter.sh/nodepool today, and Karpenter sets it")
			continue
		}
		kept.carry(l.key.Value, l)
	}
	if len(kept.node.Content) > 0 {
		c.origins[kept.node] = v.path
		out.add("labels", kept.node)
	}
}
