// Package contest gives the same input to several schedulers and measures each: seconds, allocated bytes, nodes, dollars per hour.
// The prices of the answers are computed by code that none of the schedulers uses.
package contest

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Input is a scheduling problem: which nodes to launch for these pods. The values that it points to must not be changed.
type Input struct {
	// Cloud has the rules for labels; its provider is not called.
	Cloud cloud.Cloud
	// Types are what every pool may launch.
	Types      []*cloud.InstanceType
	Pools      []*v1.NodePool
	DaemonSets []*appsv1.DaemonSet
	// Pods wait for a node.
	Pods []*corev1.Pod
	// Nodes are the existing nodes, with their claims and the pods that run on them.
	Nodes   []*corev1.Node
	Claims  []*v1.NodeClaim
	Running []*corev1.Pod
	// Preferences is the preference policy. Upstream does not have Economical, and is given Respect instead.
	Preferences model.PreferencePolicy
}

// Occupied reports whether the cluster has nodes, claims or running pods.
func (in Input) Occupied() bool { return len(in.Nodes)+len(in.Claims)+len(in.Running) > 0 }

// Answer is what a scheduler would launch.
type Answer struct {
	// Claims are the objects to create, with the requirements and requests to launch by.
	Claims []*v1.NodeClaim
	// Placed is how many pods are placed, on the claims or on existing nodes.
	Placed int
	// LowerBound is a proven minimum of dollars per hour for claims for these pods, and BoundTook how
	// long the proof took; 0 without a proof.
	LowerBound float64
	BoundTook  time.Duration
}

// Contestant is a scheduler.
type Contestant struct {
	Name string
	// Prepare converts the input to the contestant's types, for every run. It is not measured.
	Prepare func(Input) (Run, error)
}

// Run is one run of one contestant.
type Run interface {
	// Solve schedules the pods, up to and including the objects to create. It is measured.
	Solve() error
	// Answer translates the result of Solve. It is not measured.
	Answer() (Answer, error)
}

// Price is what the answer costs in dollars per hour: each claim at the cheapest available offering that is compatible with the claim
// and has capacity for its requests. It fails when a claim cannot be launched.
func Price(in Input, a Answer) (float64, error) {
	offerings := cloud.NewOfferingList(in.Types, in.Cloud.Labels)
	sum := 0.0
	for i, claim := range a.Claims {
		price, found := 0.0, false
		for candidate := range offerings.Candidates(claim) {
			price, found = candidate.Offering.Price, true
			break
		}
		if !found {
			return 0, fmt.Errorf("claim %d of %d: %w", i+1, len(a.Claims), offerings.Refusal(claim))
		}
		sum += price
	}
	return sum, nil
}
