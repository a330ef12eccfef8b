package demo

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// driftScene is that of the simulated cloud.
func driftScene() Scene { return DriftScene(cores("4")) }

// DriftScene shows nodes replaced after an edit of their NodePool, no more at a time than the budget allows. sizes limits the pool to nodes of four
// cores.
func DriftScene(sizes Edit) Scene {
	const pods, budget = 18, 2
	return Scene{
		Name:  "drift",
		Lines: []string{"disrupting node(s)", "deleted node"},
		Perform: func(p *Play) (fmt.Stringer, error) {
			edits := []Edit{sizes, Set([]any{map[string]any{"nodes": fmt.Sprint(budget)}}, "spec", "disruption", "budgets")}
			if err := p.Pool(edits...); err != nil {
				return nil, err
			}
			before, err := p.Launch(pods)
			if err != nil {
				return nil, err
			}
			if err := p.EditPool(append(edits, Set("two", "spec", "template", "metadata", "labels", "example.com/generation"))...); err != nil {
				return nil, err
			}
			sinceThen := stopwatch()
			p.Show.Line(fmt.Sprintf("the NodePool template has another label now; its budget allows %d nodes at a time", budget))
			most, fewest := 0, pods
			_, err = p.Await("every node has the new label", func(c Counts) (bool, error) {
				old, leaving, err := p.generation()
				if err != nil {
					return false, err
				}
				if leaving > budget {
					return false, fmt.Errorf("%w: %d nodes are disrupted at a time", ErrBroken, leaving)
				}
				most, fewest = max(most, leaving), min(fewest, c.Running)
				return old == 0 && c.Claims == c.Nodes && c.Running == pods && c.Pending == 0, nil
			})
			if err != nil {
				return nil, err
			}
			return FigureLine(fmt.Sprintf("drift: %d nodes replaced in %.1f s, at most %d at a time (budget %d), never fewer than %d of %d pods running",
				before.Nodes, sinceThen().Seconds(), most, budget, fewest, pods)), nil
		},
	}
}

// generation counts the NodeClaims that are not of the second generation, and those whose node is being disrupted.
func (p *Play) generation() (old, leaving int, err error) {
	// Nodes first: a node that was deleted before the claims are read is not counted.
	nodes, err := p.Nodes()
	if err != nil {
		return 0, 0, err
	}
	closed := map[string]bool{}
	for i := range nodes {
		closed[nodes[i].Name] = slices.ContainsFunc(nodes[i].Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1.DisruptedTaintKey })
	}
	var claims v1.NodeClaimList
	if err := p.Client.List(p.Ctx, &claims); err != nil {
		return 0, 0, err
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Labels["example.com/generation"] != "two" {
			old++
		}
		// Once its instance terminates, a node counts for no budget any more; clouds take a while for that.
		if meta.IsStatusConditionTrue(claim.Status.Conditions, v1.ConditionTypeInstanceTerminating) {
			continue
		}
		if claim.DeletionTimestamp != nil || closed[claim.Status.NodeName] {
			leaving++
		}
	}
	return old, leaving, nil
}
