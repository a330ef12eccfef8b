// Package convert converts objects of Karpenter's earlier APIs: Provisioner (karpenter.sh/v1alpha5), AWSNodeTemplate
// (karpenter.k8s.aws/v1alpha1), and NodePool and EC2NodeClass of v1beta1 become NodePool (karpenter.sh/v1) and EC2NodeClass
// (karpenter.k8s.aws/v1). AKSNodeClass of karpenter.azure.com/v1alpha2 becomes one of v1beta1.
//
// Problem: the old APIs have fewer fields and other defaults; if fields are only renamed, nodes expire earlier, have other instance
// types and are disrupted at other times. Approach: each field is read in turn and is copied, converted to another field, or named
// in a note; an old default that differs from the current one is written out. Invariant: a field that was not read is a finding,
// so that none is lost silently. The package does not guess: a value that the current API requires and the source object does not have is
// taken from Settings, or is a finding.
//
// The package has no clock and no I/O, and the same input gives the same output.
package convert

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// API groups and versions.
const (
	groupCore  = "karpenter.sh"
	groupAWS   = "karpenter.k8s.aws"
	groupAzure = "karpenter.azure.com"

	coreToday       = groupCore + "/v1"
	coreBeta        = groupCore + "/v1beta1"
	coreAlpha       = groupCore + "/v1alpha5"
	awsToday        = groupAWS + "/v1"
	awsBeta         = groupAWS + "/v1beta1"
	awsAlpha        = groupAWS + "/v1alpha1"
	azureToday      = groupAzure + "/v1beta1"
	azureAlpha      = groupAzure + "/v1alpha2"
	kindAKSClass    = "AKSNodeClass"
	kindPool        = "NodePool"
	kindClass       = "EC2NodeClass"
	kindClaim       = "NodeClaim"
	kindMachine     = "Machine"
	kindProvisioner = "Provisioner"
	kindTemplate    = "AWSNodeTemplate"
)

// Settings are values that objects of earlier APIs took from the installation, or from defaults that no longer exist.
type Settings struct {
	// Role or InstanceProfile is the identity of instances of classes that name no instance profile.
	Role, InstanceProfile string
	// ClusterName finds the subnets and security groups of classes that select none: those with the tag
	// kubernetes.io/cluster/<name>.
	ClusterName string
	// NodeClass is the class of Provisioners that have neither provider nor providerRef. Nil makes such a Provisioner a finding.
	NodeClass *ClassReference
	// DedicatedClass is the kind of class, one without settings, that is created for each Provisioner that has neither provider
	// nor providerRef. It takes precedence over NodeClass; nil creates none.
	DedicatedClass *ClassKind
	// ClassPerKubelet gives every pool with kubelet settings a dedicated class, so that the conversion of one pool does not depend
	// on the others.
	ClassPerKubelet bool
	// Flags is set if the user can set the settings with flags, so that findings name these.
	Flags bool
}

// hint returns a text that names a flag, if there are flags.
func (s Settings) hint(text string) string {
	if !s.Flags {
		return ""
	}
	return ": " + text
}

// ClassReference names a node class.
type ClassReference struct{ Group, Kind, Name string }

// ClassKind is a kind of node class.
type ClassKind struct{ Group, Version, Kind string }

// Object is one object of an earlier API. Conversion changes its tree.
type Object struct {
	// Root is the object as a tree, with aliases resolved.
	Root *yaml.Node
}

// Note describes a field of the source object that has no equivalent, or a different meaning in the current API.
type Note struct {
	// Field is the path in the source object. The note covers all fields below it.
	Field string
	// Text is the note.
	Text string
}

// Finding is a problem that prevents the conversion of an object.
type Finding struct{ Field, Message string }

// Converted is an object of the current API.
type Converted struct {
	APIVersion, Kind, Name string
	// Root is the object, with notes as comments.
	Root *yaml.Node
	// class is the class that the object refers to; a class is its own.
	class ClassReference
	// origins are the positions in the source object that parts of Root come from.
	origins map[*yaml.Node]string
}

// Result is the conversion of one source object.
type Result struct {
	// Converted are the objects of the current API: a NodePool, and a class if its settings were part of the Provisioner or cannot be shared.
	Converted []Converted
	// Notes are the comments of all of them.
	Notes []Note
	// Findings are the reasons why the object was not converted.
	Findings []Finding
	// Unconverted is the reason why an object is never converted: users do not apply objects of its kind. Empty otherwise.
	Unconverted string
}

// Handles reports whether objects of a kind are converted, or are reported as Unconverted.
func Handles(apiVersion, kind string) bool {
	switch apiVersion {
	case coreAlpha, awsAlpha, coreBeta, awsBeta, azureAlpha:
		return true
	}
	group, _, _ := strings.Cut(apiVersion, "/")
	return group == groupCore && kind == kindProvisioner || group == groupAWS && kind == kindTemplate
}

