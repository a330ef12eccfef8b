package compile

import (
	"maps"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// Attachments are the volumes attached to one existing node, for its bound pods and for those placed in this run.
//
// For most nodes volumes never matter, so what bound pods use is counted on first use.
type Attachments struct {
	Node *model.Node
	// merged is Node.Attachable with the limits of its instance type for the drivers that the node does not report; nil if there are none.
	merged volume.Limits
	used   *volume.Attached
}

func (a *Attachments) limits() volume.Limits {
	if a.merged != nil {
		return a.merged
	}
	return a.Node.Attachable
}

// expect gives the node the limits of its instance type for the drivers that it does not report. A driver that it reports without a count has
// no limit.
func (a *Attachments) expect(byType volume.Limits) {
	for driver, limit := range byType {
		if _, reported := a.Node.Attachable[driver]; reported {
			continue
		}
		if a.merged == nil {
			a.merged = volume.Limits{}
			maps.Copy(a.merged, a.Node.Attachable)
		}
		a.merged[driver] = limit
	}
}

// Fits is how many of pods, in order, can be added before one of them has a volume of a driver that is at its limit.
// Pods that share a PersistentVolumeClaim count it once, and only drivers that get a new volume can reject.
func (a *Attachments) Fits(pods []*model.Pod) int {
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

// Add attaches the volumes of pods.
func (a *Attachments) Add(pods []*model.Pod) {
	if len(a.limits()) == 0 {
		return
	}
	for _, p := range pods {
		if len(p.Attachments()) > 0 {
			a.count().Add(p.Attachments())
		}
	}
}

// count returns the attached volumes, counted on first use.
func (a *Attachments) count() *volume.Attached {
	if a.used == nil {
		a.used = &volume.Attached{}
		a.used.Add(a.Node.Attached)
		for _, p := range a.Node.Pods {
			a.used.Add(p.Attachments())
		}
	}
	return a.used
}

// expectAttachLimits gives managed nodes the attach limits of their instance type for the drivers that they do not report yet.
// Source: scheduling specification, volume limits.
func (ts *Targets) expectAttachLimits(pools []*model.Pool) {
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
	if len(types) == 0 {
		return
	}
	for _, t := range ts.List {
		if t.Node.Managed {
			t.Volumes.expect(types[t.Node.Pool][t.Node.Labels[InstanceTypeKey]])
		}
	}
}

// Attaches reports whether attach limits may decide how many pods of the class a new node of the pool takes.
func (t *Template) Attaches(c *Class) bool { return t.slotted && len(c.Shape.Drivers) > 0 }

// Attaching narrows the candidates of on to those that can attach the volumes of one more pod.
func (on *OpenNode) Attaching(p *model.Pod) bitset.Set {
	out := bitset.New(on.Template.Columns.Len())
	for column := range on.Mask.All() {
		if on.volumes.Allows(p.Attachments(), on.Template.Columns.Types[on.Template.Columns.Owner[column]].Attachable) {
			out.Add(column)
		}
	}
	return out
}
