// Package costcap holds the caps on cost of OperationsPolicies: it tells the solver what they leave, and refuses NodeClaims that would exceed
// one.
//
// Problem: several controllers create NodeClaims at the same time, none of which sees at once what the others create, and what a launch costs
// is known only once the cloud has chosen an offering. Approach: every creation passes Reserve, one at a time. A NodeClaim counts from its
// reservation on, at the price of the most expensive offering that it permits, and from its launch on at the price of its offering.
// Invariant: the sum of what counts is at most the cap after every creation that Reserve admits.
//
// Cost: the NodeClaims are listed at most once in staleness; a reservation is linear in their number.
package costcap

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
	"github.com/karpenter-anew/karpenter/internal/operations"
)

const (
	// staleness is how long prices and the list of NodeClaims are used. What is created meanwhile is known from its reservation, and what
	// is deleted counts for a moment longer.
	staleness = time.Second
	// keptFor is how long a NodeClaim counts that was created and that the cache has never shown.
	keptFor = 5 * time.Minute
)

// Caps are the caps on cost. They are safe for concurrent use.
type Caps struct {
	client client.Reader
	cloud  cloud.Cloud
	clock  clock.PassiveClock

	mu sync.Mutex
	// listed are the NodeClaims that the cache had at the time read, by name.
	listed map[string]charge
	read   time.Time
	prices operations.Prices
	// reserved are NodeClaims that the cache may not have, by a number that is never used again.
	reserved map[int]*reservation
	last     int
	// known has the last known price of every listed NodeClaim that is launched, by name: its type may not be offered any longer.
	known map[string]policy.Dollars
}

// charge is what a NodeClaim costs at most.
type charge struct {
	pool  string
	price policy.Dollars
}

// reservation is a NodeClaim that is being created, or, if it has a name, was created at a time.
type reservation struct {
	claim   *v1.NodeClaim
	name    string
	settled time.Time
}

// New returns the caps of the OperationsPolicies that the client reads.
func New(c client.Reader, in cloud.Cloud, clk clock.PassiveClock) *Caps {
	return &Caps{client: c, cloud: in, clock: clk, reserved: map[int]*reservation{}, known: map[string]policy.Dollars{}}
}

// Of implements create.Admission. A cap that counts a node whose price is not known leaves nothing.
func (c *Caps) Of(ctx context.Context, pools []*v1.NodePool) (map[string][]policy.UsedCap, error) {
	set, err := c.policies(ctx)
	if err != nil || !set.Capped() {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	spend, err := c.spend(ctx)
	if err != nil {
		return nil, err
	}
	return operations.UsedCaps(set, spend, pools), nil
}

// Reserve implements create.Admission. The error is a policy.ExceededError if a cap does not admit the NodeClaim.
func (c *Caps) Reserve(ctx context.Context, claim *v1.NodeClaim) (settle func(name string), err error) {
	pool := claim.Labels[v1.NodePoolLabelKey]
	caps, err := c.capsOn(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("reading cost caps: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prune()
	r := &reservation{claim: claim.DeepCopy()} // a cap may be set before the cache has it
	if len(caps) > 0 {
		spend, err := c.spend(ctx)
		if err != nil {
			return nil, err
		}
		if err := spend.Admit(c.prices.Most(claim), caps...); err != nil {
			return nil, err
		}
	}
	c.last++
	id := c.last
	c.reserved[id] = r
	return func(name string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if name == "" {
			delete(c.reserved, id)
			return
		}
		r.name, r.settled = name, c.clock.Now()
	}, nil
}

// prune forgets NodeClaims that the cache must have shown by now. The caller holds mu.
func (c *Caps) prune() {
	for id, r := range c.reserved {
		if r.name != "" && c.clock.Now().Sub(r.settled) >= keptFor {
			delete(c.reserved, id)
		}
	}
}

// policies are those of the cluster.
func (c *Caps) policies(ctx context.Context) (policy.Set, error) {
	var list opsv1alpha1.OperationsPolicyList
	if err := c.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing operations policies: %w", err)
	}
	return operations.Policies(list.Items), nil
}

// capsOn are the caps that the launch of a NodeClaim from a pool counts against.
func (c *Caps) capsOn(ctx context.Context, pool string) ([]policy.Cap, error) {
	set, err := c.policies(ctx)
	if err != nil || !set.Capped() {
		return nil, err
	}
	if pool == "" {
		return set.CapsOnCluster(), nil
	}
	var object v1.NodePool
	if err := c.client.Get(ctx, client.ObjectKey{Name: pool}, &object); err != nil {
		return nil, fmt.Errorf("reading nodepool %q: %w", pool, err)
	}
	return set.CapsOn(pool, object.Labels), nil
}

// spend is what counts against caps now. The caller holds mu.
func (c *Caps) spend(ctx context.Context) (*policy.Spend, error) {
	now := c.clock.Now()
	if c.listed == nil || now.Sub(c.read) >= staleness {
		if err := c.refresh(ctx, now); err != nil {
			return nil, err
		}
	}
	out := &policy.Spend{}
	for name, one := range c.listed {
		out.Add(one.pool, name, one.price)
	}
	c.prune()
	for id, r := range c.reserved {
		if _, listed := c.listed[r.name]; listed {
			delete(c.reserved, id)
			continue
		}
		out.Add(r.claim.Labels[v1.NodePoolLabelKey], r.claim.Name, c.prices.Most(r.claim))
	}
	return out, nil
}

// refresh lists NodeClaims and prices.
func (c *Caps) refresh(ctx context.Context, now time.Time) error {
	var pools v1.NodePoolList
	var claims v1.NodeClaimList
	for _, list := range []client.ObjectList{&pools, &claims} {
		if err := c.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing %T: %w", list, err)
		}
	}
	current := operations.NewPrices(c.cloud.Labels)
	for i := range pools.Items {
		pool := &pools.Items[i]
		if !managed.Is(c.cloud, pool) {
			continue
		}
		types, err := c.cloud.Provider.InstanceTypes(ctx, pool)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			current.Add(pool.Name, types)
		}
	}
	listed, known := map[string]charge{}, map[string]policy.Dollars{}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if !managed.Is(c.cloud, claim) {
			continue
		}
		price, launched := current.Of(claim)
		if before, ok := c.known[claim.Name]; launched && price == policy.MostDollars && ok {
			price = before
		}
		if launched && price != policy.MostDollars {
			known[claim.Name] = price
		}
		listed[claim.Name] = charge{pool: claim.Labels[v1.NodePoolLabelKey], price: price}
	}
	c.listed, c.known, c.prices, c.read = listed, known, current, now
	return nil
}
