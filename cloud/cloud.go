// Package cloud is the contract between Karpenter and a cloud provider.
//
// A Cloud is a plain value: a Provider that launches and ends instances, the kinds of node class it understands, the
// labels it speaks, and the few numbers and hooks that differ between clouds. Everything is said in API terms (node
// claims, label requirements, resource lists), so that a provider can be written without knowing the engine.
//
// The package also holds what every provider would otherwise write again: the typed errors the controllers branch on,
// the translation from API requirements to the label algebra, and Menu, which lists in order of price the offerings that
// a NodeClaim may be launched as. Package cloudtest checks a provider against the contract.
//
// Source: scheduling specification, cloud-provider contract.
package cloud

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const (
	// DefaultLaunchTimeout is how long a NodeClaim may stay unlaunched before it is given up.
	DefaultLaunchTimeout = 5 * time.Minute
	// DefaultMaxInstanceTypes is how many instance types a NodeClaim may list.
	DefaultMaxInstanceTypes = 600
)

// Cloud is everything Karpenter needs to know about one cloud. It is built once at start-up and handed down by value;
// it does not change afterwards.
type Cloud struct {
	// Name is the provider label of metrics, for instance "kwok".
	Name string
	// Provider launches, finds and ends instances.
	Provider Provider
	// NodeClasses are the kinds of node class this cloud understands; the first is the default. At least one.
	NodeClasses []NodeClass
	// LegacyKinds are kinds of earlier APIs that the node classes replaced. They must be installed where such objects are served.
	LegacyKinds []schema.GroupVersionKind
	// Labels are the well-known labels and restricted domains: the core's and this cloud's.
	Labels v1.LabelRules
	// ReservationIDLabel is the label whose value names a capacity reservation; empty when the cloud has none.
	ReservationIDLabel string
	// RepairPolicies say which node conditions call for a replacement. Empty turns node repair off.
	RepairPolicies []RepairPolicy
	// Hooks have to agree before a Node counts as registered.
	Hooks []RegistrationHook
	// LaunchTimeout is how long a launch may take; 0 means DefaultLaunchTimeout.
	LaunchTimeout time.Duration
	// DefaultTerminationGracePeriod is used where a NodePool's template has none; nil means no deadline.
	DefaultTerminationGracePeriod *time.Duration
	// MaxInstanceTypes is how many instance types a NodeClaim may list; 0 means DefaultMaxInstanceTypes.
	MaxInstanceTypes int
	// UnsupportedProvisioners are CSI drivers, and provisioners of storage classes, whose volumes cannot be had on this
	// cloud's machines: pods that use them are not placed. Usually empty.
	UnsupportedProvisioners []string
	// UnsupportedTopologyKeys are labels by which storage classes may not restrict where volumes are made, because machines
	// of this cloud do not carry them. Usually empty.
	UnsupportedTopologyKeys []string
	// UseCorrection gives the provider the corrections of instance types for the choice it makes at launch. It is called
	// before anything runs, and only where users may correct; nil when the provider makes no such choice.
	UseCorrection func(Correction)
	// Register adds the cloud's own controllers to the manager; nil when it has none.
	Register func(manager.Manager) error
}

// WithDefaults is c with the numbers that were left at zero filled in.
func (c Cloud) WithDefaults() Cloud {
	if c.LaunchTimeout == 0 {
		c.LaunchTimeout = DefaultLaunchTimeout
	}
	if c.MaxInstanceTypes == 0 {
		c.MaxInstanceTypes = DefaultMaxInstanceTypes
	}
	return c
}

// Manages reports whether ref names a node class of this cloud: group and kind decide, the version does not. NodePools
// and NodeClaims are managed when their reference is; a nil reference is not.
func (c Cloud) Manages(ref *v1.NodeClassReference) bool {
	_, ok := c.NodeClassFor(ref)
	return ok
}

// NodeClassFor is the node class kind that ref names.
func (c Cloud) NodeClassFor(ref *v1.NodeClassReference) (NodeClass, bool) {
	if ref == nil {
		return NodeClass{}, false
	}
	for _, class := range c.NodeClasses {
		if class.GVK.Group == ref.Group && class.GVK.Kind == ref.Kind {
			return class, true
		}
	}
	return NodeClass{}, false
}

// ManagesNode reports whether node carries the label of one of this cloud's node class kinds, with any value.
func (c Cloud) ManagesNode(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	for _, class := range c.NodeClasses {
		if _, ok := node.Labels[class.LabelKey()]; ok {
			return true
		}
	}
	return false
}
