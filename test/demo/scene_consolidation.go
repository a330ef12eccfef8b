package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// consolidationScene shows underutilized nodes replaced by fewer and cheaper ones.
func consolidationScene() scene {
	const many, few = 40, 10
	return scene{
		name:  "consolidation",
		lines: []string{"disrupting node(s)", "deleted node"},
		perform: func(p *play) (fmt.Stringer, error) {
			err := p.pool(cores("4", "8"),
				set("WhenEmptyOrUnderutilized", "spec", "disruption", "consolidationPolicy"), set("0s", "spec", "disruption", "consolidateAfter"))
			if err != nil {
				return nil, err
			}
			before, err := p.launch(many)
			if err != nil {
				return nil, err
			}
			if err := p.thin(few); err != nil {
				return nil, err
			}
			begin := time.Now()
			p.show.line(fmt.Sprintf("scaled down to %d pods; a node is removed when the validation after 15 s confirms that it is not needed", few))
			what := fmt.Sprintf("%d pods on fewer nodes, for less than half the price", few)
			after, err := p.await(what, func(c counts) (bool, error) {
				return c.running == few && c.pending == 0 && c.claims == c.nodes && c.ready == c.nodes && 2*c.pricePerH < before.pricePerH, nil
			})
			switch {
			case err != nil:
				return nil, err
			case p.logged.count("disrupting node(s)") == 0:
				return nil, errors.New("there are fewer nodes, and the controller has not logged that it disrupted any")
			case after.nodes >= before.nodes:
				return nil, fmt.Errorf("there were %d nodes and there are %d", before.nodes, after.nodes)
			}
			return figureLine(fmt.Sprintf("consolidation: %d nodes for $%.4f/h became %d for $%.4f/h in %.1f s, by %d command(s)",
				before.nodes, before.pricePerH, after.nodes, after.pricePerH, time.Since(begin).Seconds(), p.logged.count("disrupting node(s)"))), nil
		},
	}
}

// thin scales down and keeps the remaining pods spread over all nodes: the ReplicaSet deletes pods with a high deletion cost last.
func (p *play) thin(replicas int) error {
	var pods corev1.PodList
	if err := p.client.List(p.ctx, &pods, client.InNamespace("default"), client.MatchingLabels{"app": "inflate"}); err != nil {
		return err
	}
	seen := map[string]int{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		stored := pod.DeepCopy()
		pod.Annotations = map[string]string{corev1.PodDeletionCost: strconv.Itoa(-seen[pod.Spec.NodeName])}
		seen[pod.Spec.NodeName]++
		if err := p.client.Patch(p.ctx, pod, client.MergeFrom(stored)); err != nil {
			return err
		}
	}
	return p.scale(replicas)
}
