// Package provisioning creates NodeClaims for unschedulable pods: it collects pods into batches, solves where they run, and
// carries out the plan.
//
// The loop is gather (read the snapshot and what goes with it), decide (solve.Solve, pure), apply (create NodeClaims,
// nominate nodes, publish events). The NodeClaims of earlier passes are in the next snapshot; the only other memory is
// which pods are nominated to nodes that start.
//
// Source: scheduling specification, provisioning pipeline.
package provisioning

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/passlog"
	"github.com/karpenter-anew/karpenter/internal/controller/recovery"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/podlatency"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/translate"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// name is the controller's name in logs and metrics.
	name = "provisioner"
	// retrigger is the period after which pods that are still unschedulable, and nodes whose pods have to move, trigger again.
	retrigger = 10 * time.Second
	// solveTimeout bounds one solver run; what is placed until then is used.
	solveTimeout = time.Minute
	// minRetryDelay and maxRetryDelay bound the delay after a failed pass; it doubles with every further one.
	minRetryDelay, maxRetryDelay = 100 * time.Millisecond, 10 * time.Second
)

// Deps are the dependencies of a Provisioner.
type Deps struct {
	deps.Shared
	Store      *cluster.Store
	Feed       *cluster.Watcher
	Translator *translate.Translator
	Log        *slog.Logger
	Scheduling options.Scheduling
	Gates      options.FeatureGates
	// Buffers is nil while the feature is off.
	Buffers Buffers
	// PodLatency records when pods are seen and placed; nil for a tracker that no other controller reads.
	PodLatency *podlatency.Tracker
	// Quarantine has the pods that passes leave out because of panics; New makes one if there is none.
	Quarantine *recovery.Quarantine
}

// Trigger requests a pass; id names what requests it, such as a pod or a node.
func (p *Provisioner) Trigger(id string) { p.batcher.Remind(id) }

// Provisioner is the loop. It runs on the leader only.
type Provisioner struct {
	Deps
	cache       cache.Cache
	passes      *passlog.Passes
	batcher     *Batcher
	series      *series
	catalogs    *translate.Catalogs
	nominations problem.Nominations
	refused     refusedPods
	split       splitGroups
	stranded    strandedGroups
	// logged are messages that were logged recently, warned those about single pods.
	logged, warned *ttlcache.Cache[string, bool]
	// runs is the number of solver runs.
	runs uint64
	// solving are the pods of the last run, solved those of all runs of the pass that ended.
	solving, solved []*model.Pod
	// expected is what to expect after the batch of the current pass.
	expected outlook
	// solver is solve.Solve.
	solver func(solve.Problem) solve.Plan
}

// New returns a Provisioner that is not running yet.
func New(d Deps) *Provisioner {
	passes, log := passlog.New(d.Log.With(logfield.Controller(name)))
	d.Log = log
	if d.PodLatency == nil {
		d.PodLatency = &podlatency.Tracker{}
	}
	if d.Quarantine == nil {
		d.Quarantine = recovery.NewQuarantine()
	}
	return &Provisioner{
		Deps:        d,
		passes:      passes,
		batcher:     NewBatcher(d.Clock, d.Scheduling.BatchIdleDuration, d.Scheduling.BatchMaxDuration),
		series:      newSeries(d.Scheduling.BatchMaxDuration),
		catalogs:    translate.NewCatalogs(d.Translator),
		nominations: problem.Nominations{},
		split:       splitGroups{},
		stranded:    strandedGroups{},
		refused:     refusedPods{aside: map[string]*setAside{}},
		logged:      ttlcache.New[string, bool](d.Clock, repeatAfter),
		warned:      ttlcache.New[string, bool](d.Clock, warnAfter),
		solver:      solve.Solve,
	}
}

// Register adds the loop and its triggers to m.
func (p *Provisioner) Register(m manager.Manager) error {
	p.cache = m.GetCache()
	return m.Add(p)
}

// NeedLeaderElection is true: two provisioners would launch twice.
func (p *Provisioner) NeedLeaderElection() bool { return true }

// Start runs passes until ctx ends. A pass that fails is retried with exponential backoff, and its triggers are not lost:
// the pods are still pending.
func (p *Provisioner) Start(ctx context.Context) error {
	ctx = observe.WithController(ctx, name)
	if err := p.subscribe(ctx); err != nil {
		return err
	}
	if !p.Feed.WaitReady(ctx) {
		return nil
	}
	if p.Buffers != nil {
		// The first pass determines the headroom of nodes, even if there are no buffers.
		p.Trigger("capacity buffers")
	}
	retry := wait.Backoff{Duration: minRetryDelay, Factor: 2, Cap: maxRetryDelay, Steps: math.MaxInt}
	delays := retry
	next := p.Clock.Now().Add(retrigger)
	for ctx.Err() == nil {
		triggered := p.batcher.Wait(ctx)
		if now := p.Clock.Now(); now.After(next) {
			next = now.Add(retrigger)
			p.remind()
		}
		if !triggered {
			continue
		}
		endPass := p.passes.Begin()
		err := p.pass(ctx)
		if err != nil && ctx.Err() == nil {
			delay := delays.Step()
			args := []any{logfield.Error(err), logfield.RetryIn(delay)}
			var panicked *recovery.Panic
			if errors.As(err, &panicked) {
				args = append(args, logfield.Stack(panicked.Stack))
			}
			p.Log.Error("provisioning failed", args...)
			endPass()
			pause(ctx, p.Clock, delay)
			p.batcher.Remind("retry")
			continue
		}
		endPass()
		if p.Quarantine.Searching() {
			// The delay after the next panic must be longer, although this pass has succeeded.
			p.batcher.Remind("pods in quarantine")
			continue
		}
		delays = retry
	}
	return nil
}

