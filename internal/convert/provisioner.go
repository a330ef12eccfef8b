package convert

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Labels that Provisioners had defaults for.
const (
	labelArch         = "kubernetes.io/arch"
	labelOS           = "kubernetes.io/os"
	labelCapacityType = groupCore + "/capacity-type"
	labelInstanceType = "node.kubernetes.io/instance-type"
	labelFamily       = groupAWS + "/instance-family"
	labelCategory     = groupAWS + "/instance-category"
	labelGeneration   = groupAWS + "/instance-generation"
)

// provisioner converts a Provisioner to a NodePool, and its inline provider settings to a class.
func (c *conversion) provisioner(all *fields) {
	m := c.start(coreToday, kindPool, c.name, all.take("metadata"))
	in := all.take("spec").fields()
	template := newMapping()
	meta := newMapping()
	labels := in.take("labels")
	c.nodeLabels(m, meta, labels)
	c.nodeAnnotations(m, meta, in.take("annotations"))
	if len(meta.node.Content) > 0 {
		template.add("metadata", meta.node)
	}
	spec := template.child("spec")
	ref := c.providerOf(m, in.take("provider"), in.take("providerRef"))
	m.reference(spec, ref)
	c.requirements(spec, in.take("requirements"), labels, ref.Group == groupAWS)
	c.taints(spec, in.take("taints"))
	c.taints(spec, in.take("startupTaints"))
	c.kubelet = in.take("kubeletConfiguration")
	c.expiry(spec, in.take("ttlSecondsUntilExpired"))
	m.spec.add("template", template.node)
	c.emptiness(m, in.take("ttlSecondsAfterEmpty"), in.take("consolidation"))
	c.limits(m, in.take("limits"))
	m.spec.carry("weight", in.take("weight"))
	in.end()
}

// reference writes the reference of a pool to its class.
func (m *draft) reference(spec *mapping, ref ClassReference) {
	m.class = &ref
	out := object("group", ref.Group, "kind", ref.Kind, "name", ref.Name)
	m.nameNode = child(out.node, "name")
	spec.add("nodeClassRef", out.node)
}

// providerOf returns the class of a Provisioner: the one it refers to, or one made of its inline settings.
func (c *conversion) providerOf(m *draft, inline, ref value) ClassReference {
	switch {
	case inline.present() && ref.present():
		c.addFinding(ref, "provider and providerRef exclude each other")
	case inline.present():
		in := inline.fields()
		for _, name := range []string{"apiVersion", "kind"} {
			if f := in.take(name); f.present() {
				c.leaveOut(m, f, "the settings are a separate EC2NodeClass")
			}
		}
		made := c.start(awsToday, kindClass, c.name, value{c: c, path: "metadata"})
		c.awsSettings(made, in)
		in.end()
		c.notes = append(c.notes, Note{inline.path, "the settings are a separate EC2NodeClass, " + c.name})
		return ClassReference{groupAWS, kindClass, c.name}
	case ref.present():
		in := ref.fields()
		name, kind := in.take("name"), in.take("kind")
		if version := in.take("apiVersion"); version.present() {
			c.leaveOut(m, version, "a reference names the group")
		}
		if kind.present() {
			if kind.text() != kindTemplate {
				c.addFinding(kind, "is %q, want %s", kind.text(), kindTemplate)
			}
			c.leaveOut(m, kind, "its successor is %s", kindClass)
		}
		if !name.present() {
			c.addFinding(name, "missing")
		}
		in.end()
		return ClassReference{groupAWS, kindClass, name.text()}
	case c.settings.DedicatedClass != nil:
		own := c.settings.DedicatedClass
		c.start(own.Group+"/"+own.Version, own.Kind, c.name, value{c: c, path: "metadata"})
		return ClassReference{own.Group, own.Kind, c.name}
	case c.settings.NodeClass != nil:
		return *c.settings.NodeClass
	default:
		c.addFinding(ref, "missing, and so is spec.provider%s", c.settings.hint("name the EC2NodeClass with --node-class"))
	}
	return ClassReference{}
}

