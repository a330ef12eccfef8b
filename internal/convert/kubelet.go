package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kubeletFields are the kubelet settings of pools in earlier APIs. Each is a field of the kubelet configuration in the current API.
func kubeletFields() []string {
	return []string{
		"clusterDNS", "maxPods", "podsPerCore", "systemReserved", "kubeReserved", "evictionHard", "evictionSoft",
		"evictionSoftGracePeriod", "evictionMaxPodGracePeriod", "imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "cpuCFSQuota",
	}
}

// placeKubelets moves the kubelet configuration of pools to its place in the current API: their class. Pools that share a class and
// differ in it need separate classes.
func placeKubelets(work []*conversion) {
	classes := map[string]*draft{}
	owners := map[string]*conversion{}
	users := map[string][]*conversion{}
	var names []string
	for _, c := range work {
		for _, m := range c.drafts {
			if m.kind != kindClass {
				continue
			}
			if other := owners[m.name]; other != nil {
				c.addFinding(value{path: "metadata.name"}, "EC2NodeClass %s is made of %s %s already", m.name, other.kind, other.name)
				continue
			}
			classes[m.name], owners[m.name] = m, c
		}
		if pool := c.poolDraft(); pool != nil {
			c.tidyKubelet(pool)
			key := pool.class.Group + "/" + pool.class.Kind + "/" + pool.class.Name
			if users[key] == nil {
				names = append(names, key)
			}
			users[key] = append(users[key], c)
		}
	}
	for _, key := range names {
		var class *draft
		if name, ok := strings.CutPrefix(key, groupAWS+"/"+kindClass+"/"); ok {
			class = classes[name]
		}
		placeIn(class, owners, users[key])
	}
}

// poolDraft returns the pool that the conversion creates; nil when it creates none.
func (c *conversion) poolDraft() *draft {
	for _, m := range c.drafts {
		if m.class != nil {
			return m
		}
	}
	return nil
}

// tidyKubelet checks the fields, and removes those without an equivalent.
func (c *conversion) tidyKubelet(pool *draft) {
	if !c.kubelet.present() {
		return
	}
	in, out := c.kubelet.fields(), newMapping()
	if runtime := in.take("containerRuntime"); runtime.present() {
		c.leaveOut(pool, runtime, "the image brings the runtime")
	}
	for _, name := range kubeletFields() {
		out.carry(name, in.take(name))
	}
	in.end()
	c.origins[out.node] = c.kubelet.path
	c.kubelet.node = out.node
}

// placeIn puts the settings of pools that share a class there; class is nil when it is not part of the conversion.
func placeIn(class *draft, owners map[string]*conversion, pools []*conversion) {
	said := map[string]bool{}
	for _, c := range pools {
		said[c.kubelet.canonical()] = true
	}
	for i, c := range pools {
		pool := c.poolDraft()
		switch {
		case !c.kubelet.present():
		case pool.class.Group == groupAzure:
			placeInAKSClass(c, pool)
		case class == nil:
			pool.head = append(pool.head, c.note(c.kubelet, "belongs to spec.kubelet of %s %s, which is not converted here. Put it there:", pool.class.Kind, pool.class.Name))
			pool.head = append(pool.head, yamlLines(c.kubelet.node)...)
		case len(said) == 1 && !c.settings.ClassPerKubelet:
			if i == 0 {
				class.spec.carry("kubelet", value{c: c, node: c.kubelet.node, path: c.kubelet.path}, c.note(c.kubelet, "settings of the kubelet have moved here from %s %s", c.kind, c.name))
			}
		default:
			c.dedicatedClass(pool, class, owners)
		}
	}
}

// dedicatedClass gives a pool a copy of its class, with its own settings of the kubelet.
func (c *conversion) dedicatedClass(pool, class *draft, owners map[string]*conversion) {
	name := class.name + "-" + c.name
	if other := owners[name]; other != nil {
		c.addFinding(c.kubelet, "needs a dedicated EC2NodeClass %s, but %s %s is converted to a class of that name", name, other.kind, other.name)
		return
	}
	origin := owners[class.name]
	owners[name] = c
	m := &draft{apiVersion: class.apiVersion, kind: class.kind, name: name, root: &mapping{clone(class.root.node)}}
	child(child(m.root.node, "metadata"), "name").Value = name
	m.spec = m.root.child("spec")
	drop(m.spec.node, "kubelet")
	m.spec.carry("kubelet", value{c: c, node: c.kubelet.node, path: c.kubelet.path},
		c.note(c.kubelet, "%s %s needs a copy of EC2NodeClass %s for this, which other pools use without it", c.kind, c.name, class.name))
	m.head = []string{fmt.Sprintf("A copy of EC2NodeClass %s with the settings of the kubelet of %s %s.", class.name, c.kind, c.name)}
	c.drafts = append(c.drafts, m)
	c.findings = append(c.findings, failedWith(origin, c)...)
	pool.class.Name = name
	pool.nameNode.Value = name
}

// failedWith returns a finding if the class that origin converts to cannot be created.
func failedWith(origin, c *conversion) []Finding {
	if origin == c || len(origin.findings) == 0 {
		return nil
	}
	return []Finding{{c.kubelet.path, fmt.Sprintf("needs a copy of %s %s, which cannot be converted", origin.kind, origin.name)}}
}

// canonical returns a text for comparing settings.
func (v value) canonical() string {
	var content any
	if !v.present() || v.node.Decode(&content) != nil {
		return ""
	}
	text, err := json.Marshal(content)
	if err != nil {
		return ""
	}
	return string(text)
}

// yamlLines returns a tree as lines of text that keep their indentation in a comment.
func yamlLines(n *yaml.Node) []string {
	var b bytes.Buffer
	if err := encode(&b, n); err != nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(b.String()) {
		out = append(out, yamlLineMark+strings.TrimRight(line, "\n"))
	}
	return out
}

// clone copies a tree.
func clone(n *yaml.Node) *yaml.Node {
	out := *n
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, inner := range n.Content {
		out.Content[i] = clone(inner)
	}
	return &out
}
