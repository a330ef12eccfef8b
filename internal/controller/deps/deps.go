// Package deps holds the dependencies that all controllers share.
package deps

import (
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/bookkeeper"
	"github.com/karpenter-anew/karpenter/internal/controller/create"
	"github.com/karpenter-anew/karpenter/internal/controller/readyourwrites"
	"github.com/karpenter-anew/karpenter/internal/controller/writegate"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// Shared is what every controller is built from. Controllers embed it.
type Shared struct {
	// Client reads from the manager's cache and writes to the API server. The cache needs the indexes of package nodelookup.
	Client *readyourwrites.Client
	// Live reads from the API server, for decisions that the cache is too old for.
	Live     client.Reader
	Clock    clock.Clock
	Cloud    cloud.Cloud
	Recorder *observe.Recorder
	Metrics  *observe.Metrics
	// WriteGate delays launches and terminations while NodeClaims are written or deleted in bulk. Nil never delays.
	WriteGate *writegate.Gate
	// Creations creates NodeClaims and logs that before their launch is logged. Nil does not keep this order.
	Creations *create.Creations
	// GroupClaims remembers which NodeClaims were created for one PodGroup. Nil remembers nothing.
	GroupClaims *create.Groups
	// Planned remembers which pods NodeClaims that start are for. Nil remembers nothing.
	Planned *create.Planned
	// Books record decisions in the ledger. Nil records nothing.
	Books *bookkeeper.Books
	// CPUMillis is the CPU that the process may use, in thousandths of a core. The number of workers depends on it.
	CPUMillis int64
}

// New returns a Shared with the client, which Client wraps, the clock, and an open gate.
func New(c client.Client, clk clock.Clock) Shared {
	return Shared{
		Client: readyourwrites.New(c, clk), Clock: clk, WriteGate: writegate.New(clk),
		Creations: create.New(clk), GroupClaims: create.NewGroups(clk), Planned: &create.Planned{},
	}
}

// ShowFailedTermination shows users why the instance of a NodeClaim is not terminated: by an event, and by the condition
// InstanceTerminating if only a change by a user, or of the cloud, helps. It reports whether the NodeClaim changed; the caller writes it.
func (s *Shared) ShowFailedTermination(claim *v1.NodeClaim, cause error) (changed bool) {
	why, permanent := cloud.AsDeleteError(cause)
	if !permanent {
		s.Recorder.Publish(observe.FailedTermination(claim, cause.Error()))
		return false
	}
	s.Recorder.Publish(observe.FailedTermination(claim, why.Message))
	return condition.For(claim, s.Clock.Now()).False(v1.ConditionTypeInstanceTerminating, why.Reason, why.Message)
}

// CountDisrupted counts and records a NodeClaim that Karpenter deleted, outside of voluntary disruption.
func (s *Shared) CountDisrupted(claim *v1.NodeClaim, reason string) {
	s.Metrics.CountDisrupted(claim, reason)
	s.Books.Disrupted(claim, reason, "")
}
