package main

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// driftScene shows nodes replaced after an edit of their NodePool, no more at a time than the budget allows.
func driftScene() scene {
	const pods, budget = 18, 2
	return scene{
		name:  "drift",
		lines: []string{"disrupting node(s)", "deleted node"},
		perform: func(p *play) (fmt.Stringer, error) {
			edits := []edit{cores("4"), set([]any{map[string]any{"nodes": fmt.Sprint(budget)}}, "spec", "disruption", "budgets")}
			if err := p.pool(edits...); err != nil {
				return nil, err
			}
			before, err := p.launch(pods)
			if err != nil {
				return nil, err
			}
			if err := p.editPool(append(edits, set("two", "spec", "template", "metadata", "labels", "example.com/generation"))...); err != nil {
				return nil, err
			}
			begin := time.Now()
			p.show.line(fmt.Sprintf("the NodePool template has another label now; its budget allows %d nodes at a time", budget))
			most, fewest := 0, pods
			_, err = p.await("every node has the new label", func(c counts) (bool, error) {
				old, leaving, err := p.generation()
				if err != nil {
					return false, err
				}
				if leaving > budget {
					return false, fmt.Errorf("%w: %d nodes are disrupted at a time", errBroken, leaving)
				}
				most, fewest = max(most, leaving), min(fewest, c.running)
				return old == 0 && c.claims == c.nodes && c.running == pods && c.pending == 0, nil
			})
			if err != nil {
				return nil, err
			}
			return figureLine(fmt.Sprintf("drift: %d nodes replaced in %.1f s, at most %d at a time (budget %d), never fewer than %d of %d pods running",
				before.nodes, time.Since(begin).Seconds(), most, budget, fewest, pods)), nil
		},
	}
}

// generation counts the NodeClaims that are not of the second generation, and those whose node is being disrupted.
func (p *play) generation() (old, leaving int, err error) {
	// Nodes first: a node that was deleted before the claims are read is not counted.
	nodes, err := p.nodes()
	if err != nil {
		return 0, 0, err
	}
	closed := map[string]bool{}
	for i := range nodes {
		closed[nodes[i].Name] = slices.ContainsFunc(nodes[i].Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1.DisruptedTaintKey })
	}
	var claims v1.NodeClaimList
	if err := p.client.List(p.ctx, &claims); err != nil {
		return 0, 0, err
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Labels["example.com/generation"] != "two" {
			old++
		}
		if claim.DeletionTimestamp != nil || closed[claim.Status.NodeName] {
			leaving++
		}
	}
	return old, leaving, nil
}
