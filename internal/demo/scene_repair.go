package demo

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// repairScene shows an unhealthy node being replaced: its replacement is ready before its pods have to leave.
func repairScene() Scene {
	const pods = 9
	return Scene{
		Name:  "repair",
		Flags: []string{"--feature-gates=NodeRepair=true"},
		Lines: []string{selected, "disrupting node(s)", "created nodeclaim", "initialized nodeclaim", "deleted node"},
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
			broken := nodes[0].Name
			if err := p.setCondition(broken, corev1.NodeCondition{
				Type: unhealthy, Status: corev1.ConditionTrue, Reason: "DiskFailure",
				LastTransitionTime: metav1.NewTime(time.Now()),
			}); err != nil {
				return nil, err
			}
			sinceThen := stopwatch()
			p.Show.Line(fmt.Sprintf("node %s has the condition %s; the toleration duration is %s", broken, unhealthy, unhealthyToleration))
			_, err = p.Await("its pods run on a new node", func(c Counts) (bool, error) {
				if early := sinceThen(); p.Logged.Count(selected) > 0 && early < unhealthyToleration-2*time.Second {
					return false, fmt.Errorf("%w: the node was replaced after %s", ErrBroken, early)
				}
				now, err := p.Nodes()
				for i := range now {
					if now[i].Name == broken {
						return false, err
					}
				}
				if c.Nodes < before.Nodes {
					return false, fmt.Errorf("%w: the node was deleted before its replacement was ready", ErrBroken)
				}
				return c.Running == pods && c.Pending == 0 && c.Nodes == before.Nodes && c.Ready == c.Nodes && c.Claims == c.Nodes, err
			})
			if err != nil {
				return nil, err
			}
			if n := p.Logged.Count(selected); n != 1 {
				return nil, fmt.Errorf("the controller repaired %d nodes, want 1", n)
			}
			return FigureLine(fmt.Sprintf("repair: 1 of %d nodes replaced %.1f s after it was reported, %s of which were tolerated",
				before.Nodes, sinceThen().Seconds(), unhealthyToleration)), nil
		},
	}
}

// legacyRepairScene shows legacy node repair: a node that stays unhealthy is terminated, and its pods are provisioned for.
func legacyRepairScene() Scene {
	const pods = 9
	return Scene{
		Name:  "legacy-repair",
		Flags: []string{"--feature-gates=NodeRepair=true", "--legacy-node-repair"},
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
	// unhealthy is a condition that makes simulated nodes be replaced.
	unhealthy corev1.NodeConditionType = "KWOKUnhealthy"
	// selected is what the controller logs for a node that it replaces.
	selected = "selected repair policy"
	// unhealthyToleration is the toleration duration of the simulated cloud for that condition.
	unhealthyToleration = 30 * time.Second
	// repaired is what the controller logs for a node that it terminates.
	repaired = "deleting unhealthy node"
	// toleration is the toleration duration of the simulated cloud, and unreadyFor how much of it is left when the scene begins: ten minutes would
	// be too long for a demo.
	toleration, unreadyFor = 10 * time.Minute, 8 * time.Second
)

// makeUnready sets the Ready condition of a node to False since so long ago, and keeps the simulator from resetting it.
func (p *Play) makeUnready(name string, since time.Duration) error {
	return p.setCondition(name, corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", LastTransitionTime: metav1.NewTime(time.Now().Add(-since)),
	})
}

// setCondition sets a condition of a node, and keeps the simulator from resetting it.
func (p *Play) setCondition(name string, condition corev1.NodeCondition) error {
	return Poll(p.Ctx, 30*time.Second, fmt.Sprintf("node %s to have the condition %s", name, condition.Type), func() (bool, error) {
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
		node.Status.Conditions = append(slices.DeleteFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == condition.Type
		}), condition)
		err := p.Client.Status().Update(p.Ctx, node)
		return err == nil, err
	})
}
