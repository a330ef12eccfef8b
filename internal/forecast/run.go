package forecast

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// run is a forecast that is being made.
type run struct {
	opts  Options
	cloud cloud.Cloud
	world *world
	now   time.Time
	// view is the cluster at now.
	view simulation.DisruptionView
	// underway are the commands that are not done.
	underway []*running
	// leaving are the nodes that were being deleted at the start and are not gone.
	leaving []leaving
	backoff backoff
	// offerings are what each pool may launch.
	offerings map[string]*cloud.OfferingList
	// overBudget is set when budgets kept a node from being disrupted, settled once nothing is left to do whatever budgets allow.
	overBudget, settled bool
	// allowances are what budgets have allowed since nodes changed last.
	allowances map[string]bool
	// obstacles are those of the last pass that prevent a disruption for which there is a reason.
	obstacles []Blocked
	passes    int
	out       Forecast
}

func newRun(objects []client.Object, c cloud.Cloud, opts Options) *run {
	r := &run{opts: opts, cloud: c, world: newWorld(objects, c, opts.DriftedNodeClasses), now: opts.Now, offerings: map[string]*cloud.OfferingList{}, backoff: backoff{}, allowances: map[string]bool{}}
	r.out.Start, r.out.Launch = opts.Now, opts.Launch
	if opts.Launch == 0 {
		r.out.Launch, r.out.LaunchLearned = learnLaunch(r.world.claims)
	}
	return r
}

func (r *run) play(ctx context.Context) error {
	if err := r.look(ctx); err != nil {
		return err
	}
	r.out.Before = r.fleet()
	for _, skipped := range r.view.Result.Skipped {
		if pool := r.world.pools[skipped.Name]; pool != nil && pool.Spec.Replicas != nil {
			continue
		}
		r.note("NodePool %q launches no nodes: %s", skipped.Name, skipped.Why)
	}
	for _, n := range r.view.Snapshot.Nodes.All() {
		if n.Disruption.Drifted && !n.Deleting {
			r.out.Drifted++
		}
	}
	r.leave()
	r.staticPools()
	for _, class := range r.opts.DriftedNodeClasses {
		if !r.world.usesClass(class) {
			r.note("no NodeClaim has the node class %q: nothing drifts because of it", class)
		}
	}
	if err := r.placePending(ctx); err != nil {
		return err
	}
	end := r.opts.Now.Add(r.opts.Horizon)
	for {
		a, err := r.decide(ctx)
		if err != nil {
			return err
		}
		next, more := r.nextEvent(a)
		switch {
		case !more:
		case r.passes >= maxPasses:
			r.out.Incomplete = fmt.Sprintf("nodes are still disrupted after %d passes", maxPasses)
		case next.After(end) && !r.expectsMore():
		case next.After(end):
			r.out.Incomplete = fmt.Sprintf("nodes are still disrupted at the horizon of %s", r.opts.Horizon)
		default:
			r.now = next
			if err := r.advance(ctx); err != nil {
				return err
			}
			continue
		}
		r.conclude(a)
		return nil
	}
}

// expectsMore reports whether commands are under way, or budgets alone prevent one.
func (r *run) expectsMore() bool {
	return len(r.underway)+len(r.leaving) > 0 || slices.ContainsFunc(r.obstacles, func(b Blocked) bool { return disrupt.Code(b.Code).OfBudgets() })
}

// look takes a view of the objects at now.
func (r *run) look(ctx context.Context) error {
	r.world.mark(r.now)
	opts := r.opts.Options
	opts.Now = r.now
	var err error
	r.view, err = simulation.ViewForDisruption(ctx, r.world.objects(), r.cloud, opts)
	return err
}

