package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/explain"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// Fleet implements Source.
func (v *Views) Fleet(ctx context.Context, at time.Time) (Fleet, error) {
	if !at.IsZero() {
		m, err := v.past(ctx, at)
		if err != nil {
			return Fleet{}, err
		}
		out := Fleet{Head: v.headAt(ctx, "Fleet", m), Nodes: m.nodes()}
		out.Totals = totalsOf(out.Nodes)
		out.Totals.Requested, out.Totals.Pending = nil, m.pending()
		return out, nil
	}
	p, err := v.now(ctx)
	if err != nil {
		return Fleet{}, err
	}
	in := v.take(ctx, p)
	head := v.head("Fleet", p) // what is complete later has another revision
	causes, late := v.causes(ctx, p)
	out := Fleet{Head: head, Nodes: slices.Clone(in.nodes), Totals: in.totals}
	if late != "" {
		out.Unknown = append(out.Unknown, late)
	}
	out.Totals.States = map[State]int{}
	for i := range out.Nodes {
		out.Nodes[i].explain(causes[out.Nodes[i].Name])
		out.Totals.States[out.Nodes[i].State]++
	}
	return out, nil
}

// explain sets why there is a reason to disrupt the node.
func (n *Node) explain(cause explain.Cause) {
	if cause.Reason == "" {
		return
	}
	n.Reason, n.Obstacle = string(cause.Reason), string(cause.Obstacle)
	if n.State == Ready && cause.Obstacle != "" {
		n.State = Blocked
	}
}

// Node implements Source.
func (v *Views) Node(ctx context.Context, name string, at time.Time) (NodeDetail, error) {
	if !at.IsZero() {
		return v.nodeAt(ctx, name, at)
	}
	p, err := v.now(ctx)
	if err != nil {
		return NodeDetail{}, err
	}
	in := v.take(ctx, p)
	i, ok := in.place[name]
	if !ok {
		return NodeDetail{}, fmt.Errorf("node %q: %w: there is no Node or NodeClaim of that name", name, ErrNotFound)
	}
	a, release, err := v.analysisOf(ctx, p)
	if err != nil {
		return NodeDetail{}, err
	}
	out := NodeDetail{Head: v.head("Node", p), Node: in.nodes[i], Pods: podsOf(in.pods[i]), Life: []ledger.Record{}}
	out.Node.explain(a.causes[out.Name])
	out.Unknown = append(out.Unknown, a.lateness(p, "newer reasons for and against the disruption of the node")...)
	if out.NodeClaim != "" {
		answer, err := a.engine.Node(ctx, out.Name)
		if err == nil {
			out.Explanation = &answer
		} else {
			out.Unknown = append(out.Unknown, "why the node is removed or not: "+err.Error())
		}
	}
	release()
	return out, v.live(ctx, &out, time.Time{})
}

// live adds what the ledger knows about the life of the node.
func (v *Views) live(ctx context.Context, out *NodeDetail, at time.Time) error {
	if v.records == nil {
		out.Unknown = append(out.Unknown, "why the node was launched, and its life: there is no ledger here")
		return nil
	}
	m, err := v.records.at(ctx, at)
	if err != nil {
		if at.IsZero() { // the ledger is empty
			out.Unknown = append(out.Unknown, err.Error())
			return nil
		}
		return err
	}
	out.Life, out.Why = m.life(out.Name, out.NodeClaim)
	if out.Why == nil && out.NodeClaim != "" {
		out.Unknown = append(out.Unknown, "why the node was launched: the ledger begins later")
	}
	return nil
}

func (v *Views) nodeAt(ctx context.Context, name string, at time.Time) (NodeDetail, error) {
	m, err := v.past(ctx, at)
	if err != nil {
		return NodeDetail{}, err
	}
	nodes := m.nodes()
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		i = slices.IndexFunc(nodes, func(n Node) bool { return n.NodeClaim == name })
	}
	if i < 0 {
		return NodeDetail{}, fmt.Errorf("node %q: %w at %s", name, ErrNotFound, at.UTC().Format(time.RFC3339))
	}
	out := NodeDetail{Head: v.headAt(ctx, "Node", m), Node: nodes[i], Pods: []Pod{}, Life: []ledger.Record{}}
	return out, v.live(ctx, &out, at)
}

// podsOf are pods of a node, largest first.
func podsOf(pods []*corev1.Pod) []Pod {
	out := make([]Pod, 0, len(pods))
	for _, p := range pods {
		out = append(out, Pod{
			Namespace: p.Namespace, Name: p.Name, Workload: workloadOf(p), Requests: requestsOf(p), Created: p.CreationTimestamp.UTC(),
			Daemon: podrules.OwnedByDaemonSet(p),
		})
	}
	slices.SortFunc(out, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(b.Requests.CPU, a.Requests.CPU), cmp.Compare(b.Requests.Memory, a.Requests.Memory),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// workloadOf names the workload of a pod.
func workloadOf(p *corev1.Pod) string { return ownerText(simulation.OwnerOf(p)) }

func ownerText(o simulation.Owner) string { return o.Kind + " " + o.Namespace + "/" + o.Name }