func pause(ctx context.Context, c clock.Clock, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-c.After(d):
	}
}

// subscribe makes pending pods and nodes under disruption trigger passes.
func (p *Provisioner) subscribe(ctx context.Context) error {
	pods, err := p.cache.GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	nodes, err := p.cache.GetInformer(ctx, &corev1.Node{})
	if err != nil {
		return fmt.Errorf("watching nodes: %w", err)
	}
	pools, err := p.cache.GetInformer(ctx, &v1.NodePool{})
	if err != nil {
		return fmt.Errorf("watching node pools: %w", err)
	}
	if _, err := pods.AddEventHandler(p.podHandler()); err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	nodeHandler := onChange(p.onNode)
	nodeHandler.DeleteFunc = remindNominated(p.Store, p.batcher)
	if _, err := nodes.AddEventHandler(nodeHandler); err != nil {
		return fmt.Errorf("watching nodes: %w", err)
	}
	if _, err := pools.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: p.onPool}); err != nil {
		return fmt.Errorf("watching node pools: %w", err)
	}
	return nil
}

// onPool triggers for all unschedulable pods when a pool was edited or became ready.
func (p *Provisioner) onPool(before, now any) {
	was, isPool := before.(*v1.NodePool)
	is, stillPool := now.(*v1.NodePool)
	if !isPool || !stillPool {
		return
	}
	if was.Generation != is.Generation || condition.Status(was, v1.ConditionTypeReady) != condition.Status(is, v1.ConditionTypeReady) {
		p.remind()
	}
}

func onChange[T any](f func(T)) toolscache.ResourceEventHandlerFuncs {
	call := func(o any) {
		if object, ok := o.(T); ok {
			f(object)
		}
	}
	return toolscache.ResourceEventHandlerFuncs{AddFunc: call, UpdateFunc: func(_, now any) { call(now) }}
}

func (p *Provisioner) onPod(pod *corev1.Pod) {
	if p.Store.Provisionable(pod) {
		if p.PodLatency.Observe(string(pod.UID), p.Clock.Now()) {
			p.batcher.Trigger(string(pod.UID))
		} else {
			p.batcher.Remind(string(pod.UID))
		}
	}
}

func (p *Provisioner) onNode(node *corev1.Node) {
	disrupted := v1.DisruptedNoScheduleTaint()
	for i := range node.Spec.Taints {
		if node.Spec.Taints[i].MatchTaint(&disrupted) {
			p.batcher.Remind(string(node.UID))
			return
		}
	}
}

// remindNominated handles deletions of nodes: it triggers for the pods that were nominated to the node, which kube-scheduler may try again
// minutes later only.
func remindNominated(store *cluster.Store, batcher *Batcher) func(any) {
	return func(o any) {
		if late, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = late.Obj
		}
		if node, ok := o.(*corev1.Node); ok {
			for _, uid := range store.NominatedTo(node.Name) {
				batcher.Remind(uid)
			}
		}
	}
}

// remind triggers a pass for all pods that are still unschedulable.
func (p *Provisioner) remind() {
	snapshot := p.Store.Snapshot()
	for uid := range snapshot.Pending.All() {
		p.batcher.Remind(uid)
	}
	for id, n := range snapshot.Nodes.All() {
		if n.Deleting && n.Managed && len(n.Pods) > 0 {
			p.batcher.Remind(id)
		}
	}
}

// passOnce gathers, solves and applies once, and then for the pods whose NodeClaims were refused.
func (p *Provisioner) passOnce(ctx context.Context) error {
	started := p.Clock.Now()
	in, err := p.gather(ctx, started)
	if err != nil {
		return err
	}
	in.began = started
	p.expected = p.series.outlook(p.batcher.lastWindow(), arrivalsOf(in.problem.Pods, p.PodLatency))
	in.problem.Pods = holdSplitGroups(p, p.refused.hold(in.problem.Pods, started), started)
	err = p.planTogether(ctx, in, started)
	return errors.Join(err, p.planRefused(ctx))
}

// planTogether plans all pods but those that are held because of refused NodeClaims.
func (p *Provisioner) planTogether(ctx context.Context, in input, started time.Time) error {
	p.Metrics.Scheduler.IgnoredPods.Set(float64(len(in.rejected)))
	p.reportRejected(in.rejected)
	if len(in.problem.Pods) == 0 {
		p.record(in, solve.Plan{})
		p.updateHeadroom(in, solve.Plan{})
		p.reportHeadroom(ctx, in, solve.Plan{})
		p.Metrics.Scheduler.UnschedulablePods.WithLabelValues(name).Set(0)
		return nil
	}
	p.warnOfPreferences(in.problem.Pods)
	var plan solve.Plan
	in.problem, plan = solveStranded(p, in.problem)
	p.record(in, plan)
	took := p.Clock.Since(started)
	p.Metrics.Scheduler.Duration.WithLabelValues(name).Observe(took.Seconds())
	p.Log.Debug("planned", logfield.PodCount(len(in.problem.Pods)), logfield.NodeClaimCount(len(plan.NodeClaims)), logfield.Duration(took))
	p.updateHeadroom(in, plan)
	err := p.apply(ctx, in, plan)
	p.reportHeadroom(ctx, in, plan)
	return err
}
