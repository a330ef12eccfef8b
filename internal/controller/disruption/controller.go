// Package disruption removes and replaces nodes voluntarily: it computes commands, waits until pods that are being scheduled are
// bound, validates the commands, and carries them out.
//
// One loop decides. It runs a pass soon after a change, and every ten seconds in any case: gather (snapshot, pools, budgets),
// decide (package disrupt, pure), propose. A proposed command waits in a queue to be validated, without blocking the loop. A
// command that passes is carried out by a dedicated goroutine, which owns it by its ID until it has ended: no object has to
// exist, and no other command has to proceed, for it to end.
//
// Only marks on objects outlive the process. Every pass removes marks that no command holds.
//
// Source: disruption specification, voluntary disruption.
package disruption

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/prediction"
	"github.com/karpenter-anew/karpenter/internal/translate"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// name is the controller's name in logs and metrics.
	name = "disruption"
	// quietPeriod is how long a pass waits for further changes after the first one.
	quietPeriod = time.Second
	// passInterval is the longest time between two passes.
	passInterval = 10 * time.Second
	// syncRetry is how long to wait when the caches are not synced yet.
	syncRetry = time.Second
	// minRetryDelay and maxRetryDelay bound the delay after a pass that failed.
	minRetryDelay, maxRetryDelay = 250 * time.Millisecond, 10 * time.Second
	// warnInterval is how long a warning is not repeated.
	warnInterval = time.Hour
	// overdueAfter is the time without a pass after which the next pass logs a message.
	overdueAfter = 15 * time.Minute
)

// Deps are the dependencies of a Controller.
type Deps struct {
	deps.Shared
	Store *cluster.Store
	Feed  *cluster.Watcher
	Log   *slog.Logger
	// Translator is that of the Store.
	Translator *translate.Translator
	Scheduling options.Scheduling
	Gates      options.FeatureGates
	// Predictions are the requests that recreated pods will have; nil if they do not change.
	Predictions *prediction.Store
}

// Controller is the loop. It runs on the leader only.
type Controller struct {
	Deps
	cache cache.Cache
	// signal holds at most one notification of a change.
	signal  chan struct{}
	queue   *queue
	running sync.WaitGroup
	// turns limits concurrent writes to nodes.
	turns  *semaphore.Weighted
	prices *prices
	// perPool are the budget gauges, which are deleted with their pool.
	perPool  *observe.GaugeStore
	catalogs *translate.Catalogs
	// nodeBackoffs are those of nodes, groupBackoffs those of nodes in commands for several nodes, poolBackoffs those of pools.
	nodeBackoffs, groupBackoffs, poolBackoffs *backoffs
	// warned has the warnings that were logged within warnInterval.
	warned *ttlcache.Cache[string, bool]
	// Obstacles has the reasons why nodes are not disrupted.
	Obstacles *Obstacles

	// Only the loop accesses the following fields. retry has the delays after failed passes and is nil after a pass that succeeded;
	// lastSurvey is when the pods of nodes that no method takes were last inspected, lastPass when the last pass began.
	retry                *wait.Backoff
	lastSurvey, lastPass time.Time
	// changed is when the change that triggers the next pass was observed; zero when there is none.
	changed time.Time
	// nominationEnds is when the first nomination ends of those that the last pass found; zero when it found none.
	nominationEnds time.Time
	// nothingFound is the cluster state in which a memoized method found no command, by method; unvisitedPools are the pools that
	// single-node consolidation did not reach.
	nothingFound   map[string]string
	unvisitedPools map[string]bool
	// limits are the node limits of static pools, grants what this pass reserved within them.
	limits map[string]int64
	grants map[string]*grant
}

// New returns a controller that is not running yet.
func New(deps Deps) *Controller {
	deps.Log = deps.Log.With("controller", name)
	return &Controller{
		Deps:    deps,
		signal:  make(chan struct{}, 1),
		queue:   newQueue(),
		turns:   semaphore.NewWeighted(writers),
		prices:  newPrices(deps.Cloud.Provider, deps.Log),
		perPool: observe.NewGaugeStore(),

		catalogs:     translate.NewCatalogs(deps.Translator),
		nodeBackoffs: newBackoffs(), groupBackoffs: newBackoffs(), poolBackoffs: newBackoffs(),
		Obstacles:    newObstacles(),
		warned:       ttlcache.New[string, bool](deps.Clock, warnInterval),
		nothingFound: map[string]string{},
		limits:       map[string]int64{},
		grants:       map[string]*grant{},
	}
}

// Register adds the loop to m.
func (c *Controller) Register(m manager.Manager) error {
	c.cache = m.GetCache()
	return m.Add(c)
}

// NeedLeaderElection is true: two loops would use the same budgets twice.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start runs until ctx ends, and returns once every command has stopped.
func (c *Controller) Start(ctx context.Context) error {
	if c.cache == nil {
		return errors.New("starting disruption: the controller was not registered with a manager")
	}
	ctx = observe.WithController(ctx, name)
	if err := c.subscribe(ctx); err != nil {
		return err
	}
	defer c.running.Wait()
	c.lastPass = c.Clock.Now()
	next := c.lastPass
	for {
		wake := next
		if due, ok := c.queue.nextDue(); ok && due.Before(wake) {
			wake = due
		}
		if !c.nominationEnds.IsZero() && c.nominationEnds.Before(wake) {
			wake = c.nominationEnds
		}
		timer := c.Clock.NewTimer(wake.Sub(c.Clock.Now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-c.signal:
			timer.Stop()
			if now := c.Clock.Now(); now.Add(quietPeriod).Before(next) && c.retry == nil {
				next, c.changed = now.Add(quietPeriod), now
			}
			continue
		case <-timer.C():
		}
		c.validateDue(ctx)
		if now := c.Clock.Now(); !now.Before(next) || !c.nominationEnds.IsZero() && !now.Before(c.nominationEnds) {
			next = now.Add(c.run(ctx))
		}
	}
}

// wake signals a change to the loop.
func (c *Controller) wake() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// run makes one pass, if the caches are synced, and returns how long to wait for the next one.
func (c *Controller) run(ctx context.Context) time.Duration {
	now := c.Clock.Now()
	c.nominationEnds = time.Time{} // also when the pass fails: the retry delay applies
	if since := now.Sub(c.lastPass); since > overdueAfter {
		c.Log.Debug("disruption has not run for a while", "duration", since.String())
	}
	if !c.Feed.Ready() {
		return syncRetry
	}
	c.lastPass = now
	acted, err := c.pass(ctx)
	switch {
	case ctx.Err() != nil:
		return passInterval
	case err == nil && acted:
		// Another pass may find more commands.
		c.retry = nil
		return 0
	case err == nil:
		c.retry = nil
		return passInterval
	case onlyConflicts(err):
		// Write conflicts are expected; the next pass runs soon.
		c.retry = nil
		return quietPeriod
	default:
		if c.retry == nil {
			c.retry = &wait.Backoff{Duration: minRetryDelay, Factor: 2, Cap: maxRetryDelay, Steps: math.MaxInt}
		}
		delay := c.retry.Step()
		c.Log.Error("disruption pass failed", "error", err, "retry-in", delay.String())
		return delay
	}
}
