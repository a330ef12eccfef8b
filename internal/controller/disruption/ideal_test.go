package disruption

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/forecast"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// ideal is the simulated provider of forecasts, with kubelets and a scheduler: everything takes exactly the time that forecasts assume, and pods
// start where the engine places them. What the controller does beside it is real.
type ideal struct {
	*life
	ordered chan struct{}
	// join, evict and gone are when that happens to the NodeClaim of that name.
	join, evict, gone map[string]time.Time
	seen              map[string]bool
	// moved is how many pods were evicted, by the name of their owner; what happened by its time.
	evicted map[string]int
	events  []string
	last    time.Duration
}

const (
	idealLaunch   = 4500 * time.Millisecond
	idealReaction = 10 * time.Millisecond
	// idealBatch differs from the time after which passes of disruption follow a change: which of two things that happen at the same moment
	// comes first is not determined.
	idealBatch = 1100 * time.Millisecond
)

func (w *harness) ideally(types []*cloud.InstanceType) *ideal {
	e := &ideal{
		life: w.provisioned(types), ordered: make(chan struct{}, 1), join: map[string]time.Time{}, evict: map[string]time.Time{},
		gone: map[string]time.Time{}, seen: map[string]bool{}, evicted: map[string]int{},
	}
	e.scheme = "forecast://"
	w.ordered = func() {
		select {
		case e.ordered <- struct{}{}:
		default:
		}
	}
	w.begin(e.run)
	return e
}

// named gives NodeClaims the names that they have in a forecast: names are drawn by chance, and decide between what is equal otherwise.
func (e *ideal) named(f forecast.Forecast) {
	names, launches := map[string][]string{}, slices.Clone(f.Launches)
	for _, c := range f.Commands {
		launches = append(launches, c.Launches...)
	}
	serial := func(n forecast.Node) int {
		i, _ := strconv.Atoi(n.Name[strings.LastIndex(n.Name, "-")+1:])
		return i
	}
	slices.SortFunc(launches, func(a, b forecast.Node) int { return serial(a) - serial(b) })
	key := func(pool string, spec v1.NodeClaimSpec) string {
		return fmt.Sprint(pool, spec.Requirements, spec.Resources)
	}
	for _, n := range launches {
		names[key(n.Pool, n.Spec)] = append(names[key(n.Pool, n.Spec)], n.Name)
	}
	others := 0
	e.creating = func(claim *v1.NodeClaim) {
		e.mu.Lock()
		defer e.mu.Unlock()
		pool := claim.Labels[v1.NodePoolLabelKey]
		if known := names[key(pool, claim.Spec)]; len(known) > 0 {
			claim.Name, names[key(pool, claim.Spec)] = known[0], known[1:]
			return
		}
		others++
		claim.Name = fmt.Sprintf("%s-other-%d", pool, others)
	}
}

func (e *ideal) run(ctx context.Context) error {
	for {
		next := time.Now().Add(time.Hour)
		for _, times := range []map[string]time.Time{e.join, e.evict, e.gone} {
			for _, at := range times {
				if at.Before(next) {
					next = at
				}
			}
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-e.ordered:
			timer.Stop()
			e.look(ctx)
		case <-timer.C:
			synctest.Wait() // the controller acts first, as in forecasts
			e.act(ctx)
		}
	}
}

// look finds the NodeClaims that were created and deleted at this moment.
func (e *ideal) look(ctx context.Context) {
	for _, claim := range e.claims(ctx) {
		switch now := time.Now(); {
		case !claim.DeletionTimestamp.IsZero():
			if !e.seen["-"+claim.Name] {
				e.seen["-"+claim.Name] = true
				e.evict[claim.Name] = now.Add(idealReaction)
				delete(e.join, claim.Name)
				e.events = append(e.events, fmt.Sprintf("%s -%s", e.age(), claim.Name))
			}
		case !e.seen[claim.Name] && claim.Status.ProviderID == "":
			e.seen[claim.Name] = true
			e.join[claim.Name] = now.Add(idealLaunch)
			e.events = append(e.events, fmt.Sprintf("%s +%s", e.age(), claim.Name))
		}
	}
}

func (e *ideal) claims(ctx context.Context) []*v1.NodeClaim {
	var list v1.NodeClaimList
	if err := e.client.List(ctx, &list); err != nil {
		e.Error(err)
	}
	out := make([]*v1.NodeClaim, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	slices.SortFunc(out, func(a, b *v1.NodeClaim) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// act does what is due.
func (e *ideal) act(ctx context.Context) {
	due := func(times map[string]time.Time, name string) bool {
		at, ok := times[name]
		if !ok || at.After(time.Now()) {
			return false
		}
		delete(times, name)
		return true
	}
	for _, claim := range e.claims(ctx) {
		if due(e.join, claim.Name) {
			e.start(claim)
		}
		if due(e.evict, claim.Name) {
			e.gone[claim.Name] = time.Now().Add(e.drainPods(ctx, claim.Name))
		}
		if due(e.gone, claim.Name) {
			e.drain(ctx, claim)
			e.last = e.age()
		}
	}
	e.bindAsEngine(ctx)
	for _, claim := range e.claims(ctx) {
		if claim.DeletionTimestamp.IsZero() && claim.Status.ProviderID != "" {
			e.quiet(ctx, claim)
		}
	}
}

// start makes a node of a NodeClaim.
func (e *ideal) start(claim *v1.NodeClaim) {
	it, offering := e.choose(claim)
	if it == nil {
		return
	}
	e.addNodeOf(claim.Labels[v1.NodePoolLabelKey], claim.Name, it, offering, claim)
}

// drainPods evicts the pods of a node, and returns how long they take to terminate.
func (e *ideal) drainPods(ctx context.Context, node string) time.Duration {
	var longest time.Duration
	for _, pod := range e.pods(ctx) {
		if pod.Spec.NodeName != node {
			continue
		}
		base, _, _ := strings.Cut(pod.Name, ".")
		e.evicted[base]++
		longest = max(longest, time.Duration(*pod.Spec.TerminationGracePeriodSeconds)*time.Second)
		e.life.evict(ctx, pod)
	}
	return longest
}

// bindAsEngine binds pods where the engine places them.
func (e *ideal) bindAsEngine(ctx context.Context) {
	pending := map[string]*corev1.Pod{}
	objects := e.objects()
	for i, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok && pod.Spec.NodeName == "" {
			pending[string(pod.UID)] = pod.DeepCopy()
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
			objects[i] = pod
		}
	}
	if len(pending) == 0 {
		return
	}
	c, err := simulation.NewCluster(ctx, objects, e.deps.Cloud, simulation.Options{Now: time.Now()})
	if err != nil {
		e.Error(err)
		return
	}
	placements, err := c.Schedule(ctx, time.Now())
	if err != nil {
		e.Error(err)
	}
	for _, at := range placements {
		for _, p := range at.Pods {
			e.write(ctx, pending[p.UID], at.Node.NodeName)
			delete(pending, p.UID)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(pending)) {
		e.write(ctx, pending[uid], "")
	}
}