// placePending starts the pods that are pending: those that fit on existing nodes at once, the others after a launch.
func (r *run) placePending(ctx context.Context) error {
	plan := r.view.Result.Plan
	changed := false
	for _, at := range plan.Placements {
		for _, p := range at.Pods {
			if !p.Virtual {
				r.world.bind(p.UID, at.Node.NodeName, r.now)
				changed = true
			}
		}
	}
	if len(plan.NodeClaims) > 0 {
		r.now = r.now.Add(r.out.Launch)
	}
	for _, c := range plan.NodeClaims {
		node, ok, err := r.launch(ctx, c)
		if err != nil {
			return err
		}
		if ok {
			r.out.Launches = append(r.out.Launches, node)
			changed = true
		}
	}
	r.out.Unplaced = len(plan.Unschedulable)
	if !changed {
		return nil
	}
	return r.look(ctx)
}

// launch launches a node that was planned, and binds its pods.
func (r *run) launch(ctx context.Context, c solve.NodeClaim) (Node, bool, error) {
	claim := r.view.Builder.Translator.NodeClaim(r.view.Pools[c.Pool], c, r.gracePeriod())
	node, ok, err := r.start(ctx, c.Pool, claim)
	if err != nil || !ok {
		return node, ok, err
	}
	for _, p := range c.Pods {
		r.world.bind(p.UID, node.Name, r.now)
	}
	return node, true, nil
}

func (r *run) start(ctx context.Context, pool string, claim *v1.NodeClaim) (Node, bool, error) {
	offerings, ok := r.offerings[pool]
	if !ok {
		types, err := r.view.Builder.Cloud.Provider.InstanceTypes(ctx, r.view.Pools[pool])
		if err != nil {
			return Node{}, false, fmt.Errorf("listing the instance types of nodepool %q: %w", pool, err)
		}
		offerings = cloud.NewOfferingList(types, r.cloud.Labels)
		r.offerings[pool] = offerings
	}
	for key, value := range simulation.PoolHash(r.view.Pools[pool]) {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, key, value)
	}
	node, ok := r.world.launch(claim, r.view.Pools[pool], offerings, r.now)
	if !ok {
		r.note("NodePool %q cannot launch what was planned for it: no offering that the NodeClaim allows is available", pool)
	}
	return node, ok, nil
}

func (r *run) gracePeriod() *metav1.Duration {
	if r.cloud.DefaultTerminationGracePeriod == nil {
		return nil
	}
	return &metav1.Duration{Duration: *r.cloud.DefaultTerminationGracePeriod}
}

func (r *run) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.out.Notes, text) {
		r.out.Notes = append(r.out.Notes, text)
	}
}

// decide runs passes of disruption until no method proposes a command, and returns the last assessment.
func (r *run) decide(ctx context.Context) (simulation.Assessment, error) {
	for {
		r.passes++
		a, err := r.assess(ctx, nil)
		if err != nil {
			return a, err
		}
		if r.passes >= maxPasses || !r.pass(a) {
			r.settled = r.settled || !r.overBudget
			return a, nil
		}
	}
}

// pass tries one method after the other until one proposes commands.
func (r *run) pass(a simulation.Assessment) bool {
	r.overBudget, r.obstacles = false, nil
	for _, m := range disrupt.Methods() {
		wanted, _ := m.FilterNodes(a.Candidates)
		fit, blocked := m.FilterPods(wanted, a.PodObstacles)
		r.block(m, blocked)
		budgets := r.budgets(a, m.Reason)
		for _, c := range fit {
			r.overBudget = r.overBudget || budgets[c.Node.Pool] == 0
		}
		if m.Admit != nil {
			fit, blocked = m.Admit(budgets, fit)
			r.block(m, blocked)
		}
		if len(fit) == 0 {
			continue
		}
		d := a.Decide(m, fit, budgets)
		for _, command := range d.Commands {
			r.propose(m, command)
		}
		r.block(m, d.Obstacles)
		r.overBudget = r.overBudget || d.Incomplete
		if len(d.Commands) > 0 {
			return true
		}
	}
	return false
}

// budgets is how many more nodes of each pool may be disrupted. A pool whose budgets cannot be read allows none.
func (r *run) budgets(a simulation.Assessment, reason disrupt.Reason) disrupt.Budgets {
	usages := disrupt.Usages(r.view.Snapshot, a.Qualification.InCommand, reason)
	out := disrupt.Budgets{}
	for _, name := range slices.Sorted(maps.Keys(r.view.Pools)) {
		allowed, err := r.view.Pools[name].AllowedDisruptions(r.now, usages[name].Nodes, v1.DisruptionReason(reason))
		if err != nil {
			allowed = 0
			r.note("NodePool %q allows no disruption: %v", name, err)
		}
		out[name] = usages[name].Remaining(allowed)
	}
	return out
}

