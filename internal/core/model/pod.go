// Package model is the picture of the world that decisions are made from: plain immutable values, no clients, no clocks.
//
// A Snapshot is consistent, costs nothing to take and is never changed after it was published. Strings appear where users
// see them; what the inner loops compare is interned by the packages that use it.
package model

import (
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// Pod is one pod as decisions see it.
type Pod struct {
	UID       string
	Namespace string
	Name      string
	// Created is the creation time in nanoseconds since the epoch; it orders the queue.
	Created int64
	// Node is the name of the node the pod is bound to, or empty.
	Node string
	// Shape is everything about the pod that scheduling looks at, shared by all pods that look alike.
	Shape *Shape
	// Labels are what selectors of other pods, and its own, match; shared by all pods of a namespace with the same labels.
	Labels *Labels
	// Ties are to volumes and devices; nil for pods without any, which are most.
	Dependencies *Dependencies
	// UsesDevices is set for pods that refer to resource claims, whether these exist or not.
	UsesDevices bool
	// Terminating is set once the pod is being deleted: it uses resources still and counts for no topology.
	Terminating bool
	// Unstarted is set while the pod's phase is Pending, bound or not.
	Unstarted bool
	// Virtual is set for pods that stand for headroom and do not exist: they come after all others.
	Virtual bool
	// Daemon is set for pods that a DaemonSet owns.
	Daemon bool
	// Reschedulable is set for pods that have to run elsewhere when their node goes.
	Reschedulable bool
	// Rejected is why a pod that waits or has to move cannot be considered at all; empty for pods that can. Silent rejections
	// get no event.
	Silent   bool
	Rejected string
	// EvictionCost is the price of disturbing the pod, clamped to [-10, 10].
	EvictionCost float64
}

// ID names the pod for people: namespace/name.
func (p *Pod) ID() string { return p.Namespace + "/" + p.Name }

// Ties are what few pods are tied to.
type Dependencies struct {
	// Attachments are the volumes that need a slot on the node, without repetition.
	Attachments []volume.Attachment
	// DeviceClaims are the resource claims that exist or should, as namespace/name without repetition.
	DeviceClaims []string
}

// NewTies is nil where there are none.
func NewDependencies(attachments []volume.Attachment, deviceClaims []string) *Dependencies {
	if len(attachments)+len(deviceClaims) == 0 {
		return nil
	}
	return &Dependencies{attachments, deviceClaims}
}

// Attachments are those of the pod's ties.
func (p *Pod) Attachments() []volume.Attachment {
	if p.Dependencies == nil {
		return nil
	}
	return p.Dependencies.Attachments
}

// DeviceClaims are those of the pod's ties.
func (p *Pod) DeviceClaims() []string {
	if p.Dependencies == nil {
		return nil
	}
	return p.Dependencies.DeviceClaims
}

// Labels is a set of pod labels in a namespace.
type Labels struct {
	Namespace string
	Values    map[string]string
}

// Shape is the question that a pod asks of a node. Pods of one workload share one Shape value, so that work can be done
// once per shape; two shapes with equal content may exist and are merely slower.
type Shape struct {
	// Requests is what the pod needs, "pods: 1" included.
	Requests resource.Vector
	// Selector is the conjunction that holds in every alternative (the node selector).
	Selector requirement.Set
	// Required are the alternatives of required node affinity in order of trial. Empty means one alternative: Selector.
	Required []requirement.Set
	// Preferred are soft node affinity terms, heaviest first.
	Preferred []Preference
	// Tolerations are the taints the pod can live with.
	Tolerations []Toleration
	// HostPorts are the ports of the node that the pod claims. Two pods that want the same one never share a node, so pods
	// of one shape with host ports never do.
	HostPorts []HostPort
	// Priority is the pod's priority; higher ones are placed first.
	Priority int32
	// Reach are the alternatives of where all of the pod's volumes can be used, each a conjunction on node labels. They
	// restrict the node, never the counting of topology, and are never given up. Empty means anywhere.
	VolumeTopology []requirement.Set
	// Drivers are what the pod's volumes ask of the drivers of a node, sorted: for each volume the driver, and the claim too
	// where pods on several nodes may use it. Pods that differ in them are refused by different nodes.
	Drivers []string
	// Spreads are the topology spread constraints, wishes included, in the pod's order.
	Spreads []topology.Spread
	// Affinities are the terms of pod affinity and anti-affinity, heaviest first.
	Affinities []topology.Affinity
}

// Preference is a wish with its weight (1 to 100).
type Preference struct {
	Weight int32
	Terms  requirement.Set
}

// Strict is the conjunction for the i-th alternative of required affinity, without preferences.
func (s *Shape) Strict(i int) requirement.Set {
	if i >= len(s.Required) {
		return s.Selector
	}
	return s.Selector.And(s.Required[i])
}

// Alternatives is how many alternatives of required affinity there are, at least one.
func (s *Shape) Alternatives() int { return max(len(s.Required), 1) }
