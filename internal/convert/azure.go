package convert

// aksClass converts an AKSNodeClass of the deprecated version, which has the same fields.
func aksClass(c *conversion, all *fields) {
	m := c.start(azureToday, kindAKSClass, c.name, all.take("metadata"))
	for _, f := range all.take("spec").fields().rest() {
		m.spec.carry(f.key.Value, f)
	}
}

// kubeletOfAKS are the kubelet settings of pools in earlier APIs that AKSNodeClasses have, too. The others had no effect on AKS, or AKS
// decides about them.
func kubeletOfAKS() []string {
	return []string{"imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "cpuCFSQuota"}
}

// placeInAKSClass says which kubelet settings of a pool belong to its AKSNodeClass, in the form that they have there.
func placeInAKSClass(c *conversion, pool *draft) {
	in, out, kubelet := c.kubelet.fields(), newMapping(), newMapping()
	out.carry("maxPods", in.take("maxPods"))
	for _, name := range kubeletOfAKS() {
		kubelet.carry(name, in.take(name))
	}
	for _, f := range in.rest() {
		c.leaveOut(pool, f, "AKSNodeClasses have no such setting")
	}
	if len(kubelet.node.Content) > 0 {
		out.add("kubelet", kubelet.node)
	}
	if len(out.node.Content) > 0 {
		pool.head = append(pool.head, c.note(c.kubelet, "belongs to spec of %s %s. Put it there:", pool.class.Kind, pool.class.Name))
		pool.head = append(pool.head, yamlLines(out.node)...)
	}
}
