package demo

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// rebooted is what the controller logs for a node that is back.
const rebooted = "rebooted node"

// rebootScene shows a node that is drained, rebooted and used again, without a new node.
func rebootScene() Scene {
	const pods = 9
	return Scene{
		Name:  "reboot",
		Lines: []string{"tainted node", "drained node for a reboot", "issued node reboot", rebooted},
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
			node := nodes[0]
			claim, err := p.requestReboot(node.Name, time.Minute)
			if err != nil {
				return nil, err
			}
			sinceThen := stopwatch()
			p.Show.Line(fmt.Sprintf("a reboot of node %s is requested; its pods may take a minute to leave", node.Name))
			fewest := pods
			_, err = p.Await("the node is back, and its pods run again", func(c Counts) (bool, error) {
				if c.Claims > before.Claims {
					return false, fmt.Errorf("%w: a node was launched for the pods of a node that is rebooted", ErrBroken)
				}
				fewest = min(fewest, c.Running)
				var now v1.NodeClaim
				if err := p.Client.Get(p.Ctx, client.ObjectKey{Name: claim}, &now); err != nil {
					return false, err
				}
				progress := meta.FindStatusCondition(now.Status.Conditions, v1.ConditionTypeRebooting)
				if progress == nil || progress.Reason == v1.RebootReasonFailed {
					return false, fmt.Errorf("%w: the reboot failed: %v", ErrBroken, progress)
				}
				return progress.Status == metav1.ConditionFalse && c.Running == pods && c.Pending == 0 && c.Initialized == before.Nodes && c.Nodes == before.Nodes, nil
			})
			if err != nil {
				return nil, err
			}
			if n := p.Logged.Count(rebooted); n != 1 {
				return nil, fmt.Errorf("the controller logged %d reboots, want 1", n)
			}
			if err := p.rebootedInPlace(node.Name, node.Status.NodeInfo.BootID); err != nil {
				return nil, err
			}
			return FigureLine(fmt.Sprintf("reboot: 1 of %d nodes rebooted in %.1f s, no node launched, never fewer than %d of %d pods running",
				before.Nodes, sinceThen().Seconds(), fewest, pods)), nil
		},
	}
}

// requestReboot requests the reboot of a node, as any client may, and returns its NodeClaim. The drain may take that long.
func (p *Play) requestReboot(node string, drain time.Duration) (claim string, err error) {
	err = Poll(p.Ctx, 30*time.Second, "the request of a reboot", func() (bool, error) {
		var claims v1.NodeClaimList
		if err := p.Client.List(p.Ctx, &claims); err != nil {
			return false, err
		}
		for i := range claims.Items {
			c := &claims.Items[i]
			if c.Status.NodeName != node {
				continue
			}
			claim = c.Name
			if c.Annotations == nil {
				c.Annotations = map[string]string{}
			}
			c.Annotations[v1.RebootTerminationGracePeriodAnnotationKey] = drain.String()
			if err := p.Client.Update(p.Ctx, c); err != nil {
				return false, err
			}
			condition.For(c, time.Now()).TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, "rebooting for a demonstration")
			err := p.Client.Status().Update(p.Ctx, c)
			return err == nil, err
		}
		return false, nil
	})
	return claim, err
}

// rebootedInPlace fails unless the node of that name has another boot ID and can take pods.
func (p *Play) rebootedInPlace(name, bootID string) error {
	nodes, err := p.Nodes()
	if err != nil {
		return err
	}
	for i := range nodes {
		if nodes[i].Name != name {
			continue
		}
		if now := nodes[i].Status.NodeInfo.BootID; now == bootID || len(nodes[i].Spec.Taints) > 0 {
			return fmt.Errorf("%w: node %s has boot ID %q and taints %v", ErrBroken, name, now, nodes[i].Spec.Taints)
		}
		return nil
	}
	return fmt.Errorf("%w: node %s is gone", ErrBroken, name)
}
