package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
)

const (
	// trickleTime is the time over which the pods are created, trickleOfASize the number of pods of each of the two sizes.
	trickleTime    = time.Minute
	trickleOfASize = 500
	// binding bounds the time until all pods run.
	binding = 3 * time.Minute
)

// trickle is the creation of pods of 0.9 and of 3.5 CPUs in groups of the same number, one group after each period.
type trickle struct{ period time.Duration }

// measureTrickle measures what is launched for pods that are created one after the other, and how long they wait.
func measureTrickle(ctx context.Context, s settings) error {
	_, _ = fmt.Fprintf(s.out, "%d pods of 0.9 CPUs and as many of 3.5, created over %s; seconds from the creation of a pod to its node, and of the last pod\n",
		trickleOfASize, trickleTime)
	_, _ = fmt.Fprintf(s.out, "%-8s %7s %7s %6s %9s %7s %7s %8s %8s %8s %9s %10s\n",
		"", "period", "passes", "nodes", "$/h", "CPUs", "mean", "slowest", "last", "patches", "conflicts", "requests")
	for _, period := range s.periods {
		for _, x := range s.sides() {
			if err := (trickle{period}).measure(ctx, s, x); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c trickle) measure(ctx context.Context, s settings, x side) (err error) {
	p, err := startPlane(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.cluster.Stop()) }()
	running, err := x.start(ctx, s, p, "trickle-"+c.period.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	if err := p.createPool(ctx, pool("")); err != nil {
		return err
	}
	if err := p.warm(ctx); err != nil {
		return err
	}
	ctx, unfollow := context.WithCancel(ctx)
	defer unfollow()
	pods, err := follow(ctx, p, &corev1.PodList{},
		once(func(*corev1.Pod) bool { return true }), once(func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }))
	if err != nil {
		return err
	}
	created, bound := pods[0], pods[1]
	before, err := running.work(ctx)
	if err != nil {
		return err
	}
	if err := c.create(ctx, p); err != nil {
		return fmt.Errorf("creating pods: %w", err)
	}
	last, err := created.await(ctx, 2*trickleOfASize, time.Minute, "pods to be seen")
	if err != nil {
		return err
	}
	placed, err := bound.await(ctx, 2*trickleOfASize, binding, "pods to be bound")
	if err != nil {
		return err
	}
	after, err := running.work(ctx)
	if err != nil {
		return err
	}
	launched, err := p.launched(ctx)
	if err != nil {
		return err
	}
	done := after.since(before)
	_, _ = fmt.Fprintf(s.out, "%-8s %7s %7d %6d %9.4f %7d %7.2f %8.2f %8.2f %8d %9d %10d\n", running.side.name, c.period, done.passes,
		launched.nodes, launched.price, launched.cpus, bound.mean(created).Seconds(), bound.slowest(created).Seconds(),
		placed[len(placed)-1].Sub(last[len(last)-1]).Seconds(), done.patches, done.conflicts, done.requests)
	return nil
}

// create writes the pods, in groups with the period between them. The first group is written at once.
func (c trickle) create(ctx context.Context, p *plane) error {
	groups := int(trickleTime / c.period)
	start, written := time.Now(), 0
	for i := range groups {
		if err := pauseUntil(ctx, start.Add(time.Duration(i)*c.period)); err != nil {
			return err
		}
		upTo := 2 * trickleOfASize * (i + 1) / groups
		first := written
		if err := each(ctx, upTo-first, func(ctx context.Context, k int) error {
			cpu := []string{"900m", "3500m"}[(first+k)%2]
			return p.Create(ctx, pendingPod(fmt.Sprintf("pod-%d", first+k), cpu))
		}); err != nil {
			return err
		}
		written = upTo
	}
	return nil
}

func pauseUntil(ctx context.Context, moment time.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(moment)):
		return nil
	}
}

// launched are the nodes of NodeClaims.
type launched struct {
	nodes int
	cpus  int64
	// price is that of all nodes, in dollars per hour.
	price float64
}

// launched reads the nodes, and takes their prices from the catalog that both controllers use.
func (p *plane) launched(ctx context.Context) (launched, error) {
	catalog, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		return launched{}, fmt.Errorf("reading the catalog: %w", err)
	}
	types, err := catalog.Provider.InstanceTypes(ctx, pool(""))
	if err != nil {
		return launched{}, fmt.Errorf("reading the catalog: %w", err)
	}
	var list corev1.NodeList
	if err := p.List(ctx, &list, client.HasLabels{v1.NodePoolLabelKey}); err != nil {
		return launched{}, fmt.Errorf("listing nodes: %w", err)
	}
	out := launched{nodes: len(list.Items)}
	for i := range list.Items {
		node := &list.Items[i]
		it, price := offeringOf(node, types)
		if it == nil {
			return launched{}, fmt.Errorf("node %s: the catalog has no such offering", node.Name)
		}
		out.price += price
		out.cpus += it.Capacity.Cpu().Value()
	}
	return out, nil
}

// offeringOf is the instance type of a node and its price in dollars per hour; nil if there is none.
func offeringOf(node *corev1.Node, types []*cloud.InstanceType) (it *cloud.InstanceType, price float64) {
	for _, it := range types {
		if it.Name != node.Labels[corev1.LabelInstanceTypeStable] {
			continue
		}
		for _, o := range it.Offerings {
			if o.Zone() == node.Labels[corev1.LabelTopologyZone] && o.CapacityType() == node.Labels[v1.CapacityTypeLabelKey] {
				return it, o.Price
			}
		}
	}
	return nil, 0
}
