package view

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/bound"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// boundPatience is how long the view of cost waits for a bound.
const boundPatience = 2 * time.Second

// boundOf is the bound for a state, or the last one that is known. late says in a sentence which it is, or is empty.
func (v *Views) boundOf(ctx context.Context, p *present) (b *Bound, late string) {
	v.mu.Lock()
	if v.bounded == p {
		defer v.mu.Unlock()
		return v.bound, noBound(v.bound)
	}
	if v.bounded != nil && p.state.Options.Now.Sub(v.bounded.state.Options.Now) < p.state.Rest {
		defer v.mu.Unlock()
		return v.bound, "the bound is as of " + stamp(v.bounded.state.Options.Now)
	}
	if v.bounding == nil {
		v.bounding = make(chan struct{})
		go v.computeBound(context.WithoutCancel(ctx), p, v.bounding)
	}
	done := v.bounding
	v.mu.Unlock()
	timeout := v.clock.NewTimer(boundPatience)
	defer timeout.Stop()
	select {
	case <-done:
	case <-timeout.C():
	case <-ctx.Done():
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch v.bounded {
	case p:
		return v.bound, noBound(v.bound)
	case nil:
		return nil, "the bound is being computed"
	}
	return v.bound, "the bound is as of " + stamp(v.bounded.state.Options.Now) + ", the newer state is being computed"
}

func noBound(b *Bound) string {
	if b == nil {
		return "the bound cannot be computed for this cluster"
	}
	return ""
}

func (v *Views) computeBound(ctx context.Context, p *present, done chan struct{}) {
	var found *Bound
	defer func() {
		_ = recover() // the view says that there is no bound
		v.mu.Lock()
		defer v.mu.Unlock()
		v.bound, v.bounded, v.bounding = found, p, nil
		v.revision++
		close(done)
	}()
	if b, err := repacked(ctx, p.state); err == nil {
		found = &b
	}
}

// repacked plans all pods of managed nodes anew, as if they and the pending pods were pending in a cluster without managed nodes.
func repacked(ctx context.Context, s ClusterState) (Bound, error) {
	managed := map[string]bool{}
	ids := map[string]bool{}
	for _, o := range s.Objects {
		if claim, ok := o.(*v1.NodeClaim); ok {
			ids[claim.Status.ProviderID] = true
		}
	}
	for _, o := range s.Objects {
		if n, ok := o.(*corev1.Node); ok && n.Spec.ProviderID != "" && ids[n.Spec.ProviderID] {
			managed[n.Name] = true
		}
	}
	var objects []client.Object
	for _, o := range s.Objects {
		switch o := o.(type) {
		case *v1.NodeClaim:
		case *corev1.Node:
			if !managed[o.Name] {
				objects = append(objects, o)
			}
		case *corev1.Pod:
			if !managed[o.Spec.NodeName] {
				objects = append(objects, o)
			} else if podrules.Reschedulable(o) {
				objects = append(objects, unbound(o))
			}
		default:
			objects = append(objects, o)
		}
	}
	opts := s.Options
	opts.IgnoreBuffers = true
	r, err := simulation.Run(ctx, objects, s.Cloud, opts)
	if err != nil {
		return Bound{}, fmt.Errorf("planning all pods anew: %w", err)
	}
	out := Bound{Packed: r.Plan.Price(), Least: bound.Of(r.Problem, r.Plan), Unplaced: len(r.Rejected)}
	for _, u := range r.Plan.Unschedulable {
		out.Unplaced += len(u.Pods)
	}
	out.GapPercent = 100 * max(bound.Gap(out.Packed, out.Least), 0)
	return out, nil
}

// unbound is a pod as if kube-scheduler had found no place for it.
func unbound(p *corev1.Pod) *corev1.Pod {
	out := *p
	out.Spec.NodeName = ""
	out.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}}
	return &out
}
