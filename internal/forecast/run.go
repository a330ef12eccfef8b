package forecast

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// run is a forecast that is being made.
type run struct {
	opts  Options
	cloud cloud.Cloud
	// world are the objects, cluster is their state as the controllers see it.
	world   *world
	cluster *simulation.Cluster
	now     time.Time
	// events are what will happen to the objects, in its order.
	events []event
	serial int
	// unsettled is set when pods may start elsewhere because of the events of now.
	unsettled bool
	loop      loop
	batch     batch
	// settles is when the consolidateAfter of a NodeClaim ends next, as of the last step; zero if that of none does.
	settles time.Time
	// view is the cluster at the last decision, last its assessment by the last pass.
	view simulation.DisruptionView
	last simulation.Assessment
	// underway are the commands that have not ended.
	underway                    []*running
	nodeBackoffs, groupBackoffs *problem.Backoffs
	// leaving is how many nodes that were being deleted at the start are not gone.
	leaving int
	// ending is how many nodes of commands that have started are not gone.
	ending int
	// offerings are what each pool may launch.
	offerings map[string]*cloud.OfferingList
	// owners are the workloads of pods that were created during the forecast, asked the pods that provisioning was told of, by UID.
	owners map[string]simulation.Owner
	asked  map[string]bool
	// opens is when OperationsPolicies allow next what they did not allow in the last pass; zero where they did, or will not.
	opens time.Time
	// proposals are the commands that wait for approval, by the IDs of their nodes.
	proposals map[string]disrupt.Proposal
	// overBudget is set when budgets kept a node from being disrupted.
	overBudget bool
	// allowances are what budgets have allowed since nodes changed last.
	allowances map[string]bool
	// obstacles are those of the last pass that prevent a disruption for which there is a reason.
	obstacles []Blocked
	// skipped are the nodes, by name, that consolidation did not consider in the last pass, and why; considered are those that it has considered since
	// the cluster changed last.
	skipped    map[string]disrupt.Code
	considered map[string]bool
	passes     int
	out        Forecast
}

func newRun(ctx context.Context, objects []client.Object, c cloud.Cloud, opts Options) (*run, error) {
	r := &run{
		opts: opts, cloud: c, world: newWorld(objects, c, opts.DriftedNodeClasses), now: opts.Now, offerings: map[string]*cloud.OfferingList{},
		nodeBackoffs: problem.NewBackoffs(), groupBackoffs: problem.NewBackoffs(), allowances: map[string]bool{},
		skipped: map[string]disrupt.Code{}, considered: map[string]bool{}, owners: map[string]simulation.Owner{}, asked: map[string]bool{}, proposals: map[string]disrupt.Proposal{},
		batch: batch{seen: map[string]bool{}, waits: opts.Now, reminds: opts.Now.Add(remindAfter), nominations: problem.Nominations{}},
	}
	r.loop.next, r.loop.woken = opts.Now, true
	r.out.Start, r.out.Launch = opts.Now, opts.Launch
	if opts.Launch == 0 {
		r.out.Launch, r.out.LaunchLearned = learnLaunch(r.world.claims)
	}
	var err error
	r.cluster, err = simulation.NewCluster(ctx, objects, c, opts.at(opts.Now))
	return r, err
}

// at are the policies at a time.
func (o Options) at(now time.Time) simulation.Options {
	out := o.Options
	out.Now = now
	return out
}

func (r *run) play(ctx context.Context) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	r.settles = r.world.settles(r.now)
	end := r.opts.Now.Add(r.opts.Horizon)
	for {
		next := r.nextEvent()
		switch {
		case next.IsZero():
		case r.passes >= maxPasses:
			r.out.Incomplete = fmt.Sprintf("nodes are still disrupted after %d passes", maxPasses)
		case next.After(end) && r.opens.After(end):
			r.out.Incomplete = fmt.Sprintf("OperationsPolicies allow the disruption of some nodes only after the horizon of %s, from %s on", r.opts.Horizon, r.opens.UTC().Format(time.RFC3339))
		case next.After(end) && !expectsMore(r):
		case next.After(end) && len(r.underway)+len(r.events) == 0:
			r.out.Incomplete = fmt.Sprintf("up to the horizon of %s, budgets do not allow the disruption of some nodes; they may later", r.opts.Horizon)
		case next.After(end):
			r.out.Incomplete = fmt.Sprintf("nodes are still disrupted at the horizon of %s", r.opts.Horizon)
		default:
			r.now = next
			if err := r.step(ctx); err != nil {
				return err
			}
			continue
		}
		return r.conclude(ctx)
	}
}

// start describes the cluster as it is, and lets the pods that are pending start.
func (r *run) start(ctx context.Context) error {
	r.mark()
	r.view = r.cluster.View()
	r.out.Before = fleet(r)
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
	leave(r)
	closures(r)
	for _, class := range r.opts.DriftedNodeClasses {
		if !r.world.usesClass(class) {
			r.note("no NodeClaim has the node class %q: nothing drifts because of it", class)
		}
	}
	if err := fillStaticPools(ctx, r); err != nil {
		return err
	}
	if err := r.schedule(ctx); err != nil {
		return err
	}
	if len(waiting(r)) == 0 && len(r.view.Snapshot.Virtual) == 0 {
		return nil
	}
	// Pods that wait at the start have been waiting before.
	return r.provision(ctx)
}