// Convert converts objects of the kinds that it handles, together, because kubelet settings have moved from pools to classes.
// Results are in the order of the objects.
func Convert(objects []Object, s Settings) []Result {
	work := make([]*conversion, len(objects))
	for i, o := range objects {
		work[i] = begin(o.Root, s)
		work[i].run()
	}
	placeKubelets(work)
	out := make([]Result, len(work))
	for i, c := range work {
		out[i] = c.result()
	}
	return out
}

// conversion is the conversion of one object.
type conversion struct {
	settings               Settings
	root                   *yaml.Node
	apiVersion, kind, name string
	// origins are the positions of nodes that were copied, or that replace nodes of the source object.
	origins map[*yaml.Node]string
	// carried are the names of fields whose comments were copied.
	carried     map[*yaml.Node]bool
	drafts      []*draft
	notes       []Note
	findings    []Finding
	unconverted string
	// kubelet is the kubelet configuration of the object; it belongs to the class.
	kubelet value
}

// draft is an object of the current API under construction.
type draft struct {
	apiVersion, kind, name string
	root, spec             *mapping
	// head are the notes about fields that have no equivalent in the object.
	head []string
	// class is the reference of a pool; nil for others.
	class *ClassReference
	// nameNode is the name in the reference of a pool, or in the metadata of a class.
	nameNode *yaml.Node
}

func begin(root *yaml.Node, s Settings) *conversion {
	c := &conversion{settings: s, root: root, origins: map[*yaml.Node]string{}, carried: map[*yaml.Node]bool{}}
	c.apiVersion, c.kind = textAt(root, "apiVersion"), textAt(root, "kind")
	c.name = textAt(child(root, "metadata"), "name")
	return c
}

// run converts the object, except for its kubelet configuration.
func (c *conversion) run() {
	all := c.open(c.root, "")
	all.take("apiVersion")
	all.take("kind")
	switch c.apiVersion + " " + c.kind {
	case coreAlpha + " " + kindProvisioner:
		c.provisioner(all)
	case awsAlpha + " " + kindTemplate:
		c.template(all)
	case coreBeta + " " + kindPool:
		c.pool(all)
	case awsBeta + " " + kindClass:
		c.class(all)
	case azureAlpha + " " + kindAKSClass:
		aksClass(c, all)
	case coreBeta + " " + kindClaim, coreAlpha + " " + kindMachine:
		c.unconverted = c.kind + " " + c.name + " is the record of one instance. Karpenter makes it and a user does not apply it, so it was not converted: " +
			"nodes of the old API are replaced by new ones of the NodePool."
		return
	default:
		c.addFinding(value{path: "kind"}, "a %s of %s cannot be converted; convertible are Provisioner in %s, AWSNodeTemplate in %s, NodePool in %s, EC2NodeClass in %s and "+
			"AKSNodeClass in %s", c.kind, c.apiVersion, coreAlpha, awsAlpha, coreBeta, awsBeta, azureAlpha)
		return
	}
	if status := all.take("status"); status.present() {
		c.leaveOut(c.drafts[0], status, "what was observed; it is written anew")
	}
	all.end()
	c.checkTypos(c.root, "")
}

// start begins an object of the current API; its metadata is that of the source object, if there is any.
func (c *conversion) start(apiVersion, kind, name string, metadata value) *draft {
	m := &draft{apiVersion: apiVersion, kind: kind, name: name, root: newMapping()}
	m.root.add("apiVersion", scalar(apiVersion))
	m.root.add("kind", scalar(kind))
	m.head = []string{"Converted from " + c.apiVersion + " " + c.kind + " " + c.name + "."}
	c.drafts = append(c.drafts, m)
	c.metadata(m, metadata)
	m.spec = m.root.child("spec")
	return m
}

// result returns the result of the conversion.
func (c *conversion) result() Result {
	r := Result{Notes: c.notes, Findings: c.findings, Unconverted: c.unconverted}
	c.saveComments(c.root, "")
	slices.SortStableFunc(r.Notes, func(a, b Note) int { return cmp.Compare(a.Field, b.Field) })
	if len(r.Findings) > 0 {
		return r
	}
	for _, m := range c.drafts {
		m.root.comment("apiVersion", m.head...)
		made := Converted{APIVersion: m.apiVersion, Kind: m.kind, Name: m.name, Root: m.root.node, origins: c.origins}
		group, _, _ := strings.Cut(m.apiVersion, "/")
		if made.class = (ClassReference{group, m.kind, m.name}); m.class != nil {
			made.class = *m.class
		}
		r.Converted = append(r.Converted, made)
	}
	return r
}
