package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Phase is the phase of a NodeClaim. A NodeClaim is in exactly one phase.
type Phase string

const (
	// Active are NodeClaims that are neither being replaced nor deleted.
	Active Phase = "Active"
	// PendingDisruption are NodeClaims that are being replaced and not yet marked for deletion.
	PendingDisruption Phase = "PendingDisruption"
	// Deleting are NodeClaims that are marked for deletion by any controller or user.
	Deleting Phase = "Deleting"
)

// PoolNodeClaim is a NodeClaim of a NodePool. The objects are shared and must not be changed.
type PoolNodeClaim struct {
	// ID is that of the node in snapshots.
	ID    string
	Phase Phase
	Claim *v1.NodeClaim
	// Node is nil before the node joins.
	Node *corev1.Node
}

// Census is the number of NodeClaims of a pool by phase, and of those that holders of reservations may still create.
type Census struct{ Active, PendingDisruption, Deleting, Reserved int }

// Exceeds reports whether the pool has more NodeClaims than replicas, those that are being deleted left out.
func (c Census) Exceeds(replicas int64) bool { return int64(c.Active+c.PendingDisruption) > replicas }

// Claims returns the NodeClaims of a pool, sorted by name, including those that this process has just created.
//
// No counters are kept: phases are computed from the entries, so that they do not depend on the order of events. Cost: linear in
// the NodeClaims of the cluster.
//
// Source: scheduling specification, NodePool totals and node-claim sets.
func (s *Store) Claims(pool string) []PoolNodeClaim {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []PoolNodeClaim
	for name, id := range s.claimEntry {
		if claim := s.claimNamed(name); claim != nil && claim.Labels[v1.NodePoolLabelKey] == pool {
			out = append(out, PoolNodeClaim{ID: id, Phase: s.phaseOf(name), Claim: claim, Node: s.entries[id].node})
		}
	}
	slices.SortFunc(out, func(a, b PoolNodeClaim) int { return strings.Compare(a.Claim.Name, b.Claim.Name) })
	return out
}

// Census counts the NodeClaims of a pool.
func (s *Store) Census(pool string) Census {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.census(pool)
}

func (s *Store) census(pool string) Census {
	c := Census{Reserved: s.reserved[pool]}
	for name := range s.claimEntry {
		if claim := s.claimNamed(name); claim == nil || claim.Labels[v1.NodePoolLabelKey] != pool {
			continue
		}
		switch s.phaseOf(name) {
		case Active:
			c.Active++
		case PendingDisruption:
			c.PendingDisruption++
		case Deleting:
			c.Deleting++
		}
	}
	return c
}

// claimNamed returns the NodeClaim of that name; nil if there is none, or if another NodeClaim has the same provider ID.
func (s *Store) claimNamed(name string) *v1.NodeClaim {
	e, ok := s.entries[s.claimEntry[name]]
	if !ok || e.claim == nil || e.claim.Name != name {
		return nil
	}
	return e.claim
}

// phaseOf returns the phase of the NodeClaim of that name; empty if there is none.
func (s *Store) phaseOf(name string) Phase {
	if s.claimNamed(name) == nil {
		return ""
	}
	e := s.entries[s.claimEntry[name]]
	switch {
	case e.marked, !e.claim.DeletionTimestamp.IsZero(), condition.Status(e.claim, v1.ConditionTypeInstanceTerminating) == "True":
		return Deleting
	case e.replaced:
		return PendingDisruption
	}
	return Active
}

// OnCensus calls f with the name of a pool whenever one of its NodeClaims is added, removed or changes its phase. Census includes
// the change by then. f must neither block nor call the Store.
func (s *Store) OnCensus(f func(pool string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, f)
}

func (s *Store) notify(claim *v1.NodeClaim) {
	for _, f := range s.listeners {
		f(claim.Labels[v1.NodePoolLabelKey])
	}
}

// BeginReplacement records that nodes are being replaced; EndReplacement reverts it. Nodes that are marked for deletion
// meanwhile stay marked.
func (s *Store) BeginReplacement(ids ...string) { s.setReplaced(true, ids) }

// EndReplacement reverts BeginReplacement.
func (s *Store) EndReplacement(ids ...string) { s.setReplaced(false, ids) }

func (s *Store) setReplaced(replaced bool, ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if e, ok := s.entries[id]; ok && e.replaced != replaced {
			e.replaced = replaced
			if e.claim != nil {
				s.notify(e.claim)
			}
		}
	}
}

// Reservation is the right to create a number of NodeClaims of a pool. Its holder releases it whether creating them succeeds or
// not: a created NodeClaim counts by itself. It is safe for concurrent use.
type Reservation struct {
	store *Store
	pool  string
	left  int
}

// Reserve grants at most wanted further NodeClaims of a pool, such that existing and granted ones stay within limit; nil is no
// limit. Counting and granting is atomic: concurrent callers never exceed the limit.
func (s *Store) Reserve(pool string, wanted int, limit *int64) *Reservation {
	s.mu.Lock()
	defer s.mu.Unlock()
	granted := max(wanted, 0)
	if limit != nil {
		c := s.census(pool)
		left := *limit - int64(c.Active+c.PendingDisruption+c.Deleting+c.Reserved)
		granted = int(min(int64(granted), max(left, 0)))
	}
	if granted > 0 {
		s.reserved[pool] += granted
	}
	return &Reservation{store: s, pool: pool, left: granted}
}

// Left returns how many NodeClaims may still be created.
func (r *Reservation) Left() int {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	return r.left
}

// Release returns n of the remaining NodeClaims, or all of them if n is larger.
func (r *Reservation) Release(n int) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	n = min(max(n, 0), r.left)
	r.left -= n
	if r.store.reserved[r.pool] -= n; r.store.reserved[r.pool] <= 0 {
		delete(r.store.reserved, r.pool)
	}
}
