package bookkeeper

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/cost"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	// name is that of the controller in logs.
	name = "ledger"
	// countPeriod is the time between two counts of savings.
	countPeriod = 10 * time.Second
	// repriceCounts is the number of counts between two updates of the prices of the fleet: clouds change prices of spot capacity.
	repriceCounts = 6
	// fleetPeriod is the time between two lists of the fleet.
	fleetPeriod = time.Hour
)

// Begin begins the term of the process as leader: it opens the disk, if there is one, and calls Begin of the Ledger with this run.
type Begin func(ctx context.Context, run string) error

// Follower records the life of every NodeClaim, and lists the fleet. It runs on the leader only.
type Follower struct {
	books *Books
	cloud cloud.Cloud
	begin Begin
	log   *slog.Logger
	cache cache.Cache

	// wake is sent to when there is something in queue.
	wake chan struct{}
	mu   sync.Mutex
	// queue has the events of the watch, whose handlers should not wait for prices; at most the newest version of each NodeClaim, and that it
	// is gone. newest is where that version is, by UID.
	queue  []event
	newest map[types.UID]int

	// Only Start accesses the following fields. known is what was recorded of each NodeClaim, by name. synced is set once NodeClaims that
	// appear are new.
	known  map[string]ledger.NodeClaimState
	synced bool
}

// event is a NodeClaim that has changed, or is gone.
type event struct {
	claim *v1.NodeClaim
	gone  bool
}

// NewFollower returns a Follower that is not running yet.
func NewFollower(b *Books, c cloud.Cloud, begin Begin, log *slog.Logger) *Follower {
	return &Follower{books: b, cloud: c, begin: begin, log: log.With(logfield.Controller(name)), known: map[string]ledger.NodeClaimState{}, wake: make(chan struct{}, 1)}
}

// Register adds the Follower to m.
func (f *Follower) Register(m manager.Manager) error {
	f.cache = m.GetCache()
	return m.Add(f)
}

// NeedLeaderElection is true: other replicas decide nothing.
func (f *Follower) NeedLeaderElection() bool { return true }

// Start records until ctx ends. It does not fail if the disk cannot be used: the ledger in memory goes on.
func (f *Follower) Start(ctx context.Context) error {
	ctx = observe.WithController(ctx, name)
	if err := f.begin(ctx, f.books.run); err != nil {
		f.log.Error("cannot use the directory of the ledger, keeping records in memory only", logfield.Error(err))
	}
	informer, err := f.cache.GetInformer(ctx, &v1.NodeClaim{})
	if err != nil {
		return fmt.Errorf("watching nodeclaims: %w", err)
	}
	registered, err := informer.AddEventHandler(f.handler())
	if err != nil {
		return fmt.Errorf("watching nodeclaims: %w", err)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return nil
	}
	f.drain(ctx)
	f.reprice(ctx)
	f.list()
	next := f.books.clock.Now().Add(fleetPeriod)
	tick := f.books.clock.After(countPeriod)
	for counts := 1; ; counts++ {
		select {
		case <-ctx.Done():
			f.books.savings.stop(f.books.clock.Now())
			return nil
		case <-f.wake:
			f.drain(ctx)
			counts--
			continue
		case <-tick:
			tick = f.books.clock.After(countPeriod)
		}
		f.count(ctx)
		if counts%repriceCounts == 0 {
			f.reprice(ctx)
		}
		if now := f.books.clock.Now(); !now.Before(next) {
			f.list()
			next = now.Add(fleetPeriod)
		}
	}
}

// count counts the savings, and forgets NodePools that are gone.
func (f *Follower) count(ctx context.Context) {
	var pools v1.NodePoolList
	if err := f.books.prices.client.List(ctx, &pools); err == nil {
		exists := make(map[string]bool, len(pools.Items))
		for i := range pools.Items {
			exists[pools.Items[i].Name] = true
		}
		f.books.savings.forget(exists)
		f.books.prices.forget(exists)
	}
	f.books.savings.count(f.books.clock.Now())
}

// reprice sums up what the fleet costs now.
func (f *Follower) reprice(ctx context.Context) {
	dollars, unpriced := 0.0, 0
	for name, s := range f.known {
		if s.InstanceType != "" {
			o := cost.Offering{InstanceType: s.InstanceType, Zone: s.Zone, CapacityType: s.CapacityType}
			if price := ledger.Known(f.books.prices.of(ctx, s.NodePool).price(o)); price != nil {
				s.Price = price
				f.known[name] = s
			}
		}
		each, without := costOf(s)
		dollars, unpriced = dollars+each, unpriced+without
	}
	f.books.fleet.set(dollars, unpriced)
}