// step lets happen what happens at now: the controller acts, plans for pods and decides about nodes, then the objects change.
func (r *run) step(ctx context.Context) error {
	r.happen(controller)
	if at := nextReminder(r); !at.IsZero() && !at.After(r.now) {
		remind(r)
	}
	if b := r.batch; !b.closes.IsZero() && !b.closes.After(r.now) {
		if err := r.provision(ctx); err != nil {
			return err
		}
	}
	if !r.settles.IsZero() || r.loop.woken {
		r.mark()
	}
	if at := r.nextDecision(); !at.IsZero() && !at.After(r.now) {
		if err := r.decide(ctx); err != nil {
			return err
		}
	}
	if err := r.react(ctx); err != nil {
		return err
	}
	r.settles = r.world.settles(r.now)
	return nil
}

// nextEvent is when something happens next; zero for never.
func (r *run) nextEvent() time.Time {
	next := earliest(r.nextDecision(), r.batch.closes, nextReminder(r), r.settles)
	if len(r.events) > 0 {
		next = earliest(next, r.events[0].at)
	}
	return next
}

// expectsMore reports whether commands are under way, or budgets alone prevent one.
func expectsMore(r *run) bool {
	return len(r.underway)+len(r.events) > 0 || slices.ContainsFunc(r.obstacles, func(b Blocked) bool { return disrupt.Code(b.Code).OfBudgets() })
}

func (r *run) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.out.Notes, text) {
		r.out.Notes = append(r.out.Notes, text)
	}
}

// timePasses is, after a pass, when the passing of time may change what the controller decides next, without a change of the cluster: a backoff ends, and, where
// budgets or annotations prevent a disruption, the next change of these.
func (r *run) timePasses() time.Time {
	next := earliest(r.nodeBackoffs.NextEnd(r.now), r.groupBackoffs.NextEnd(r.now), r.opens, nextSoftExpiry(r))
	for _, o := range r.last.PodObstacles {
		if o.Code == disrupt.PodProtected {
			if at := protectedUntil(r, o); at.After(r.now) {
				next = earliest(next, at)
			}
		}
	}
	if !r.overBudget {
		return next
	}
	other := next
	if len(r.events) > 0 {
		other = earliest(other, r.events[0].at)
	}
	if r.loop.woken {
		other = earliest(other, r.loop.next)
	}
	return earliest(next, nextAllowance(r, other))
}

// nextSoftExpiry is when a node expires softly next; zero for never.
func nextSoftExpiry(r *run) time.Time {
	var next time.Time
	if !r.last.Operations.SoftExpiry() {
		return next
	}
	for _, n := range r.view.Snapshot.Nodes.Sorted() {
		if at := r.last.Operations.SoftExpiryOf(n); at.After(r.now) && !n.Deleting {
			next = earliest(next, at)
		}
	}
	return next
}

// nextAllowance is when budgets allow next what they have not allowed since nodes changed last; zero where that is not before the other event, or
// not within the horizon. Windows that open and close every minute would cost a pass each otherwise.
func nextAllowance(r *run, other time.Time) time.Time {
	end, nodes := r.opts.Now.Add(r.opts.Horizon), disrupt.Usages(r.view.Snapshot, nil, "") // how many there are is the same for all reasons
	r.allowances[allowance(r, r.now, nodes)] = true
	for t := r.now; ; {
		var next time.Time
		for _, pool := range r.view.Pools {
			next = earliest(next, pool.BudgetsChange(t))
		}
		switch {
		case next.IsZero() || !other.IsZero() && !next.Before(other):
			return time.Time{}
		case next.After(end) || !r.allowances[allowance(r, next, nodes)]:
			return next
		}
		t = next
	}
}

// allowance is what the budgets of all pools allow at a time.
func allowance(r *run, at time.Time, nodes map[string]disrupt.Usage) string {
	var b strings.Builder
	for _, name := range sortedKeys(r.view.Pools) {
		for _, reason := range disrupt.Reasons() {
			allowed, err := r.view.Pools[name].AllowedDisruptions(at, nodes[name].Nodes, v1.DisruptionReason(reason))
			fmt.Fprint(&b, allowed, err, " ")
		}
	}
	return b.String()
}

// fleet is the managed nodes at now.
func fleet(r *run) Fleet {
	f := Fleet{Types: map[string]int{}, Kinds: map[Kind]int{}}
	for _, n := range r.view.Snapshot.Nodes.Sorted() {
		if _, managed := r.view.Pools[n.Pool]; !managed || !n.Managed {
			continue
		}
		f.Nodes++
		f.Types[instanceType(n)]++
		f.Kinds[Kind{Pool: n.Pool, InstanceType: instanceType(n), Zone: n.Labels[corev1.LabelTopologyZone], CapacityType: n.Labels[v1.CapacityTypeLabelKey]}]++
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

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
