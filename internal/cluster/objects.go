package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/repair"
)

// Entries without a provider ID are named after their object, with a prefix that no provider ID has.
const (
	claimPrefix = "nodeclaim/"
	nodePrefix  = "node/"
)

// UpdateNodeClaim applies the current version of a NodeClaim. NodeClaims of other installations are ignored.
func (s *Store) UpdateNodeClaim(claim *v1.NodeClaim) {
	if !s.cloud.Manages(claim.Spec.NodeClassRef) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, claim.Name)
	s.putClaim(claim)
}

// Created applies a NodeClaim that this process has just created, so that the next plan includes it before the watch delivers
// it. now is the time of creation; see Unconfirmed.
func (s *Store) Created(claim *v1.NodeClaim, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, seen := s.claimEntry[claim.Name]; seen {
		return
	}
	s.written[claim.Name] = now
	s.putClaim(claim)
}

// Unconfirmed returns the sorted names of NodeClaims that this process created before the given time and the watch has not delivered.
func (s *Store) Unconfirmed(before time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name, at := range s.written {
		if at.Before(before) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s *Store) putClaim(claim *v1.NodeClaim) {
	id := claim.Status.ProviderID
	if id == "" {
		id = claimPrefix + claim.Name
	}
	was := s.Pools.phaseOf(claim.Name)
	if before, ok := s.claimEntry[claim.Name]; ok && before != id {
		// The NodeClaim was launched: its state moves to the entry of the instance.
		if from, ok := s.entries[before]; ok {
			to := s.entry(id)
			to.nominatedUntil, to.marked, to.headroom = from.nominatedUntil, from.marked, from.headroom
			to.replaced, to.terminatedFirst = from.replaced, from.terminatedFirst
		}
		s.detachClaim(claim.Name)
	}
	e := s.entry(id)
	s.nominated.expect(e.claim, claim)
	e.claim = claim
	s.claimEntry[claim.Name] = id
	s.Pools.join(claim)
	s.dirty[id] = true
	if s.Pools.phaseOf(claim.Name) != was {
		s.Pools.notify(claim)
	}
}

// DeleteNodeClaim removes a NodeClaim.
func (s *Store) DeleteNodeClaim(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, name)
	if claim := s.Pools.claimNamed(name); claim != nil {
		s.Pools.notify(claim)
	}
	s.detachClaim(name)
}

func (s *Store) detachClaim(name string) {
	id, ok := s.claimEntry[name]
	if !ok {
		return
	}
	delete(s.claimEntry, name)
	s.Pools.leave(name)
	if e, ok := s.entries[id]; ok && e.claim != nil && e.claim.Name == name {
		s.nominated.expect(e.claim, nil)
		e.claim = nil
	}
	s.prune(id)
}

// UpdateNode applies the current version of a Node.
func (s *Store) UpdateNode(node *corev1.Node) {
	id := node.Spec.ProviderID
	if id == "" {
		id = nodePrefix + node.Name
	}
	before, now := s.putNode(id, node)
	s.Health.report(node.Name, before, now)
}

// putNode returns the repair policies that matched the Node before and match it now, if they may differ.
func (s *Store) putNode(id string, node *corev1.Node) (before, now []repair.Match) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.nodeEntry[node.Name]; ok && at != id {
		s.detachNode(node.Name)
	}
	e := s.entry(id)
	before, now = s.Health.update(e, node)
	e.node = node
	s.nodeEntry[node.Name] = id
	s.dirty[id] = true
	return before, now
}

// DeleteNode removes a Node.
func (s *Store) DeleteNode(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detachNode(name)
}

func (s *Store) detachNode(name string) {
	id, ok := s.nodeEntry[name]
	if !ok {
		return
	}
	delete(s.nodeEntry, name)
	if e, ok := s.entries[id]; ok && e.node != nil && e.node.Name == name {
		s.Health.update(e, nil)
		e.node = nil
	}
	s.prune(id)
}

func (s *Store) entry(id string) *entry {
	e, ok := s.entries[id]
	if !ok {
		e = &entry{}
		s.entries[id] = e
	}
	return e
}

func (s *Store) prune(id string) {
	if e, ok := s.entries[id]; ok && e.node == nil && e.claim == nil {
		delete(s.entries, id)
	}
	s.dirty[id] = true
}
