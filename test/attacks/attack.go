package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// attack is what one hostile tenant does.
type attack struct {
	name, what string
	// pool edits the NodePool before the attack; nil for the usual one.
	pool func(*v1.NodePool)
	// objects are created before honest pods are.
	objects func() []client.Object
	// gone deletes the objects before honest pods are created; each is deleted as soon as it is seen by the controller if inTurn is set.
	gone, inTurn bool
	// displaces says that pods which the controller does not plan take the place of honest pods on the nodes of these, which kube-scheduler
	// allows: the honest pods get another node, from a second pass.
	displaces bool
	// honest is how many honest pods there are in each of the waves; 0 for a few. Most of the time that many pods take is spent by
	// kube-controller-manager and kube-scheduler: they are compared with as many pods without an attacker.
	honest int
	// judge checks what only this attack may hurt, with what the honest pods saw; nil for nothing more.
	judge func(ctx context.Context, c *cluster) error
}

// attacks are all attacks. Honest pods without an attacker are the first: they show how fast this host is.
func attacks() []attack {
	return []attack{
		{name: "none", what: "honest pods alone", objects: func() []client.Object { return nil }},
		{
			name: "invalid-preferences", what: "preferences whose values no NodeClaim may have",
			pool: openKey, objects: invalidPreferences, judge: told,
		},
		{
			name: "many-keys", what: "preferences on more keys than a NodeClaim may have",
			pool: openKey, objects: manyKeys, displaces: true, judge: told,
		},
		{
			name: "distinct-preferences", what: "300 pods of 12.5 KB with 100 preferences each on distinct keys",
			objects: distinctPreferences,
		},
		{
			name: "soft-constraints", what: "a pod with 4 000 ScheduleAnyway constraints",
			objects: softConstraints,
		},
		{
			name: "endless-grace", what: "a pod that ignores SIGTERM, with a termination grace period that overflows as a duration",
			pool: shortGrace, objects: endlessGrace, judge: drained,
		},
		{
			name: "long-messages", what: "a pod with 25 000 resource names in reasons and events",
			objects: func() []client.Object { return invented(1, 25_000) }, judge: told,
		},
		{
			name: "invented-resources", what: "resource names of pods that are gone before honest pods come",
			objects: func() []client.Object { return invented(10, 25_000) }, gone: true, honest: 300,
		},
		{
			name: "invented-daemonsets", what: "2 000 pods in turn of DaemonSets that do not exist",
			objects: inventedDaemonSets, gone: true, inTurn: true,
		},
		{
			name: "oversized-daemonset", what: "a DaemonSet that requests more than any instance type has",
			objects: oversizedDaemonSet, judge: daemonSetTold,
		},
		{
			name: "overflowing-requests", what: "requests whose sum overflows",
			objects: overflowing, judge: refused,
		},
	}
}

// nodesWait is how long the nodes of honest pods may take beside the attack.
func (a attack) nodesWait() time.Duration {
	if a.displaces {
		return 2 * nodesWait
	}
	return nodesWait
}

// alone is no attack, with as many honest pods in each of the waves.
func alone(pods int) attack {
	return attack{name: fmt.Sprintf("none-%d", pods), what: "honest pods alone", objects: func() []client.Object { return nil }, honest: pods}
}

// told expects that each pod of the attacker has a node or an event of the controller that says why not.
func told(ctx context.Context, c *cluster) error {
	return c.await(ctx, patience, func() (string, error) {
		pods, err := c.pods(ctx)
		if err != nil {
			return "", err
		}
		events, err := c.events(ctx)
		if err != nil {
			return "", err
		}
		about := map[string]bool{}
		for _, e := range events {
			if e.Source.Component == "karpenter" && e.Type == corev1.EventTypeWarning {
				about[string(e.InvolvedObject.UID)] = true
			}
		}
		for _, pod := range pods {
			if pod.Spec.NodeName == "" && !about[string(pod.UID)] {
				return fmt.Sprintf("pod %s has neither a node nor a warning", pod.Name), nil
			}
		}
		return "", nil
	})
}

// daemonSetTold expects that the owner of the DaemonSet is told why its pods stay pending.
func daemonSetTold(ctx context.Context, c *cluster) error {
	var sets appsv1.DaemonSetList
	if err := c.client.List(ctx, &sets, client.InNamespace(attacker)); err != nil {
		return err
	}
	return c.await(ctx, patience, func() (string, error) {
		for i := range sets.Items {
			if told, err := c.hasEvent(ctx, &sets.Items[i], "DaemonSetTooLarge"); err != nil || !told {
				return fmt.Sprintf("DaemonSet %s has no warning", sets.Items[i].Name), err
			}
		}
		return "", nil
	})
}

// refused expects that no node is launched for the attacker, and that it is told.
func refused(ctx context.Context, c *cluster) error {
	if err := told(ctx, c); err != nil {
		return err
	}
	pods, err := c.pods(ctx)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		nominated, err := c.hasEvent(ctx, &pod, "Nominated")
		if err != nil || nominated {
			return fmt.Errorf("pod %s is expected on a node, although no node holds it (error: %w)", pod.Name, err)
		}
	}
	return nil
}

// drained deletes the node of the attacker's pod and expects that node and claim are gone when the pool's grace period is over.
func drained(ctx context.Context, c *cluster) error {
	var node string
	err := c.await(ctx, patience, func() (string, error) {
		pods, err := c.pods(ctx)
		if err != nil || len(pods) == 0 || pods[0].Status.Phase != corev1.PodRunning {
			return "the pod of the attacker does not run", err
		}
		node = pods[0].Spec.NodeName
		return "", nil
	})
	if err != nil {
		return err
	}
	var claims v1.NodeClaimList
	if err := c.client.List(ctx, &claims); err != nil {
		return err
	}
	var claim *v1.NodeClaim
	for i := range claims.Items {
		if claims.Items[i].Status.NodeName == node {
			claim = &claims.Items[i]
		}
	}
	if claim == nil {
		return fmt.Errorf("node %s has no claim", node)
	}
	if err := c.client.Delete(ctx, claim); err != nil {
		return err
	}
	return c.await(ctx, poolGrace+patience, func() (string, error) {
		err := c.client.Get(ctx, client.ObjectKeyFromObject(claim), claim)
		if err == nil {
			return fmt.Sprintf("claim %s of the attacker's node is still being deleted, %s after its deadline", claim.Name,
				time.Since(claim.DeletionTimestamp.Add(poolGrace)).Round(time.Second)), nil
		}
		return "", client.IgnoreNotFound(err)
	})
}
