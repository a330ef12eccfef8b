package convert

import "strings"

// pool converts a NodePool of v1beta1.
func (c *conversion) pool(all *fields) {
	m := c.start(coreToday, kindPool, c.name, all.take("metadata"))
	in := all.take("spec").fields()
	old := in.take("template").fields()
	template := newMapping()
	if meta := old.take("metadata"); meta.present() {
		inner, out := meta.fields(), newMapping()
		c.nodeLabels(m, out, inner.take("labels"))
		c.nodeAnnotations(m, out, inner.take("annotations"))
		inner.end()
		template.add("metadata", out.node)
	}
	oldSpec := old.take("spec").fields()
	spec := template.child("spec")
	m.reference(spec, c.classOf(m, oldSpec.take("nodeClassRef")))
	c.requirements(spec, oldSpec.take("requirements"), value{c: c}, false)
	c.taints(spec, oldSpec.take("taints"))
	c.taints(spec, oldSpec.take("startupTaints"))
	if resources := oldSpec.take("resources"); resources.present() {
		c.leaveOut(m, resources, "a pool asks for no resources; it never had an effect")
	}
	c.kubelet = oldSpec.take("kubelet")
	oldSpec.end()
	old.end()
	m.spec.add("template", template.node)
	c.disruption(m, spec, in.take("disruption"))
	m.spec.carry("limits", in.take("limits"))
	m.spec.carry("weight", in.take("weight"))
	in.end()
}

// classOf returns the class that a pool of v1beta1 refers to, by a reference with a version.
func (c *conversion) classOf(m *draft, v value) ClassReference {
	in := v.fields()
	version, kind, name := in.take("apiVersion"), in.take("kind"), in.take("name")
	in.end()
	ref := ClassReference{groupAWS, kindClass, name.text()}
	if !name.present() {
		c.addFinding(name, "missing")
	}
	if version.present() {
		ref.Group, _, _ = strings.Cut(version.text(), "/")
		m.head = append(m.head, c.note(version, "%q has become the group %s", version.text(), ref.Group))
	}
	switch {
	case kind.present():
		ref.Kind = kind.text()
	case ref.Group == groupAzure:
		ref.Kind = kindAKSClass
	}
	return ref
}

// disruption converts the settings for disruption. The expiration of nodes has moved to the template.
func (c *conversion) disruption(m *draft, spec *mapping, v value) {
	in := v.fields()
	policy, after, expire := in.take("consolidationPolicy"), in.take("consolidateAfter"), in.take("expireAfter")
	spec.carry("expireAfter", expire, comments(expire, func() string {
		return c.note(expire, "it belongs to the template today. A node is drained at this age, whether or not a new one is ready; budgets do not hold it up")
	})...)
	out := newMapping()
	switch {
	case policy.present() && policy.text() == "WhenUnderutilized":
		out.add("consolidationPolicy", policy.from(scalar("WhenEmptyOrUnderutilized")), c.note(policy, "WhenUnderutilized is called WhenEmptyOrUnderutilized today"))
	case policy.present():
		out.carry("consolidationPolicy", policy)
	default:
		out.add("consolidationPolicy", scalar("WhenEmptyOrUnderutilized"))
	}
	switch {
	case policy.present() && policy.text() == "WhenEmpty" && !after.present():
		c.addFinding(after, "missing: WhenEmpty needs it")
	case after.present():
		out.carry("consolidateAfter", after)
	default:
		out.add("consolidateAfter", scalar("0s"))
	}
	out.carry("budgets", in.take("budgets"))
	in.end()
	c.origins[out.node] = v.path
	m.spec.add("disruption", out.node)
}

// comments returns the comment for a field, if the field exists.
func comments(v value, make func() string) []string {
	if !v.present() {
		return nil
	}
	return []string{make()}
}

// class converts an EC2NodeClass of v1beta1.
func (c *conversion) class(all *fields) {
	m := c.start(awsToday, kindClass, c.name, all.take("metadata"))
	in := all.take("spec").fields()
	c.identity(m, in.take("instanceProfile"), in.take("role"), in.path)
	family, terms := in.take("amiFamily"), in.take("amiSelectorTerms")
	if len(terms.items()) > 0 {
		c.family(m, family)
		m.spec.carry("amiSelectorTerms", terms)
	} else {
		c.familyImages(m, family, terms.path)
	}
	for _, name := range []string{
		"subnetSelectorTerms", "securityGroupSelectorTerms", "associatePublicIPAddress", "userData", "tags", "blockDeviceMappings",
		"instanceStorePolicy", "detailedMonitoring", "context",
	} {
		m.spec.carry(name, in.take(name))
	}
	c.metadataOptions(m, in.take("metadataOptions"))
	in.end()
}
