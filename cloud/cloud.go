// Package cloud is the contract between Karpenter and a cloud provider.
//
// A Cloud is a plain value: a Provider that launches and terminates instances, the kinds of its node classes, its
// labels, and the few numbers and hooks that differ between clouds. The contract uses API terms (NodeClaims,
// label requirements, resource lists), so that providers do not depend on the scheduling engine.
//
// The package also has what every provider needs: the typed errors on which the controllers branch,
// the translation from API requirements to the label algebra, and OfferingList, which lists in order of price the offerings from which
// a NodeClaim may be launched. Package cloudtest checks a provider against the contract.
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
	// DefaultLaunchTimeout is how long a NodeClaim may stay unlaunched before it is deleted.
	DefaultLaunchTimeout = 5 * time.Minute
	// RegistrationTimeout is how long a NodeClaim may stay without a registered Node before it is deleted.
	RegistrationTimeout = 15 * time.Minute
	// RebootIssuanceTimeout is how long a cloud may take to accept a reboot, once the node is drained.
	RebootIssuanceTimeout = 5 * time.Minute
	// RebootRecoveryTimeout is how long the node may take to be ready again after that.
	RebootRecoveryTimeout = 20 * time.Minute
	// MinDrain is the minimum duration of a drain, unless it is asked for none: a scheduler that has not seen the taint yet may still bind a pod.
	MinDrain = 5 * time.Second
	// DefaultOrphanAge is how old an instance without a NodeClaim is when it is terminated.
	DefaultOrphanAge = 30 * time.Second
	// DefaultMaxInstanceTypes is how many instance types a NodeClaim may list.
	DefaultMaxInstanceTypes = 600
)

// Cloud is what Karpenter needs to know about one cloud. It is built once at startup and passed by value;
// it does not change afterwards.
type Cloud struct {
	// Name is the provider label of metrics, for instance "kwok".
	Name string
	// ClusterName is the name by which the cloud knows the cluster; empty where it knows none.
	ClusterName string
	// Provider launches, finds and ends instances.
	Provider Provider
	// Rebooter restarts instances in place; nil when the cloud does not. Call Reboot of the Cloud instead.
	Rebooter Rebooter
	// Unavailability tells people until when offerings are not available; nil when the cloud does not know.
	Unavailability UnavailabilityReader
	// NodeClasses are the kinds of node class this cloud understands; the first is the default. At least one.
	NodeClasses []NodeClass
	// LegacyKinds are kinds of earlier APIs that the node classes replaced. They must be installed where such objects are served.
	LegacyKinds []schema.GroupVersionKind
	// Labels are the well-known labels and restricted domains: the core's and this cloud's.
	Labels v1.LabelRules
	// ReservationIDLabel is the label whose value names a capacity reservation; empty when the cloud has none.
	ReservationIDLabel string
	// RepairPolicies say which node conditions call for a repair. There must be some to enable node repair.
	RepairPolicies []RepairPolicy
	// LegacyRepairPolicies are used instead with --legacy-node-repair; nil means those of RepairPolicies that replace nodes.
	LegacyRepairPolicies []RepairPolicy
	// Hooks have to agree before a Node counts as registered.
	Hooks []RegistrationHook
	// LaunchTimeout is how long a launch may take; 0 means DefaultLaunchTimeout.
	LaunchTimeout time.Duration
	// OrphanAge is how old an instance without a NodeClaim is when it is terminated, as lists of the cloud may lag; 0 means DefaultOrphanAge.
	OrphanAge time.Duration
	// DefaultTerminationGracePeriod is used where a NodePool's template has none; nil means no deadline.
	DefaultTerminationGracePeriod *time.Duration
	// MaxInstanceTypes is how many instance types a NodeClaim may list; 0 means DefaultMaxInstanceTypes.
	MaxInstanceTypes int
	// UnsupportedProvisioners are CSI drivers, and provisioners of storage classes, whose volumes do not exist in this
	// cloud: pods that use them are not placed. Usually empty.
	UnsupportedProvisioners []string
	// UnsupportedTopologyKeys are labels by which storage classes may not restrict the topology of volumes, because nodes
	// of this cloud do not have them. Usually empty.
	UnsupportedTopologyKeys []string
	// UseCorrection gives the provider the corrections of instance types for its choice at launch. It is called
	// before the controllers start, and only if NodeOverlays are enabled; nil when the provider makes no such choice.
	UseCorrection func(Correction)
	// Register adds the cloud's own controllers to the manager; nil when it has none.
	Register func(manager.Manager) error
}

// WithDefaults is c with the numbers that were left at zero filled in.
func (c Cloud) WithDefaults() Cloud {
	if c.LaunchTimeout == 0 {
		c.LaunchTimeout = DefaultLaunchTimeout
	}
	if c.OrphanAge == 0 {
		c.OrphanAge = DefaultOrphanAge
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
