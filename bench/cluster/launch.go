package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const (
	// idle closes a batch. It is longer than the default, so that a pause in the creation of pods does not cut the batch in two.
	idle = 5 * time.Second
	// planning bounds the time from the end of a batch to its last NodeClaim, rising the time until all nodes are ready.
	planning, rising = 3 * time.Minute, 3 * time.Minute
)

// launchCase is a batch of one-CPU pods.
type launchCase struct {
	pods      int
	cpusBelow string
	what      string
}

// measureLaunch measures the time from the end of a batch to the last NodeClaim for its pods.
func measureLaunch(ctx context.Context, s settings) error {
	_, _ = fmt.Fprintln(s.out, "From the end of a batch to the last NodeClaim, seconds")
	_, _ = fmt.Fprintf(s.out, "%-8s %6s  %-27s %10s %8s %8s %12s %10s\n", "", "pods", "", "NodeClaims", "first", "last", "nodes ready", "requests")
	for _, pods := range s.pods {
		for _, c := range []launchCase{{pods, "", "any instance type"}, {pods, "9", "at most 8 CPUs"}} {
			for _, x := range s.sides() {
				if err := c.measure(ctx, s, x); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c launchCase) measure(ctx context.Context, s settings, x side) (err error) {
	p, err := startPlane(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.cluster.Stop()) }()
	label := fmt.Sprintf("launch-%d-%s", c.pods, c.cpusBelow)
	running, err := x.start(ctx, s, p, label, "--batch-idle-duration="+idle.String(), "--batch-max-duration=5m")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	if err := p.createPool(ctx, pool(c.cpusBelow)); err != nil {
		return err
	}
	if err := p.warm(ctx); err != nil {
		return err
	}
	time.Sleep(idle) // the work that the start caused is over
	return c.take(ctx, s, p, running, label)
}

func (c launchCase) take(ctx context.Context, s settings, p *plane, running *controller, label string) error {
	ctx, unfollow := context.WithCancel(ctx)
	defer unfollow()
	pods, err := follow(ctx, p, &corev1.PodList{}, once(unschedulable))
	if err != nil {
		return err
	}
	claims, err := follow(ctx, p, &v1.NodeClaimList{}, podsOf)
	if err != nil {
		return err
	}
	nodes, err := follow(ctx, p, &corev1.NodeList{}, once(func(n *corev1.Node) bool { return n.Labels[v1.NodeInitializedLabelKey] == "true" }))
	if err != nil {
		return err
	}
	before, err := running.work(ctx)
	if err != nil {
		return err
	}
	if err := p.createPending(ctx, c.pods); err != nil {
		return fmt.Errorf("creating pods: %w", err)
	}
	pending, err := pods[0].await(ctx, c.pods, time.Minute, "pods to be found unschedulable")
	if err != nil {
		return err
	}
	if gap := widest(pending); gap >= idle {
		return fmt.Errorf("pods came with a pause of %s: that is two batches", gap)
	}
	closed := pending[len(pending)-1].Add(idle)
	looked := p.lookInside(ctx, s, running, label, closed)
	written, err := claims[0].await(ctx, c.pods, planning, "NodeClaims with capacity for all pods")
	if err != nil {
		return err
	}
	ready, err := nodes[0].await(ctx, len(written), rising, "nodes to become ready")
	if err != nil {
		return err
	}
	after, err := running.work(ctx)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.out, "%-8s %6d  %-27s %10d %8.2f %8.2f %12.2f %10s\n", running.side.name, c.pods, c.what, len(written),
		written[0].Sub(closed).Seconds(), written[len(written)-1].Sub(closed).Seconds(), ready[len(written)-1].Sub(closed).Seconds(), told(after.since(before).requests))
	return <-looked
}

// podsOf is how many pods a NodeClaim was created for.
func podsOf(claim *v1.NodeClaim) int {
	pods := claim.Spec.Resources.Requests[corev1.ResourcePods]
	return int(pods.Value())
}

func unschedulable(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}

// told is a count, or a dash where the controller does not count.
func told(n int) string {
	if n == 0 {
		return "–"
	}
	return strconv.Itoa(n)
}