// list records the fleet. From the first call on, NodeClaims that appear are new.
func (f *Follower) list() {
	f.synced = true
	claims := make([]ledger.NodeClaimState, 0, len(f.known))
	for _, s := range f.known {
		claims = append(claims, s)
	}
	for _, part := range ledger.FleetParts(claims) {
		f.books.Append(ledger.Record{Kind: ledger.KindFleet, Fleet: &part})
	}
}

// put queues an event. A version of a NodeClaim replaces one that waits: follow records the steps between versions that it sees.
func (f *Follower) put(e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at, waits := f.newest[e.claim.UID]; waits && !e.gone {
		f.queue[at] = e
		return
	}
	if !e.gone {
		if f.newest == nil {
			f.newest = map[types.UID]int{}
		}
		f.newest[e.claim.UID] = len(f.queue)
	}
	f.queue = append(f.queue, e)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// drain handles what is in the queue.
func (f *Follower) drain(ctx context.Context) {
	f.mu.Lock()
	queue := f.queue
	f.queue, f.newest = nil, nil
	f.mu.Unlock()
	for _, e := range queue {
		if e.gone {
			f.gone(e.claim)
		} else {
			f.follow(ctx, e.claim)
		}
	}
}

// handler queues the events of the NodeClaims of this installation.
func (f *Follower) handler() toolscache.ResourceEventHandler {
	update := func(o any) {
		if claim, ok := o.(*v1.NodeClaim); ok && managed.Is(f.cloud, claim) {
			f.put(event{claim: claim})
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    update,
		UpdateFunc: func(_, now any) { update(now) },
		DeleteFunc: func(o any) {
			if late, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = late.Obj
			}
			if claim, ok := o.(*v1.NodeClaim); ok {
				f.put(event{claim: claim, gone: true})
			}
		},
	}
}

// phases are the events that a NodeClaim shows by its conditions, in their order.
func phases() []ledger.Phase {
	return []ledger.Phase{ledger.Created, ledger.Launched, ledger.Registered, ledger.Initialized}
}

// follow records what is new about a NodeClaim. Steps between two versions of it that the watch delivers are recorded as well.
func (f *Follower) follow(ctx context.Context, claim *v1.NodeClaim) {
	before, known := f.known[claim.Name]
	if known && before.UID != string(claim.UID) {
		f.record(ledger.Deleted, before) // the watch missed that one was deleted and another created with its name
		f.books.fleet.change(before, ledger.NodeClaimState{})
		before, known = ledger.NodeClaimState{}, false
	}
	now := f.books.priced(ctx, claim)
	if now.Price == nil && known {
		now.Price = before.Price
	}
	f.known[claim.Name] = now
	f.books.fleet.change(before, now)
	if !f.synced {
		return
	}
	from := ledger.Created // recorded by what creates it
	if known {
		from = before.Phase
	}
	if now.Phase == ledger.Deleting {
		if from != ledger.Deleting {
			f.record(ledger.Deleting, now)
			f.books.savings.removed(claim.Name, f.books.clock.Now())
		}
		return
	}
	passed := false
	for _, phase := range phases() {
		if passed {
			f.record(phase, now)
		}
		passed = passed || phase == from
		if phase == now.Phase {
			return
		}
	}
}

// gone records that a NodeClaim is gone.
func (f *Follower) gone(claim *v1.NodeClaim) {
	before, known := f.known[claim.Name]
	if !known || before.UID != string(claim.UID) {
		return
	}
	delete(f.known, claim.Name)
	f.books.fleet.change(before, ledger.NodeClaimState{})
	if f.synced {
		f.record(ledger.Deleted, before)
	}
	f.books.savings.removed(claim.Name, f.books.clock.Now())
}

func (f *Follower) record(event ledger.Phase, s ledger.NodeClaimState) {
	s.Phase = "" // the event says it
	f.books.Append(ledger.Record{Kind: ledger.KindNodeClaim, NodeClaim: &ledger.NodeClaimEvent{Event: event, NodeClaimState: s}})
}
