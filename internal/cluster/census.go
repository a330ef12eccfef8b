package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Phase is what becomes of a NodeClaim. A claim is in exactly one phase.
type Phase string

const (
	// Active claims were created and nobody wants them gone.
	Active Phase = "Active"
	// PendingDisruption are claims that are being replaced and not yet marked for deletion.
	PendingDisruption Phase = "PendingDisruption"
	// Deleting claims are marked for deletion by anyone.
	Deleting Phase = "Deleting"
)

// Owned is a NodeClaim of a pool. The objects are shared and must not be changed.
type PoolNodeClaim struct {
	// ID is that of the machine in snapshots.
	ID    string
	Phase Phase
	Claim *v1.NodeClaim
	// Node is nil as long as there is none.
	Node *corev1.Node
}

// Census is how many NodeClaims a pool has in each phase, and for how many more somebody has reserved the place.
type Census struct{ Active, PendingDisruption, Deleting, Reserved int }

// Exceeds reports whether the pool has more NodeClaims than replicas, those that are being deleted left out.
func (c Census) Exceeds(replicas int64) bool { return int64(c.Active+c.PendingDisruption) > replicas }

// Claims are the NodeClaims of a pool, sorted by name. Those that this process created are among them from the moment of
// their creation.
//
// Nothing is counted along the way: phases are read off the entries, so that no order of events can make them wrong.
// Cost: linear in the NodeClaims of the cluster.
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

// claimNamed is the claim of that name; nil when there is none, or when another claim says that the machine is its own.
func (s *Store) claimNamed(name string) *v1.NodeClaim {
	e, ok := s.entries[s.claimEntry[name]]
	if !ok || e.claim == nil || e.claim.Name != name {
		return nil
	}
	return e.claim
}

// phaseOf is the phase of the claim of that name; empty when there is none.
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

// OnCensus calls f with the name of a pool whenever one of its NodeClaims appeared, went or entered another phase. By then
// Census shows it. f must neither block nor call the Store.
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

// BeginReplacement notes that machines are being replaced; EndReplacement takes it back. Machines that are marked for
// deletion meanwhile stay marked.
func (s *Store) BeginReplacement(ids ...string) { s.setReplaced(true, ids) }

// EndReplacement takes back BeginReplacement.
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

// Reservation is the right to create a number of NodeClaims of a pool. Whoever holds one gives it back, whatever comes of
// the creations: a claim that was created counts by itself. It is safe for concurrent use.
type Reservation struct {
	store *Store
	pool  string
	left  int
}

// Reserve grants at most wanted further NodeClaims of a pool, such that all there are and all that were granted stay
// within limit; nil is no limit. Together with the count it is one step: concurrent callers never exceed the limit.
func (s *Store) Reserve(pool string, wanted int, limit *int64) *Reservation {
	s.mu.Lock()
	defer s.mu.Unlock()
	granted := max(wanted, 0)
	if limit != nil {
		c := s.census(pool)
		room := *limit - int64(c.Active+c.PendingDisruption+c.Deleting+c.Reserved)
		granted = int(min(int64(granted), max(room, 0)))
	}
	if granted > 0 {
		s.reserved[pool] += granted
	}
	return &Reservation{store: s, pool: pool, left: granted}
}

// Left is how many NodeClaims may still be created.
func (r *Reservation) Left() int {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	return r.left
}

// Release gives back n of what is left; more than that is what is left.
func (r *Reservation) Release(n int) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	n = min(max(n, 0), r.left)
	r.left -= n
	if r.store.reserved[r.pool] -= n; r.store.reserved[r.pool] <= 0 {
		delete(r.store.reserved, r.pool)
	}
}
