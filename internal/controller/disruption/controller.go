// Package disruption removes and replaces nodes voluntarily: it computes commands, waits until pods that are being scheduled are
// bound, validates the commands, and carries them out.
//
// One loop decides (Controller). It runs a pass soon after a change, and every ten seconds in any case: gather (gatherer: snapshot,
// pools, budgets), decide (package disrupt, pure), propose (planner). A proposed command waits in a queue to be validated
// (validator), without blocking the loop. A command that passes is carried out by a dedicated goroutine (executor), which owns it by
// its ID until it has ended: no object has to exist, and no other command has to proceed, for it to end.
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
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/passlog"
	"github.com/karpenter-anew/karpenter/internal/controller/recovery"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/prediction"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/translate"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// name is the controller's name in logs and metrics.
	name = "disruption"
	// quietPeriod is how long a pass waits for further changes after the first one.
	quietPeriod = problem.QuietPeriod
	// passInterval is the longest time between two passes.
	passInterval = problem.PassInterval
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
	// Repair is set when unhealthy nodes are repaired: the Store knows their repair policies.
	Repair bool
	// Quarantine has the pods that provisioning leaves out because of panics; nil for none.
	Quarantine *recovery.Quarantine
	// Admission verifies approvals of DisruptionPlans; nil where nothing does, so that none counts.
	Admission Admission
	// Notifier is told what happens to plans and commands; nil if nothing is.
	Notifier Notifier
	// Predictions are the requests that recreated pods will have; nil if they do not change.
	Predictions *prediction.Store
	// Workers is how many simulations run at a time; 0 for one per processor, up to maxWorkers.
	Workers int
}

// Controller is the loop. It runs on the leader only.
type Controller struct {
	Deps
	passes *passlog.Passes
	cache  cache.Cache
	// wake ends the loop's wait for the next pass.
	wake      signal
	queue     *queue
	planner   *planner
	validator *validator
	executor  *executor
	// Obstacles has the reasons why nodes are not disrupted.
	Obstacles *Obstacles

	// Only the loop accesses the following fields. retry has the delays after failed passes and is nil after a pass that succeeded;
	// lastPass is when the last pass began.
	retry    *wait.Backoff
	lastPass time.Time
}

// backoffSet has the backoffs of nodes, those of nodes in commands for several nodes, and those of pools.
type backoffSet struct{ nodes, groups, pools *problem.Backoffs }

// signal holds at most one notification.
type signal chan struct{}

// send notifies the receiver.
func (s signal) send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// New returns a controller that is not running yet.
func New(deps Deps) *Controller {
	deps.Log = deps.Log.With(logfield.Controller(name))
	queued := deps // commands are carried out beside the passes
	passes, log := passlog.New(deps.Log)
	deps.Log = log
	wake, waiting, obstacles := make(signal, 1), newQueue(), newObstacles()
	backoffs := &backoffSet{nodes: problem.NewBackoffs(), groups: problem.NewBackoffs(), pools: problem.NewBackoffs()}
	reports := &reporter{recorder: deps.Recorder, metrics: deps.Metrics, books: deps.Books, notifier: deps.Notifier, log: deps.Log, perPool: observe.NewGaugeStore()}
	marks := &marker{client: deps.Client, live: deps.Live, clock: deps.Clock, log: deps.Log, turns: semaphore.NewWeighted(writers)}
	reads := &gatherer{
		Deps: deps, queue: waiting, backoffs: backoffs, prices: newPrices(deps.Cloud.Provider, deps.Log),
		catalogs: translate.NewCatalogs(deps.Translator), warned: ttlcache.New[string, bool](deps.Clock, warnInterval),
	}
	proposals := &plans{Deps: deps, queue: waiting, reads: reads, created: map[string]time.Time{}, postponed: map[string]time.Time{}, outcomes: map[string]planOutcome{}}
	reports.plans, reads.plans = proposals, proposals
	exec := &executor{Deps: queued, queue: waiting, backoffs: backoffs, marks: marks, reports: reports.with(queued.Log), wake: wake, reboots: &reboots{at: map[types.UID][]time.Time{}}}
	return &Controller{
		Deps: deps, passes: passes, wake: wake, queue: waiting, executor: exec, Obstacles: obstacles,
		planner: &planner{
			Deps: deps, reads: reads, queue: waiting, exec: exec, marks: marks, reports: reports, obstacles: obstacles,
			nothingFound: map[string]string{}, aside: recovery.NewQuarantine(), methods: methods(deps.Repair, deps.Gates.OperationsPolicy),
			told: told{decided: map[string][]disrupt.Obstacle{}}, plans: proposals,
		},
		validator: &validator{
			reads: reads, queue: waiting, backoffs: backoffs, exec: exec, reports: reports, wake: wake, clock: deps.Clock, log: deps.Log, plans: proposals,
		},
	}
}

