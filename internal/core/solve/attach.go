package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// attachments are the volumes attached to one node that exists, for its bound pods and for those placed in this run.
//
// Most nodes are never asked about volumes, so what bound pods use is counted with the first question.
type attachments struct {
	node *model.Node
	// expected is what nodes of its type take, for as long as the node itself has not said so.
	expected volume.Limits
	used     *volume.Attached
}

func (a *attachments) limits() volume.Limits {
	if a.node.Attachable != nil {
		return a.node.Attachable
	}
	return a.expected
}

// fits is how many of pods, in order, can be added before one of them brings a volume of a driver that is at its limit.
// Pods that share a claim count it once, and only drivers that get a new volume can refuse.
func (a *attachments) fits(pods []*model.Pod) int {
	if len(a.limits()) == 0 {
		return len(pods)
	}
	var with volume.Attached
	cloned := false
	for i, p := range pods {
		if len(p.Attachments()) == 0 {
			continue
		}
		if !cloned {
			with, cloned = a.count().Clone(), true
		}
		if !with.Allows(p.Attachments(), a.limits()) {
			return i
		}
		with.Add(p.Attachments())
	}
	return len(pods)
}

// add attaches the volumes of pods.
func (a *attachments) add(pods []*model.Pod) {
	if len(a.limits()) == 0 {
		return
	}
	for _, p := range pods {
		if len(p.Attachments()) > 0 {
			a.count().Add(p.Attachments())
		}
	}
}

// count is what is attached now.
func (a *attachments) count() *volume.Attached {
	if a.used == nil {
		a.used = &volume.Attached{}
		for _, p := range a.node.Pods {
			a.used.Add(p.Attachments())
		}
	}
	return a.used
}

// expectAttachLimits gives managed nodes that do not report their attach limits yet those of their instance type.
// Source: scheduling specification, volume limits.
func (ts *targets) expectAttachLimits(pools []*model.Pool) {
	types := map[string]map[string]volume.Limits{}
	for _, pool := range pools {
		for _, it := range pool.Catalog {
			if len(it.Attachable) == 0 {
				continue
			}
			if types[pool.Name] == nil {
				types[pool.Name] = map[string]volume.Limits{}
			}
			types[pool.Name][it.Name] = it.Attachable
		}
	}
	for _, t := range ts.list {
		if t.node.Managed && t.node.Attachable == nil {
			t.volumes.expected = types[t.node.Pool][t.node.Labels[instanceTypeKey]]
		}
	}
}

// attaches reports whether slots for volumes may decide how many pods of the class a new machine of the pool takes.
func (t *template) attaches(c *class) bool { return t.slotted && len(c.shape.Drivers) > 0 }

// attaching narrows the candidates of on to those that can attach the volumes of one more pod.
func (on *openNode) attaching(p *model.Pod) bitset.Set {
	out := bitset.New(on.t.columns.len())
	for column := range on.mask.All() {
		if on.volumes.Allows(p.Attachments(), on.t.columns.types[on.t.columns.owner[column]].Attachable) {
			out.Add(column)
		}
	}
	return out
}
