package machineinstance

import (
	"context"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// List returns the AKSMachines of the nodes of the cluster. What is known of them may be half a minute old. One that lacks something that it must
// have is logged, and returned without an ID, with its tags: it exists, and one of them names its NodeClaim. complete is false if there is one
// that cannot be read at all.
func (c *Client) List(ctx context.Context) (found []*instance.Instance, complete bool, err error) {
	all, err := c.cache.all(ctx)
	if err != nil {
		return nil, false, err
	}
	complete = true
	for _, m := range all {
		if m.Malformed == nil && (m.Properties == nil || !c.ours(m.Properties.Tags)) {
			continue
		}
		i, err := c.instanceOf(m)
		if err == nil {
			found = append(found, i)
			continue
		}
		observe.Log(ctx).ErrorContext(ctx, "an AKSMachine cannot be read", logfield.Value(m.Name), logfield.Error(err))
		if m.Malformed != nil {
			complete = false
			continue
		}
		found = append(found, &instance.Instance{AKSMachineID: m.ID, Tags: m.Properties.Tags, Created: c.Clock.Now()})
	}
	return found, complete, nil
}

// ours reports whether an AKSMachine is that of a node of this cluster. Others in the agent pool have no tag with a NodePool.
func (c *Client) ours(tags map[string]string) bool {
	_, managed := tags[label.TagNodePool]
	cluster := tags[label.TagCluster]
	return managed && (cluster == "" || cluster == c.Cluster)
}
