// Package model holds the cluster state that decisions are based on: plain immutable values, without clients or clocks.
//
// A Snapshot is consistent and never changes after it was published. Names are strings; the packages that compare them in inner
// loops intern them.
package model

import (
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// Pod is a pod as the engine sees it.
type Pod struct {
	UID       string
	Namespace string
	Name      string
	// Created is the creation time in nanoseconds since the epoch; it orders the queue.
	Created int64
	// Node is the name of the node the pod is bound to, or empty.
	Node string
	// Shape is the part of the pod that scheduling uses, shared by pods with an equal one.
	Shape *Shape
	// Labels are those that selectors match; shared by all pods of a namespace with the same labels.
	Labels *Labels
	// Dependencies are the pod's volumes and resource claims; nil if it has none.
	Dependencies *Dependencies
	// Membership is the pod's group; nil if it has none.
	Membership *Membership
	// UsesDevices is set for pods that refer to resource claims, whether these exist or not.
	UsesDevices bool
	// Terminating is set once the pod is being deleted: it still uses resources and does not count for topology.
	Terminating bool
	// Unstarted is set while the pod's phase is Pending, bound or not.
	Unstarted bool
	// Virtual is set for pods of capacity buffers, which do not exist in the cluster. They are placed after all others.
	Virtual bool
	// Daemon is set for pods that a DaemonSet owns.
	Daemon bool
	// Reschedulable is set for pods that must be rescheduled when their node is removed.
	Reschedulable bool
	// Rejected is why a pending or evicted pod cannot be scheduled at all; empty for pods that can. Silent rejections get no
	// event.
	Silent   bool
	Rejected string
	// IgnoredPreferences is which preferences of a pending pod are not in its shape, and why; empty for most pods.
	IgnoredPreferences string
	// EvictionCost is the cost of evicting the pod, clamped to [-10, 10].
	EvictionCost float64
}

// ID returns namespace/name.
func (p *Pod) ID() string { return p.Namespace + "/" + p.Name }

// Dependencies are the volumes and resource claims of a pod.
type Dependencies struct {
	// Attachments are the volumes that have to be attached to the node, without duplicates.
	Attachments []volume.Attachment
	// DeviceClaims are the resource claims, as namespace/name without duplicates, whether they exist or not.
	DeviceClaims []string
	// ExclusiveVolumes are the PersistentVolumeClaims that only one pod may use, as namespace/name without duplicates.
	ExclusiveVolumes []string
	// LateVolumes are the PersistentVolumeClaims of which the first pod decides the zone, as namespace/name without duplicates: the volume is
	// created for the node of that pod.
	LateVolumes []string
}

// NewDependencies returns nil if both lists are empty.
func NewDependencies(attachments []volume.Attachment, deviceClaims []string) *Dependencies {
	if len(attachments)+len(deviceClaims) == 0 {
		return nil
	}
	return &Dependencies{Attachments: attachments, DeviceClaims: deviceClaims}
}

// Attachments are those of the pod's dependencies.
func (p *Pod) Attachments() []volume.Attachment {
	if p.Dependencies == nil {
		return nil
	}
	return p.Dependencies.Attachments
}

// DeviceClaims are those of the pod's dependencies.
func (p *Pod) DeviceClaims() []string {
	if p.Dependencies == nil {
		return nil
	}
	return p.Dependencies.DeviceClaims
}

// ExclusiveVolumes are those of the pod's dependencies.
func (p *Pod) ExclusiveVolumes() []string {
	if p.Dependencies == nil {
		return nil
	}
	return p.Dependencies.ExclusiveVolumes
}

// LateVolumes are those of the pod's dependencies.
func (p *Pod) LateVolumes() []string {
	if p.Dependencies == nil {
		return nil
	}
	return p.Dependencies.LateVolumes
}

// Labels is a set of pod labels in a namespace.
type Labels struct {
	Namespace string
	Values    map[string]string
}

// Shape is the part of a pod's spec that scheduling uses. The pods of a workload share one Shape, so that the engine does its
// work once per shape. Two shapes with equal content are valid, only slower.
type Shape struct {
	// Requests are the pod's total requests, including "pods: 1".
	Requests resource.Vector
	// Unoffered are the requests for resources that nothing offered when the shape was made, sorted by name. Requests has their
	// number at resource.Unoffered, so that the pod fits nowhere.
	Unoffered []resource.Request
	// Extended are the requests for extended resources, by name, in which Requests and Unoffered include them; nil for most pods.
	Extended []ExtendedRequest
	// Selector is the conjunction that holds in every alternative (the node selector).
	Selector requirement.Set
	// Required are the alternatives of required node affinity in order of trial. Empty means one alternative: Selector.
	Required []requirement.Set
	// Preferred are preferred node affinity terms, highest weight first.
	Preferred []Preference
	// Tolerations are the pod's tolerations.
	Tolerations []Toleration
	// NodeFeatures are the features that the node has to declare, and InstalledDrivers the CSI drivers that have to be installed on it, both
	// sorted; nil for most pods.
	NodeFeatures, InstalledDrivers []string
	// HostPorts are the host ports of the pod. Pods with a common host port never share a node, so pods of one shape with host
	// ports never do.
	HostPorts []HostPort
	// Priority is the pod's priority; pods with a higher one are placed first.
	Priority int32
	// VolumeTopology are the alternatives of where all of the pod's volumes can be used, each a conjunction on node labels. They
	// restrict the node, not the counting of topology, and are never relaxed. Empty means anywhere.
	VolumeTopology []requirement.Set
	// Drivers identify the attachments of the pod, sorted: for each volume the driver, followed by the claim if pods on several
	// nodes may share it. Attach limits treat pods with equal drivers alike.
	Drivers []string
	// Spreads are the topology spread constraints, preferred ones included, in the pod's order.
	Spreads []topology.Spread
	// Affinities are the terms of pod affinity and anti-affinity, highest weight first.
	Affinities []topology.Affinity
}

// Preference is a preferred node affinity term with its weight (1 to 100).
type Preference struct {
	Weight int32
	Terms  requirement.Set
}

// Strict returns the conjunction for the i-th alternative of required affinity, without preferences.
func (s *Shape) Strict(i int) requirement.Set {
	if i >= len(s.Required) {
		return s.Selector
	}
	return s.Selector.And(s.Required[i])
}

// Alternatives returns the number of alternatives of required affinity, at least one.
func (s *Shape) Alternatives() int { return max(len(s.Required), 1) }

// WithoutPreferences returns a copy of the shape without preferred node affinity, preferred pod affinity and anti-affinity, and soft
// spread constraints.
func (s *Shape) WithoutPreferences() *Shape {
	out := *s
	out.Preferred, out.Spreads, out.Affinities = nil, nil, nil
	for _, c := range s.Spreads {
		if !c.Soft {
			out.Spreads = append(out.Spreads, c)
		}
	}
	for _, a := range s.Affinities {
		if a.Required() {
			out.Affinities = append(out.Affinities, a)
		}
	}
	return &out
}

// SoftConstraints is the number of preferences and soft spread constraints.
func (s *Shape) SoftConstraints() int {
	n := len(s.Preferred)
	for i := range s.Spreads {
		if s.Spreads[i].Soft {
			n++
		}
	}
	for i := range s.Affinities {
		if !s.Affinities[i].Required() {
			n++
		}
	}
	return n
}
