package convert

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// template converts an AWSNodeTemplate to an EC2NodeClass.
func (c *conversion) template(all *fields) {
	m := c.start(awsToday, kindClass, c.name, all.take("metadata"))
	in := all.take("spec").fields()
	c.awsSettings(m, in)
	in.end()
}

// awsSettings converts the AWS settings of a template or a Provisioner to the spec of a class.
func (c *conversion) awsSettings(m *draft, in *fields) {
	launchTemplate := in.take("launchTemplate")
	if launchTemplate.present() {
		c.leaveOut(m, launchTemplate, "custom launch templates have no equivalent. What it holds (image, user data, security groups, disks, instance profile) "+
			"has to be said in the fields of this class")
	}
	c.identity(m, in.take("instanceProfile"), value{}, in.path)
	c.images(m, in.take("amiFamily"), in.take("amiSelector"))
	c.network(m, "subnetSelectorTerms", in.take("subnetSelector"), nil)
	c.network(m, "securityGroupSelectorTerms", in.take("securityGroupSelector"), launchTemplate.node)
	for _, name := range []string{"userData", "tags", "blockDeviceMappings", "detailedMonitoring", "context"} {
		m.spec.carry(name, in.take(name))
	}
	c.metadataOptions(m, in.take("metadataOptions"))
}

// identity converts the identity of instances: exactly one of profile and role.
func (c *conversion) identity(m *draft, profile, role value, path string) {
	switch {
	case profile.present() || role.present():
		m.spec.carry("role", role)
		m.spec.carry("instanceProfile", profile)
	case c.settings.Role != "":
		m.spec.add("role", scalar(c.settings.Role), "Not in the "+c.kind+": the role that was given to the conversion.")
	case c.settings.InstanceProfile != "":
		m.spec.add("instanceProfile", scalar(c.settings.InstanceProfile), "Not in the "+c.kind+": the profile that was given to the conversion.")
	default:
		c.addFinding(value{path: join(path, "instanceProfile")}, "missing, and there is no default for the whole installation any more%s",
			c.settings.hint("give one with --role or --instance-profile"))
	}
}

// aliases are the current names of the families' newest images.
func aliases() map[string]string {
	return map[string]string{
		"AL2": "al2@latest", "AL2023": "al2023@latest", "Bottlerocket": "bottlerocket@latest",
		"Windows2019": "windows2019@latest", "Windows2022": "windows2022@latest",
	}
}

// images converts a family and a selector of the first API to the images that instances boot.
func (c *conversion) images(m *draft, family, selector value) {
	if !selector.present() {
		c.familyImages(m, family, join(strings.TrimSuffix(family.path, ".amiFamily"), "amiSelector"))
		return
	}
	terms := c.selector(m, selector, map[string]string{"aws::name": "name", "aws::owners": "owner"})
	c.family(m, family)
	m.spec.add("amiSelectorTerms", selector.from(orEmpty(terms)))
}

// familyImages selects the images that AWS publishes for a family.
func (c *conversion) familyImages(m *draft, family value, selector string) {
	name := "AL2"
	if family.present() {
		name = family.text()
	}
	alias, ok := aliases()[name]
	if !ok {
		c.addFinding(value{path: selector}, "missing: there is no alias for images of the family %s, so they have to be selected", name)
		return
	}
	c.family(m, family)
	term := object("alias", alias)
	comment := "The newest image of the family, as before. Its next release replaces nodes, as drift; a version in place of latest stops that."
	if name == "AL2" {
		comment += " There are none of AL2 from Kubernetes 1.33 on."
	}
	m.spec.add("amiSelectorTerms", list(term.node), comment)
}

// family copies the family. Ubuntu, which the current API does not have, uses the user data of AL2.
func (c *conversion) family(m *draft, family value) {
	switch {
	case !family.present():
		m.spec.add("amiFamily", scalar("AL2"), "Not in the "+c.kind+": what the old API assumed.")
	case family.text() == "Ubuntu":
		m.spec.add("amiFamily", family.from(scalar("AL2")), c.note(family, "there is no family Ubuntu any more; its images for EKS start with the same script as AL2"))
	default:
		m.spec.carry("amiFamily", family)
	}
}

// network converts the selectors for subnets or security groups. launchTemplate is not nil where a launch template defines the
// security groups.
func (c *conversion) network(m *draft, name string, v value, launchTemplate *yaml.Node) {
	if v.present() {
		m.spec.add(name, v.from(orEmpty(c.selector(m, v, nil))))
		return
	}
	if c.settings.ClusterName == "" {
		missing := "missing"
		if launchTemplate != nil {
			missing = "missing, the launch template named them"
		}
		c.addFinding(v, "%s%s", missing, c.settings.hint("find those with the tag kubernetes.io/cluster/NAME, as the first releases did, with --cluster-name NAME"))
		return
	}
	term := newMapping()
	term.child("tags").add("kubernetes.io/cluster/"+c.settings.ClusterName, scalar("*"))
	m.spec.add(name, list(term.node), fmt.Sprintf("Not in the %s: those of the cluster %s, as the first releases found them.", c.kind, c.settings.ClusterName))
}

// oldHopLimit is the default hop limit of earlier APIs; the current default is 1.
const oldHopLimit = "2"

// metadataOptions copies the metadata options, and writes out the default that has changed.
func (c *conversion) metadataOptions(m *draft, v value) {
	if !v.present() {
		out := newMapping()
		out.add("httpPutResponseHopLimit", raw("!!int", oldHopLimit))
		m.spec.add("metadataOptions", out.node, "Not in the "+c.kind+": what the old API assumed. Today's default is 1, with which pods do not reach the metadata.")
		return
	}
	in := v.fields()
	out := newMapping()
	for _, name := range []string{"httpEndpoint", "httpProtocolIPv6", "httpPutResponseHopLimit", "httpTokens"} {
		out.carry(name, in.take(name))
	}
	in.end()
	var comments []string
	switch {
	case c.apiVersion == awsBeta && !out.has("httpPutResponseHopLimit"):
		out.add("httpPutResponseHopLimit", raw("!!int", oldHopLimit), "Not in the "+c.kind+": what the old API assumed. Today's default is 1.")
	case c.apiVersion != awsBeta && (!out.has("httpTokens") || !out.has("httpPutResponseHopLimit")):
		comments = []string{c.note(v, "what is not said here was left to EC2; today httpTokens is required then and httpPutResponseHopLimit 1")}
	}
	c.origins[out.node] = v.path
	v.node = out.node
	m.spec.carry("metadataOptions", v, comments...)
}

// orEmpty returns an empty list for a list that could not be converted, for which there is a finding.
func orEmpty(n *yaml.Node) *yaml.Node {
	if n == nil {
		return list()
	}
	return n
}