// requirements copies requirements and writes out those that the earlier API assumed by default.
func (c *conversion) requirements(spec *mapping, v, labels value, aws bool) {
	out := list()
	asked := map[string]bool{}
	for _, r := range v.items() {
		asked[textAt(r.node, "key")] = true
		c.remember(r)
		out.Content = append(out.Content, r.node)
	}
	if v.present() {
		c.origins[out] = v.path
	}
	for _, l := range labels.fields().rest() {
		asked[l.key.Value] = true
	}
	assume := func(comment, key, operator string, values ...string) {
		r := object("key", key, "operator", operator)
		r.add("values", words(values...))
		r.node.HeadComment = wrap(comment)
		out.Content = append(out.Content, r.node)
	}
	if aws {
		const assumed = "Not in the Provisioner: what the old API assumed. Without it, "
		if !asked[labelCapacityType] {
			assume(assumed+"spot would be used too.", labelCapacityType, "In", "on-demand")
		}
		if !asked[labelArch] && !asked["beta.kubernetes.io/arch"] {
			assume(assumed+"other architectures would be used too.", labelArch, "In", "amd64")
		}
		if !asked[labelOS] && !asked["beta.kubernetes.io/os"] {
			assume(assumed+"other operating systems would be used too.", labelOS, "In", "linux")
		}
		if !asked[labelInstanceType] && !asked["beta.kubernetes.io/instance-type"] && !asked[labelFamily] && !asked[labelCategory] && !asked[labelGeneration] {
			assume(assumed+"every category would be used.", labelCategory, "In", "c", "m", "r")
			assume(assumed+"older generations would be used too.", labelGeneration, "Gt", "2")
		}
	}
	if v.key != nil {
		v.node = out
		spec.carry("requirements", v)
		return
	}
	spec.add("requirements", out)
}

// taints copies taints. An empty value is the same as none, and the current API accepts only none.
func (c *conversion) taints(spec *mapping, v value) {
	for _, t := range v.items() {
		if empty := child(t.node, "value"); empty != nil && empty.Tag == "!!str" && empty.Value == "" {
			drop(t.node, "value")
			t.node.HeadComment = appendLine(t.node.HeadComment, wrap(c.note(value{path: t.path + ".value"}, "an empty value is the same as none")))
		}
	}
	if v.present() {
		spec.carry(v.key.Value, v)
	}
}

// expiry converts the settings for the expiration of nodes.
func (c *conversion) expiry(spec *mapping, ttl value) {
	if !ttl.present() {
		spec.add("expireAfter", scalar("Never"), "Not in the Provisioner, whose nodes then never expired; today's default is 720h.")
		return
	}
	spec.add("expireAfter", ttl.from(scalar(duration(ttl.seconds()))),
		c.note(ttl, "a node is drained at this age, whatever runs there and whether or not a new one is ready; budgets do not hold it up"))
}

// emptiness converts the settings for the removal of unneeded nodes.
func (c *conversion) emptiness(m *draft, ttl, consolidation value) {
	in := consolidation.fields()
	enabled := in.take("enabled")
	in.end()
	on := enabled.boolean()
	out := newMapping()
	switch {
	case on && ttl.present():
		c.addFinding(ttl, "excludes consolidation.enabled: true; keep one of them")
	case on:
		out.add("consolidationPolicy", enabled.from(scalar("WhenEmptyOrUnderutilized")),
			c.note(enabled, "true is called WhenEmptyOrUnderutilized today"))
		out.add("consolidateAfter", scalar("0s"))
	case ttl.present():
		out.add("consolidationPolicy", scalar("WhenEmpty"))
		out.add("consolidateAfter", ttl.from(scalar(duration(ttl.seconds()))),
			c.note(ttl, "counted from the last time that a pod came or went, not from the moment the node was seen empty"))
		out.add("budgets", emptyAtOnce(), "Not in the Provisioner: empty nodes went all at once. The rest is as by default.")
	default:
		out.add("consolidationPolicy", scalar("WhenEmpty"))
		out.add("consolidateAfter", scalar("Never"),
			"Neither ttlSecondsAfterEmpty nor consolidation in the Provisioner: empty nodes stayed. Today's default is 0s.")
	}
	if enabled.present() && !on {
		c.leaveOut(m, enabled, "it is said by the policy")
	}
	m.spec.add("disruption", out.node,
		"Drift is always on today, and limited by budgets like all disruption here; the default is one of 10% of the nodes at a time. "+
			"The old API knew neither, unless drift was turned on.")
}

// emptyAtOnce are budgets that do not limit empty nodes, and limit others as the default does. The budgets that name a reason apply to
// that one only, so together they name each.
func emptyAtOnce() *yaml.Node {
	empty, others := object("nodes", "100%"), object("nodes", "10%")
	empty.add("reasons", words("Empty"))
	others.add("reasons", words("Drifted", "Underutilized"))
	return list(empty.node, others.node)
}

// limits copies limits, which were one level deeper.
func (c *conversion) limits(m *draft, v value) {
	in := v.fields()
	resources := in.take("resources")
	if resources.present() {
		c.origins[resources.node] = resources.path
	}
	m.spec.carry("limits", resources)
	in.end()
}

// duration is a number of seconds in the largest unit that fits.
func duration(seconds int64) string {
	switch {
	case seconds != 0 && seconds%3600 == 0:
		return fmt.Sprintf("%dh", seconds/3600)
	case seconds != 0 && seconds%60 == 0:
		return fmt.Sprintf("%dm", seconds/60)
	default:
		return fmt.Sprintf("%ds", seconds)
	}
}

// drop removes a field from a mapping.
func drop(n *yaml.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = append(n.Content[:i], n.Content[i+2:]...)
			return
		}
	}
}

func appendLine(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}
