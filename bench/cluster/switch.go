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
	// laterPods is the number of pods that are created for each controller but the first.
	laterPods = 5
	// hostPort is a port of the node that each pod takes, so that each gets a node.
	hostPort = 8080
	// driftWait is how long a controller may take to do what it should not: both mark drift within seconds of their start, and act on it at
	// their next pass of disruption, ten seconds later.
	driftWait = 45 * time.Second
	// removal bounds the time until all nodes are gone once no pod is left.
	removal = 3 * time.Minute
)

// measureSwitch lets two controllers take over each other's cluster, and back, twice: no node drifts or is replaced, and each controller
// removes the nodes of the other. It follows docs/upgrading.md: CRDs come before this controller, and after upstream's.
func measureSwitch(ctx context.Context, s settings) error {
	sides := s.sides()
	if len(sides) != 2 {
		return errors.New("a switch needs both controllers: leave out -only")
	}
	_, _ = fmt.Fprintf(s.out, "Two controllers take over each other's nodes: %d of the first one, and %d of each later one\n", s.switchNodes, laterPods)
	ours, upstream := sides[0], sides[1]
	for _, order := range [][]side{{upstream, ours, upstream, ours}, {ours, upstream}} {
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
	w := &takeover{plane: p, known: map[string]string{}}
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
	// known are the providers' IDs of the nodes of the turns so far, by the name of the NodeClaim.
	known map[string]string
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
	pods := laterPods
	if turn == 0 {
		pods = s.switchNodes
	}
	if err := each(ctx, pods, func(ctx context.Context, i int) error {
		return w.Create(ctx, lonePod(fmt.Sprintf("turn-%d-%d", turn, i)))
	}); err != nil {
		return fmt.Errorf("creating pods: %w", err)
	}
	if err := await(ctx, binding, "pods to be bound", func() error { return w.allBound(ctx) }); err != nil {
		return err
	}
	if err := pauseUntil(ctx, time.Now().Add(driftWait)); err != nil {
		return err
	}
	if err := errors.Join(w.check(ctx), w.checkTaints(ctx)); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.out, "turn %d, %s: %d nodes, all as they were launched\n", turn+1, x.name, len(w.known))
	if !last {
		return nil
	}
	return w.clear(ctx)
}

// lonePod is a pod that shares its node with no other one.
func lonePod(name string) *corev1.Pod {
	pod := pendingPod(name, "1")
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: hostPort, HostPort: hostPort}}
	return pod
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
	now := map[string]string{}
	for i := range list.Items {
		claim := &list.Items[i]
		now[claim.Name] = claim.Status.ProviderID
		if err := unchanged(claim, pool); err != nil {
			return fmt.Errorf("nodeclaim %s: %w", claim.Name, err)
		}
	}
	for name, node := range w.known {
		if now[name] != node {
			return fmt.Errorf("nodeclaim %s: its node is %q, and was %q", name, now[name], node)
		}
	}
	w.known = now
	return nil
}

// unchanged returns an error if a NodeClaim has drifted, is being deleted, or lacks the hashes of its NodePool.
func unchanged(claim *v1.NodeClaim, pool *v1.NodePool) error {
	if !claim.DeletionTimestamp.IsZero() {
		return errors.New("it is being deleted")
	}
	for _, c := range claim.Status.Conditions {
		if c.Type == v1.ConditionTypeDrifted {
			return fmt.Errorf("condition %s is %s: %s", c.Type, c.Status, c.Reason)
		}
	}
	for _, key := range []string{v1.NodePoolHashAnnotationKey, v1.NodePoolHashVersionAnnotationKey} {
		if claim.Annotations[key] != pool.Annotations[key] {
			return fmt.Errorf("%s is %q, that of the NodePool is %q", key, claim.Annotations[key], pool.Annotations[key])
		}
	}
	return nil
}

// checkTaints returns an error if a node has a taint of one of the controllers: all are initialized, and none is being disrupted.
func (w *takeover) checkTaints(ctx context.Context) error {
	var list corev1.NodeList
	if err := w.List(ctx, &list, client.HasLabels{v1.NodePoolLabelKey}); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for i := range list.Items {
		for _, taint := range list.Items[i].Spec.Taints {
			if strings.HasPrefix(taint.Key, "karpenter.sh/") {
				return fmt.Errorf("node %s has the taint %s", list.Items[i].Name, taint.Key)
			}
		}
	}
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
