package demo

import (
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// consolidationScene shows underutilized nodes replaced by fewer and cheaper ones.
func consolidationScene() Scene {
	const many, few = 40, 10
	return Scene{
		Name:  "consolidation",
		Lines: []string{"disrupting node(s)", "deleted node"},
		Perform: func(p *Play) (fmt.Stringer, error) {
			err := p.Pool(cores("4", "8"),
				Set("WhenEmptyOrUnderutilized", "spec", "disruption", "consolidationPolicy"), Set("0s", "spec", "disruption", "consolidateAfter"))
			if err != nil {
				return nil, err
			}
			before, err := p.Launch(many)
			if err != nil {
				return nil, err
			}
			if err := p.thin(few); err != nil {
				return nil, err
			}
			sinceThen := stopwatch()
			p.Show.Line(fmt.Sprintf("scaled down to %d pods; a node is removed when the validation after 15 s confirms that it is not needed", few))
			what := fmt.Sprintf("%d pods on fewer nodes, for less than half the price", few)
			after, err := p.Await(what, func(c Counts) (bool, error) {
				return c.Running == few && c.Pending == 0 && c.Claims == c.Nodes && c.Ready == c.Nodes && 2*c.PricePerHour < before.PricePerHour, nil
			})
			switch {
			case err != nil:
				return nil, err
			case p.Logged.Count("disrupting node(s)") == 0:
				return nil, errors.New("there are fewer nodes, and the controller has not logged that it disrupted any")
			case after.Nodes >= before.Nodes:
				return nil, fmt.Errorf("there were %d nodes and there are %d", before.Nodes, after.Nodes)
			}
			return FigureLine(fmt.Sprintf("consolidation: %d nodes for $%.4f/h became %d for $%.4f/h in %.1f s, by %d command(s)",
				before.Nodes, before.PricePerHour, after.Nodes, after.PricePerHour, sinceThen().Seconds(), p.Logged.Count("disrupting node(s)"))), nil
		},
	}
}

// thin scales down and keeps the remaining pods spread over all nodes: the ReplicaSet deletes pods with a high deletion cost last.
func (p *Play) thin(replicas int) error {
	var pods corev1.PodList
	if err := p.Client.List(p.Ctx, &pods, client.InNamespace("default"), client.MatchingLabels{"app": "inflate"}); err != nil {
		return err
	}
	seen := map[string]int{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		stored := pod.DeepCopy()
		pod.Annotations = map[string]string{corev1.PodDeletionCost: strconv.Itoa(-seen[pod.Spec.NodeName])}
		seen[pod.Spec.NodeName]++
		if err := p.Client.Patch(p.Ctx, pod, client.MergeFrom(stored)); err != nil {
			return err
		}
	}
	return p.Scale(replicas)
}
