package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	kwokapis "sigs.k8s.io/karpenter/kwok/apis"
	upstreamapis "sigs.k8s.io/karpenter/pkg/apis"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const (
	// switchPods is the number of pods that are created for each controller.
	switchPods = 10
	// driftWait is how long a controller may take to do what it should not: both mark drift within seconds of their start, and act on it at
	// their next pass of disruption, ten seconds later.
	driftWait = 45 * time.Second
	// removal bounds the time until all nodes are gone once no pod is left.
	removal = 3 * time.Minute
)

// measureSwitch lets two controllers take over each other's cluster, and back: no node drifts or is replaced, and each controller removes
// the nodes of the other. It follows docs/upgrading.md: CRDs come before this controller, and after upstream's.
func measureSwitch(ctx context.Context, s settings) error {
	sides := s.sides()
	if len(sides) != 2 {
		return errors.New("a switch needs both controllers: leave out -only")
	}
	_, _ = fmt.Fprintf(s.out, "Two controllers take over each other's nodes; %d pods are created for each\n", switchPods)
	ours, upstream := sides[0], sides[1]
	for _, order := range [][]side{{upstream, ours, upstream}, {ours, upstream, ours}} {
		if err := switchThrough(ctx, s, order); err != nil {
			return err
		}
	}
	return nil
}

// switchThrough runs the controllers one after the other in a new cluster.
func switchThrough(ctx context.Context, s settings, order []side) (err error) {
	p, err := startPlane(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.cluster.Stop()) }()
	w := &takeover{plane: p}
	for turn, x := range order {
		if err := w.turn(ctx, s, x, turn, turn == len(order)-1); err != nil {
			return fmt.Errorf("turn %d of %s: %w", turn+1, x.name, err)
		}
	}
	_, _ = fmt.Fprintf(s.out, "%s: %d nodes kept through each switch, none drifted, all removed by %s in the end\n",
		names(order), len(w.known), order[len(order)-1].name)
	return nil
}

func names(order []side) string {
	var out []string
	for _, x := range order {
		out = append(out, x.name)
	}
	return strings.Join(out, " → ")
}

// takeover is a cluster that several controllers manage in turn.
type takeover struct {
	*plane
	// known are the names of the NodeClaims of the turns so far.
	known []string
}

// turn starts a controller in the cluster, lets it launch nodes for further pods, and checks that the nodes of the controllers before it
// are as they were.
func (w *takeover) turn(ctx context.Context, s settings, x side, turn int, last bool) (err error) {
	if x.name == "ours" {
		definitions, err := kwokcrds.Definitions()
		if err != nil {
			return err
		}
		if err := w.install(ctx, definitions); err != nil {
			return err
		}
	}
	running, err := x.start(ctx, s, w.plane, fmt.Sprintf("switch-%d", turn))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	if x.name == "upstream" {
		if err := w.install(ctx, slices.Concat(upstreamapis.CRDs, kwokapis.CRDs)); err != nil {
			return err
		}
	}
	if turn == 0 {
		if err := w.createPool(ctx, pool("9")); err != nil {
			return err
		}
	}
	if err := each(ctx, switchPods, func(ctx context.Context, i int) error {
		return w.Create(ctx, pendingPod(fmt.Sprintf("turn-%d-%d", turn, i), "3"))
	}); err != nil {
		return fmt.Errorf("creating pods: %w", err)
	}
	if err := await(ctx, binding, "pods to be bound", func() error { return w.allBound(ctx) }); err != nil {
		return err
	}
	if err := pauseUntil(ctx, time.Now().Add(driftWait)); err != nil {
		return err
	}
	if err := w.check(ctx); err != nil || !last {
		return err
	}
	return w.clear(ctx)
}

// allBound returns an error while a pod has no node.
func (w *takeover) allBound(ctx context.Context) error {
	var pods corev1.PodList
	if err := w.List(ctx, &pods, client.InNamespace(corev1.NamespaceDefault)); err != nil {
		return err
	}
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName == "" {
			return fmt.Errorf("%s is not", pods.Items[i].Name)
		}
	}
	return nil
}

// check returns an error if a NodeClaim of an earlier turn is gone, or if one has drifted, is being deleted, or lacks the present hashes.
func (w *takeover) check(ctx context.Context) error {
	pool, err := w.readPool(ctx)
	if err != nil {
		return err
	}
	var list v1.NodeClaimList
	if err := w.List(ctx, &list); err != nil {
		return fmt.Errorf("listing NodeClaims: %w", err)
	}
	var now []string
	for i := range list.Items {
		claim := &list.Items[i]
		now = append(now, claim.Name)
		if !claim.DeletionTimestamp.IsZero() {
			return fmt.Errorf("nodeclaim %s is being deleted", claim.Name)
		}
		for _, c := range claim.Status.Conditions {
			if c.Type == v1.ConditionTypeDrifted {
				return fmt.Errorf("nodeclaim %s: condition %s is %s: %s", claim.Name, c.Type, c.Status, c.Reason)
			}
		}
		for _, key := range []string{v1.NodePoolHashAnnotationKey, v1.NodePoolHashVersionAnnotationKey} {
			if claim.Annotations[key] != pool.Annotations[key] {
				return fmt.Errorf("nodeclaim %s: %s is %q, that of the NodePool is %q", claim.Name, key, claim.Annotations[key], pool.Annotations[key])
			}
		}
	}
	for _, name := range w.known {
		if !slices.Contains(now, name) {
			return fmt.Errorf("nodeclaim %s is gone", name)
		}
	}
	w.known = now
	return nil
}

// clear deletes all pods, and waits until the controller has removed all nodes.
func (w *takeover) clear(ctx context.Context) error {
	if err := w.consolidateAtOnce(ctx); err != nil {
		return err
	}
	if err := w.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(corev1.NamespaceDefault), client.GracePeriodSeconds(0)); err != nil {
		return fmt.Errorf("deleting pods: %w", err)
	}
	return w.awaitNoNodes(ctx, removal)
}

// install creates CRDs, or replaces their specifications, as the chart for CRDs does.
func (w *takeover) install(ctx context.Context, definitions []*apiextensionsv1.CustomResourceDefinition) error {
	for _, crd := range definitions {
		now := &apiextensionsv1.CustomResourceDefinition{}
		now.Name = crd.Name
		if _, err := controllerutil.CreateOrUpdate(ctx, w, now, func() error { now.Spec = crd.Spec; return nil }); err != nil {
			return fmt.Errorf("installing CRD %s: %w", crd.Name, err)
		}
	}
	return nil
}
