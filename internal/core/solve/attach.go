package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// attachments are the volumes attached to one node that exists, for its bound pods and for those placed in this run.
//
// Most nodes are never asked about volumes, so what bound pods use is counted with the first question.
type attachments struct {
	node *model.Node
	used *volume.Attached
}

// fits is how many of pods, in order, can be added before one of them brings a volume of a driver that is at its limit.
// Pods that share a claim count it once, and only drivers that get a new volume can refuse.
func (a *attachments) fits(pods []*model.Pod) int {
	if len(a.node.Attachable) == 0 {
		return len(pods)
	}
	var with volume.Attached
	cloned := false
	for i, p := range pods {
		if len(p.Attachments) == 0 {
			continue
		}
		if !cloned {
			with, cloned = a.count().Clone(), true
		}
		if !with.Allows(p.Attachments, a.node.Attachable) {
			return i
		}
		with.Add(p.Attachments)
	}
	return len(pods)
}

// add attaches the volumes of pods.
func (a *attachments) add(pods []*model.Pod) {
	if len(a.node.Attachable) == 0 {
		return
	}
	for _, p := range pods {
		if len(p.Attachments) > 0 {
			a.count().Add(p.Attachments)
		}
	}
}

// count is what is attached now.
func (a *attachments) count() *volume.Attached {
	if a.used == nil {
		a.used = &volume.Attached{}
		for _, p := range a.node.Pods {
			a.used.Add(p.Attachments)
		}
	}
	return a.used
}
