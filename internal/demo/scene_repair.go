package demo

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// repairScene shows a node that stays unhealthy being replaced.
func repairScene() Scene {
	const pods = 9
	return Scene{
		Name:  "repair",
		Flags: []string{"--feature-gates=NodeRepair=true"},
		Lines: []string{repaired, "deleted node"},
		Perform: func(p *Play) (fmt.Stringer, error) {
			if err := p.Pool(cores("4")); err != nil {
				return nil, err
			}
			before, err := p.Launch(pods)
			if err != nil {
				return nil, err
			}
			nodes, err := p.Nodes()
			if err != nil {
				return nil, err
			}
			unready := nodes[0].Name
			if err := p.makeUnready(unready, toleration-unreadyFor); err != nil {
				return nil, err
			}
			sinceThen := stopwatch()
			p.Show.Line(fmt.Sprintf("node %s has not been ready for %s; the toleration duration is %s", unready, toleration-unreadyFor, toleration))
			_, err = p.Await("its pods run on a new node", func(c Counts) (bool, error) {
				now, err := p.Nodes()
				for i := range now {
					if now[i].Name == unready {
						return false, err
					}
				}
				if gone := sinceThen(); p.Logged.Count(repaired) > 0 && gone < unreadyFor-2*time.Second {
					return false, fmt.Errorf("%w: the node was replaced %s too early", ErrBroken, unreadyFor-gone)
				}
				return c.Running == pods && c.Pending == 0 && c.Nodes == before.Nodes && c.Ready == c.Nodes && c.Claims == c.Nodes, err
			})
			if err != nil {
				return nil, err
			}
			if n := p.Logged.Count(repaired); n != 1 {
				return nil, fmt.Errorf("the controller logged %d unhealthy nodes, want 1", n)
			}
			return FigureLine(fmt.Sprintf("repair: 1 of %d nodes replaced %.1f s after it was reported, %s of which were still tolerated",
				before.Nodes, sinceThen().Seconds(), unreadyFor)), nil
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
func (p *Play) makeUnready(name string, since time.Duration) error {
	return Poll(p.Ctx, 30*time.Second, "node "+name+" to be not ready", func() (bool, error) {
		node := &corev1.Node{}
		if err := p.Client.Get(p.Ctx, client.ObjectKey{Name: name}, node); err != nil {
			return false, err
		}
		if node.Annotations == nil {
			node.Annotations = map[string]string{}
		}
		node.Annotations["local.karpenter-anew.dev/hands-off"] = "true"
		if err := p.Client.Update(p.Ctx, node); err != nil {
			return false, err
		}
		for i := range node.Status.Conditions {
			if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
				c.Status, c.Reason = corev1.ConditionFalse, "KubeletNotReady"
				c.LastTransitionTime = metav1.NewTime(time.Now().Add(-since))
			}
		}
		err := p.Client.Status().Update(p.Ctx, node)
		return err == nil, err
	})
}
