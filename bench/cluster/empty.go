package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// validation is how long both controllers wait before they validate empty nodes, as specified.
const validation = 15 * time.Second

// measureEmpty measures how long it takes to delete many empty nodes whose budget allows all of them at once.
func measureEmpty(ctx context.Context, s settings) error {
	_, _ = fmt.Fprintln(s.out, "Empty nodes, budget 100 %: seconds from consolidateAfter set from Never to 0s; slowest: from a NodeClaim's own condition to its deletion, less the 15 s")
	_, _ = fmt.Fprintf(s.out, "%-8s %6s %22s %14s %14s %12s %12s\n", "", "nodes", "all conditions written", "first deletion", "last deletion", "slowest", "all gone")
	for _, n := range s.empty {
		for _, x := range s.sides() {
			if err := emptyNodes(ctx, s, x, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func emptyNodes(ctx context.Context, s settings, x side, n int) (err error) {
	p, err := startPlane(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.cluster.Stop()) }()
	running, err := x.start(ctx, s, p, fmt.Sprintf("empty-%d", n))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	if err := p.createPool(ctx, pool("")); err != nil {
		return err
	}
	if err := p.createClaims(ctx, 0, n); err != nil {
		return fmt.Errorf("creating NodeClaims: %w", err)
	}
	if _, err := p.awaitNodes(ctx, n); err != nil {
		return err
	}
	// The work that launching caused is over, and the client's rate limiter is full again.
	time.Sleep(15 * time.Second)
	return watchThemGo(ctx, s, p, running, n)
}

func watchThemGo(ctx context.Context, s settings, p *plane, running *controller, n int) error {
	ctx, unfollow := context.WithCancel(ctx)
	defer unfollow()
	claims, err := follow(ctx, p, &v1.NodeClaimList{},
		once(func(c *v1.NodeClaim) bool {
			return condition.Status(c, v1.ConditionTypeConsolidatable) == metav1.ConditionTrue
		}),
		once(func(c *v1.NodeClaim) bool { return !c.DeletionTimestamp.IsZero() }))
	if err != nil {
		return err
	}
	eligible, deleted := claims[0], claims[1]
	if err := p.consolidateAtOnce(ctx); err != nil {
		return err
	}
	from := time.Now()
	looked := p.lookInside(ctx, s, running, fmt.Sprintf("empty-%d", n), from.Add(validation))
	marked, err := eligible.await(ctx, n, 3*time.Minute, "nodes to become consolidatable")
	if err != nil {
		return err
	}
	gone, err := deleted.await(ctx, n, 10*time.Minute, "NodeClaims to be deleted")
	if err != nil {
		return err
	}
	if err := <-looked; err != nil {
		return err
	}
	if err := p.awaitNoNodes(ctx, 10*time.Minute); err != nil {
		return err
	}
	all := time.Since(from).Seconds()
	_, _ = fmt.Fprintf(s.out, "%-8s %6d %22.2f %14.2f %14.2f %12.2f %12.2f\n", running.side.name, n, marked[n-1].Sub(from).Seconds(),
		gone[0].Sub(from).Seconds(), gone[n-1].Sub(from).Seconds(), (deleted.slowest(eligible) - validation).Seconds(), all)
	return nil
}