// methods are the disruption methods in their order.
func methods(repair, expire bool) []disrupt.Method {
	out := disrupt.Methods()
	if expire {
		out = disrupt.WithExpiry(out)
	}
	if repair {
		out = append([]disrupt.Method{disrupt.Repair()}, out...)
	}
	return out
}

// Register adds the loop to m.
func (c *Controller) Register(m manager.Manager) error {
	c.cache = m.GetCache()
	c.executor.marks.live = m.GetAPIReader()
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
	defer c.executor.running.Wait()
	c.lastPass = c.Clock.Now()
	next := c.lastPass
	var signaled time.Time // when the last change was
	resume := false        // the next pass waits, for the quietPeriod at most, until the commands that have started are written
	for {
		if resume && !c.queue.writing() {
			next, resume = c.Clock.Now(), false
		}
		wake := next
		if due, ok := c.queue.nextDue(); ok && due.Before(wake) {
			wake = due
		}
		if !c.planner.nominationEnds.IsZero() && c.planner.nominationEnds.Before(wake) {
			wake = c.planner.nominationEnds
		}
		timer := c.Clock.NewTimer(wake.Sub(c.Clock.Now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-c.wake:
			timer.Stop()
			signaled = c.Clock.Now()
			if signaled.Add(quietPeriod).Before(next) && c.retry == nil {
				next, c.planner.changed = signaled.Add(quietPeriod), signaled
			}
			continue
		case <-timer.C():
		}
		c.validate(ctx)
		if now := c.Clock.Now(); !now.Before(next) || !c.planner.nominationEnds.IsZero() && !now.Before(c.planner.nominationEnds) {
			wait := time.Duration(0)
			if resume || !c.queue.writing() {
				wait = c.run(ctx)
			} else {
				c.planner.nominationEnds = time.Time{}
			}
			if resume = wait == 0; resume {
				wait = quietPeriod
			}
			next = now.Add(wait)
			if !resume && !signaled.Before(now) {
				c.wake.send() // the pass may have missed the change
			}
		}
	}
}

// validate checks the commands that are due.
func (c *Controller) validate(ctx context.Context) {
	defer c.passes.Begin()()
	c.validator.safeValidateDue(ctx)
}

// run makes one pass, if the caches are synced, and returns how long to wait for the next one.
func (c *Controller) run(ctx context.Context) time.Duration {
	defer c.passes.Begin()()
	now := c.Clock.Now()
	c.planner.nominationEnds = time.Time{} // also when the pass fails: the retry delay applies
	if since := now.Sub(c.lastPass); since > overdueAfter {
		c.Log.Debug("disruption has not run for a while", logfield.Duration(since))
	}
	if !c.Feed.Ready() {
		return syncRetry
	}
	c.lastPass = now
	acted, err := c.planner.safePass(ctx)
	switch {
	case ctx.Err() != nil:
		return passInterval
	case err == nil && acted:
		// Another pass may find more commands, as soon as what these change is written.
		c.forgetFailures()
		return 0
	case err == nil:
		c.forgetFailures()
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
		args := []any{logfield.Error(err), logfield.RetryIn(delay)}
		var panicked *recovery.Panic
		if errors.As(err, &panicked) {
			args = append(args, logfield.Stack(panicked.Stack))
		}
		c.Log.Error("disruption pass failed", args...)
		return delay
	}
}

// forgetFailures ends the growth of the delays after failed passes, unless the next pass may panic like the one before.
func (c *Controller) forgetFailures() {
	if !c.planner.aside.Searching() {
		c.retry = nil
	}
}