// nextEvent is when something may change: a command is done, consolidateAfter of a node ends, and, where budgets or annotations prevent
// a disruption, the next change of these.
func (r *run) nextEvent(a simulation.Assessment) (time.Time, bool) {
	var next time.Time
	consider := func(t time.Time) {
		if t.After(r.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, c := range r.underway {
		consider(later(c.next, r.now.Add(time.Nanosecond)))
	}
	for _, l := range r.leaving {
		consider(later(l.at, r.now.Add(time.Nanosecond)))
	}
	for _, f := range r.backoff {
		consider(f.until)
	}
	for _, n := range r.view.Snapshot.Nodes.Sorted() {
		pool, managed := a.Qualification.Pools[n.Pool]
		if managed && !pool.Static && !pool.ConsolidationDisabled && n.Disruption.LastPodEvent != 0 && !a.Qualification.InCommand[n.ID] {
			consider(time.Unix(0, n.Disruption.LastPodEvent).Add(pool.ConsolidateAfter))
		}
	}
	for _, o := range a.PodObstacles {
		if o.Code == disrupt.PodProtected {
			consider(r.protectedUntil(o))
		}
	}
	other := next
	if r.overBudget && !r.settled {
		consider(r.nextAllowance(other))
	}
	if !next.IsZero() && next.Equal(other) {
		clear(r.allowances) // nodes change, so that what budgets allowed before may be of use
	}
	r.settled = r.settled && next.IsZero()
	return next, !next.IsZero()
}

// nextAllowance is when budgets allow next what they have not allowed since nodes changed last; zero where that is not before the other event, or
// not within the horizon. Windows that open and close every minute would cost a pass each otherwise.
func (r *run) nextAllowance(other time.Time) time.Time {
	end, nodes := r.opts.Now.Add(r.opts.Horizon), disrupt.Usages(r.view.Snapshot, nil, "") // how many there are is the same for all reasons
	r.allowances[r.allowance(r.now, nodes)] = true
	for t := r.now; ; {
		var next time.Time
		for _, pool := range r.view.Pools {
			for i := range pool.Spec.Disruption.Budgets {
				changes, err := pool.Spec.Disruption.Budgets[i].Changes(t)
				if err == nil && changes.After(t) && (next.IsZero() || changes.Before(next)) {
					next = changes
				}
			}
		}
		switch {
		case next.IsZero() || !other.IsZero() && !next.Before(other):
			return time.Time{}
		case next.After(end) || !r.allowances[r.allowance(next, nodes)]:
			return next
		}
		t = next
	}
}

// allowance is what the budgets of all pools allow at a time.
func (r *run) allowance(at time.Time, nodes map[string]disrupt.Usage) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.view.Pools)) {
		for _, reason := range disrupt.Reasons() {
			allowed, err := r.view.Pools[name].AllowedDisruptions(at, nodes[name].Nodes, v1.DisruptionReason(reason))
			fmt.Fprint(&b, allowed, err, " ")
		}
	}
	return b.String()
}

// fleet is the managed nodes at now.
func (r *run) fleet() Fleet {
	f := Fleet{Types: map[string]int{}}
	for _, n := range r.view.Snapshot.Nodes.Sorted() {
		if _, managed := r.view.Pools[n.Pool]; !managed || !n.Managed {
			continue
		}
		f.Nodes++
		f.Types[instanceType(n)]++
		if price, known := r.view.Prices[n.Pool].Known(n); known {
			f.Price += price
		} else {
			f.Unpriced++
		}
	}
	return f
}

func instanceType(n *model.Node) string {
	if name := n.Labels[corev1.LabelInstanceTypeStable]; name != "" {
		return name
	}
	return "unknown"
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
