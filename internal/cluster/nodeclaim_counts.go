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

// NodeClaimCounts is the number of NodeClaims of a pool by phase, and of those that holders of reservations may still create.
// TerminatedFirst of those being deleted keep what their replacement needs, such as an instance of a capacity reservation, until they are gone.
type NodeClaimCounts struct{ Active, PendingDisruption, Deleting, Reserved, TerminatedFirst int }

// Exceeds reports whether the pool has more NodeClaims than replicas, those that are being deleted left out.
func (c NodeClaimCounts) Exceeds(replicas int64) bool {
	return int64(c.Active+c.PendingDisruption) > replicas
}

// Pools is the part of a Store that counts the NodeClaims of each NodePool, and reserves further ones.
type Pools struct {
	store *Store
	// claims are the names of the NodeClaims of each pool, poolOf is the reverse.
	claims links
	poolOf map[string]string
	// reserved is the number of NodeClaims that holders of reservations may still create, by pool.
	reserved map[string]int
	// listeners are called with pools whose counts change.
	listeners []func(pool string)
}

// Claims returns the NodeClaims of a pool, sorted by name, including those that this process has just created.
//
// No counters are kept: phases are computed from the entries, so that they do not depend on the order of events. Cost: linear in
// the NodeClaims of the pool.
//
// Source: scheduling specification, NodePool totals and node-claim sets.
func (p *Pools) Claims(pool string) []PoolNodeClaim {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	var out []PoolNodeClaim
	for name := range p.claims[pool] {
		if claim := p.claimNamed(name); claim != nil {
			id := p.store.claimEntry[name]
			out = append(out, PoolNodeClaim{ID: id, Phase: p.phaseOf(name), Claim: claim, Node: p.store.entries[id].node})
		}
	}
	slices.SortFunc(out, func(a, b PoolNodeClaim) int { return strings.Compare(a.Claim.Name, b.Claim.Name) })
	return out
}

// Counts counts the NodeClaims of a pool.
func (p *Pools) Counts(pool string) NodeClaimCounts {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	return p.counts(pool)
}

func (p *Pools) counts(pool string) NodeClaimCounts {
	c := NodeClaimCounts{Reserved: p.reserved[pool]}
	for name := range p.claims[pool] {
		switch p.phaseOf(name) {
		case Active:
			c.Active++
		case PendingDisruption:
			c.PendingDisruption++
		case Deleting:
			c.Deleting++
			if p.store.entries[p.store.claimEntry[name]].terminatedFirst {
				c.TerminatedFirst++
			}
		}
	}
	return c
}

// join records the pool of a NodeClaim.
func (p *Pools) join(claim *v1.NodeClaim) {
	pool := claim.Labels[v1.NodePoolLabelKey]
	p.claims.move(claim.Name, p.poolOf[claim.Name], pool)
	p.poolOf[claim.Name] = pool
}

// leave reverts join.
func (p *Pools) leave(claim string) {
	p.claims.move(claim, p.poolOf[claim], "")
	delete(p.poolOf, claim)
}

// claimNamed returns the NodeClaim of that name; nil if there is none, or if another NodeClaim has the same provider ID.
func (p *Pools) claimNamed(name string) *v1.NodeClaim {
	e, ok := p.store.entries[p.store.claimEntry[name]]
	if !ok || e.claim == nil || e.claim.Name != name {
		return nil
	}
	return e.claim
}

// phaseOf returns the phase of the NodeClaim of that name; empty if there is none.
func (p *Pools) phaseOf(name string) Phase {
	if p.claimNamed(name) == nil {
		return ""
	}
	e := p.store.entries[p.store.claimEntry[name]]
	switch {
	case e.marked, !e.claim.DeletionTimestamp.IsZero(), condition.Status(e.claim, v1.ConditionTypeInstanceTerminating) == "True":
		return Deleting
	case e.replaced:
		return PendingDisruption
	}
	return Active
}

// OnChange calls f with the name of a pool whenever one of its NodeClaims is added, removed or changes its phase. Counts includes
// the change by then. f must neither block nor call the Store.
func (p *Pools) OnChange(f func(pool string)) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.listeners = append(p.listeners, f)
}

func (p *Pools) notify(claim *v1.NodeClaim) {
	for _, f := range p.listeners {
		f(claim.Labels[v1.NodePoolLabelKey])
	}
}

// BeginReplacement records that nodes are being replaced; EndReplacement reverts it. Nodes that are marked for deletion
// meanwhile stay marked.
func (p *Pools) BeginReplacement(ids ...string) { p.setReplaced(true, ids) }

// EndReplacement reverts BeginReplacement and TerminateFirst.
func (p *Pools) EndReplacement(ids ...string) {
	p.setReplaced(false, ids)
	p.setTerminatedFirst(false, ids)
}

// TerminateFirst records that the replacements of nodes can be launched only once the nodes are gone. EndReplacement reverts it.
func (p *Pools) TerminateFirst(ids ...string) { p.setTerminatedFirst(true, ids) }

func (p *Pools) setTerminatedFirst(first bool, ids []string) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	for _, id := range ids {
		if e, ok := p.store.entries[id]; ok {
			e.terminatedFirst = first
		}
	}
}

func (p *Pools) setReplaced(replaced bool, ids []string) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	for _, id := range ids {
		if e, ok := p.store.entries[id]; ok && e.replaced != replaced {
			e.replaced = replaced
			if e.claim != nil {
				p.notify(e.claim)
			}
		}
	}
}

// Reservation is the right to create a number of NodeClaims of a pool. Its holder releases it whether creating them succeeds or
// not: a created NodeClaim counts by itself. It is safe for concurrent use.
type Reservation struct {
	pools *Pools
	pool  string
	left  int
}

// Reserve grants at most wanted further NodeClaims of a pool, such that existing and granted ones stay within limit; nil is no
// limit. Counting and granting is atomic: concurrent callers never exceed the limit.
func (p *Pools) Reserve(pool string, wanted int, limit *int64) *Reservation {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	granted := max(wanted, 0)
	if limit != nil {
		c := p.counts(pool)
		left := *limit - int64(c.Active+c.PendingDisruption+c.Deleting+c.Reserved)
		granted = int(min(int64(granted), max(left, 0)))
	}
	if granted > 0 {
		p.reserved[pool] += granted
	}
	return &Reservation{pools: p, pool: pool, left: granted}
}

// Left returns how many NodeClaims may still be created.
func (r *Reservation) Left() int {
	r.pools.store.mu.Lock()
	defer r.pools.store.mu.Unlock()
	return r.left
}

// Release returns n of the remaining NodeClaims, or all of them if n is larger.
func (r *Reservation) Release(n int) {
	r.pools.store.mu.Lock()
	defer r.pools.store.mu.Unlock()
	n = min(max(n, 0), r.left)
	r.left -= n
	if r.pools.reserved[r.pool] -= n; r.pools.reserved[r.pool] <= 0 {
		delete(r.pools.reserved, r.pool)
	}
}
