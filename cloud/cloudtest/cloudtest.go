// Package cloudtest checks a provider against the contract of package cloud. Every provider's tests run it:
//
//	func TestContract(t *testing.T) {
//		cloudtest.Run(t, func(t *testing.T) cloudtest.Subject { … })
//	}
//
// Each rule of the contract is one subtest on a fresh subject. The checks are ordinary functions, so that the suite's tests can
// show that each of them fails on a provider that violates its rule.
//
// Source: scheduling specification, cloud-provider contract.
package cloudtest

import (
	"context"
	"testing"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Subject is a cloud with enough around it to launch instances. All functions are needed.
type Subject struct {
	// Cloud is the cloud to check.
	Cloud cloud.Cloud
	// NodePool is a NodePool of the cloud, for listing instance types.
	NodePool *v1.NodePool
	// NewNodeClaim returns a claim with a unique UID that the cloud can launch and that requests few resources: any of at least two
	// instance types. It is written where the provider expects it, and its node class is ready.
	NewNodeClaim func(ctx context.Context) (*v1.NodeClaim, error)
	// Launched receives what Create returned, does with it what the lifecycle controller would, and returns once the
	// instance can be found.
	Launched func(ctx context.Context, claim *v1.NodeClaim) error
	// Pass advances the time between two calls of Delete.
	Pass func(ctx context.Context) error
}

// check is one rule.
type check struct {
	name string
	run  func(context.Context, Subject) error
}

func checks() []check {
	return []check{
		{"describes itself", describesItself},
		{"instance types are complete", instanceTypesAreComplete},
		{"instance types are the same when asked again", instanceTypesAreStable},
		{"create describes the instance", createDescribesTheInstance},
		{"create leaves its argument alone", createLeavesItsArgumentAlone},
		{"create is idempotent", createIsIdempotent},
		{"create is idempotent under concurrency", createIsIdempotentUnderConcurrency},
		{"claims do not share instances", claimsDoNotShareInstances},
		{"create refuses the impossible", createRefusesTheImpossible},
		{"get and list agree", getAndListAgree},
		{"a new instance is not drifted", newInstanceIsNotDrifted},
		{"what does not exist is not found", unknownInstanceIsNotFound},
		{"what does not exist is not rebooted", unknownInstanceIsNotRebooted},
		{"delete ends in not found", deleteEndsInNotFound},
		{"delete leaves other instances alone", deleteLeavesOthersAlone},
	}
}

// Run checks every rule of the contract, each on a fresh subject.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(t.Context(), newSubject(t)); err != nil {
				t.Error(err)
			}
		})
	}
}
