package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// repairScene shows a node that stays unhealthy being replaced.
func repairScene() scene {
	const pods = 9
	return scene{
		name:  "repair",
		flags: []string{"--feature-gates=NodeRepair=true"},
		lines: []string{repaired, "deleted node"},
		perform: func(p *play) (fmt.Stringer, error) {
			if err := p.pool(cores("4")); err != nil {
				return nil, err
			}
			before, err := p.launch(pods)
			if err != nil {
				return nil, err
			}
			nodes, err := p.nodes()
			if err != nil {
				return nil, err
			}
			unready := nodes[0].Name
			if err := p.makeUnready(unready, toleration-unreadyFor); err != nil {
				return nil, err
			}
			begin := time.Now()
			p.show.line(fmt.Sprintf("node %s has not been ready for %s; the toleration duration is %s", unready, toleration-unreadyFor, toleration))
			_, err = p.await("its pods run on a new node", func(c counts) (bool, error) {
				now, err := p.nodes()
				for i := range now {
					if now[i].Name == unready {
						return false, err
					}
				}
				if gone := time.Since(begin); p.logged.count(repaired) > 0 && gone < unreadyFor-2*time.Second {
					return false, fmt.Errorf("%w: the node was replaced %s too early", errBroken, unreadyFor-gone)
				}
				return c.running == pods && c.pending == 0 && c.nodes == before.nodes && c.ready == c.nodes && c.claims == c.nodes, err
			})
			if err != nil {
				return nil, err
			}
			if n := p.logged.count(repaired); n != 1 {
				return nil, fmt.Errorf("the controller logged %d unhealthy nodes, want 1", n)
			}
			return figureLine(fmt.Sprintf("repair: 1 of %d nodes replaced %.1f s after it was reported, %s of which were still tolerated",
				before.nodes, time.Since(begin).Seconds(), unreadyFor)), nil
		},
	}
}

const (
	// repaired is what the controller logs for a node that it replaces.
	repaired = "deleting unhealthy node"
	// toleration is the toleration duration of the simulated cloud, and unreadyFor how much of it is left when the scene begins: ten minutes would
	// be too long for a demo.
	toleration, unreadyFor = 10 * time.Minute, 8 * time.Second
)

// makeUnready sets the Ready condition of a node to False since so long ago, and keeps the simulator from resetting it.
func (p *play) makeUnready(name string, since time.Duration) error {
	return poll(p.ctx, 30*time.Second, "node "+name+" to be not ready", func() (bool, error) {
		node := &corev1.Node{}
		if err := p.client.Get(p.ctx, client.ObjectKey{Name: name}, node); err != nil {
			return false, err
		}
		if node.Annotations == nil {
			node.Annotations = map[string]string{}
		}
		node.Annotations["local.karpenter-anew.dev/hands-off"] = "true"
		if err := p.client.Update(p.ctx, node); err != nil {
			return false, err
		}
		for i := range node.Status.Conditions {
			if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
				c.Status, c.Reason = corev1.ConditionFalse, "KubeletNotReady"
				c.LastTransitionTime = metav1.NewTime(time.Now().Add(-since))
			}
		}
		err := p.client.Status().Update(p.ctx, node)
		return err == nil, err
	})
}
