package forecast

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// conclude fills in what is known at the end.
func (r *run) conclude(ctx context.Context) error {
	a, err := r.assess(ctx)
	if err != nil {
		return err
	}
	r.out.After, r.out.Waiting = fleet(r), expected(r)
	r.out.Unplaced = r.view.Snapshot.Pending.Len() - r.out.Waiting
	r.out.Capped = min(r.out.Capped, r.out.Unplaced)
	if r.out.Incomplete != "" && r.ending > 0 {
		r.out.Incomplete += ", and of those that are removed, " + nodes(r.ending, "is not gone", "are not gone")
	}
	for _, o := range a.Excluded {
		if o.Node.Disruption.Drifted && !o.Node.Deleting && !a.Qualification.InCommand[o.Node.ID] { // of others, the command is shown
			r.obstacles = append(r.obstacles, blocked(disrupt.Drifted, o))
		}
	}
	seen := map[string]bool{}
	for _, b := range r.obstacles {
		if key := b.Reason + " " + b.Node; !seen[key] {
			seen[key] = true
			r.out.Blocked = append(r.out.Blocked, b)
		}
	}
	slices.SortStableFunc(r.out.Blocked, func(x, y Blocked) int {
		return cmp.Or(strings.Compare(x.Reason, y.Reason), strings.Compare(x.Node, y.Node))
	})
	recordAnnotated(r, a.Excluded, a.Qualification.Pools)
	noteSkipped(r)
	lostPods(r)
	omissions(r)
	return nil
}

// expected is how many pods that are pending are planned on nodes that start.
func expected(r *run) int {
	n := 0
	for uid := range r.view.Snapshot.Pending.All() {
		claim := r.world.claims[r.batch.nominations[uid]]
		if claim != nil && claim.DeletionTimestamp == nil && !condition.For(claim, r.now).IsTrue(v1.ConditionTypeInitialized) {
			n++
		}
	}
	return n
}

// block records the obstacles of nodes that a method would disrupt. That consolidation finds nothing better for a node is no obstacle of
// this kind.
func block(r *run, m disrupt.Method, obstacles []disrupt.Obstacle) {
	if m.Reason != disrupt.Drifted && m.Reason != disrupt.Empty && m.Reason != disrupt.Expired {
		return
	}
	for _, o := range obstacles {
		if o.Node != nil && (m.Reason != disrupt.Empty || o.Code != disrupt.NotEmpty) {
			r.obstacles = append(r.obstacles, blocked(m.Reason, o))
		}
	}
}

func blocked(reason disrupt.Reason, o disrupt.Obstacle) Blocked {
	return Blocked{
		Node: o.Node.Name, Pool: o.Node.Pool, Reason: string(reason), Code: string(o.Code), Message: strings.TrimSpace(o.String()),
		Pod: o.Pod, PodDisruptionBudgets: o.PDBs,
	}
}

// protectedUntil is when the do-not-disrupt annotation of the pod of an obstacle ends; zero for never.
func protectedUntil(r *run, o disrupt.Obstacle) time.Time {
	for _, pod := range r.view.Pods[o.Node.NodeName] {
		if pod.Namespace+"/"+pod.Name == o.Pod {
			return podrules.DoNotDisrupt(pod, r.now).Until
		}
	}
	return time.Time{}
}

// omissions notes what the forecast leaves out although it concerns the cluster.
func omissions(r *run) {
	end := r.opts.Now.Add(r.opts.Horizon)
	var expiring, unhealthy []string
	var first time.Time
	devices, starting, homeless := 0, 0, 0
	for _, n := range r.view.Snapshot.Nodes.Sorted() {
		if at := n.Disruption.Expires(); !at.IsZero() && at.Before(end) {
			expiring, first = append(expiring, n.Name), earliest(first, at)
		}
		if n.Managed && n.Initialized && !n.Ready {
			unhealthy = append(unhealthy, n.Name)
		}
		if _, known := r.view.Pools[n.Pool]; n.Managed && !known {
			homeless++
		} else if n.Managed && !n.Initialized && !n.Deleting {
			starting++
		}
		for _, p := range n.Pods {
			if p.UsesDevices {
				devices++
				break
			}
		}
	}
	if n := len(expiring); n > 0 {
		r.note("%s within the horizon of %s, the first at %s (%s): expiration, which neither budgets nor annotations delay, is not forecast",
			nodes(n, "expires", "expire"), r.opts.Horizon, first.UTC().Format(time.RFC3339), listed(expiring))
	}
	if n := len(unhealthy); n > 0 {
		r.note("%s not ready (%s): repair is not forecast", nodes(n, "is", "are"), listed(unhealthy))
	}
	if starting > 0 {
		r.note("%s not initialized at the start: the forecast does not know when that changes, and what waits for it does not happen", nodes(starting, "is", "are"))
	}
	if homeless > 0 {
		r.note("%s a NodePool that does not exist: not counted, and not disrupted", nodes(homeless, "has", "have"))
	}
	if devices > 0 {
		r.note("%s pods with ResourceClaims: the devices of new nodes are not known, so that such pods move to existing nodes only", nodes(devices, "has", "have"))
	}
}

// lostPods notes the pods of commands that no controller creates again.
func lostPods(r *run) {
	var names []string
	for owner := range r.out.Moves() {
		if owner.Kind == "Pod" {
			names = append(names, owner.String())
		}
	}
	slices.Sort(names)
	switch n := len(names); n {
	case 0:
	case 1:
		r.note("1 pod that has to move has no controller (%s): it is lost with its node, although the forecast lets it run elsewhere", names[0])
	default:
		r.note("%d pods that have to move have no controller (%s): they are lost with their nodes, although the forecast lets them run elsewhere", n, listed(names))
	}
}

// listed are names, of which the first ones are enough to find the others.
func listed(names []string) string {
	const shown = 5
	if more := len(names) - shown; more > 0 {
		return strings.Join(names[:shown], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

func nodes(n int, one, many string) string {
	if n == 1 {
		return "1 node " + one
	}
	return fmt.Sprintf("%d nodes %s", n, many)
}
