package cluster

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// PodGroups is the part of a Store that holds PodGroups. Without Track it ignores all events, and pods have no group.
//
// Source: specification of version 1.15, groups.
type PodGroups struct {
	store   *Store
	tracked bool
	groups  model.Editor[*model.PodGroup] // by namespace/name
	// unmarked are the UIDs of pods that are neither bound nor marked as unschedulable, by group; groupOf is the reverse.
	unmarked map[string]map[string]bool
	groupOf  map[string]string
}

// Track adds PodGroups to the cluster state. It has to be called before any event is applied.
func (g *PodGroups) Track() {
	g.store.mu.Lock()
	defer g.store.mu.Unlock()
	g.tracked, g.store.changed = true, true
	g.unmarked, g.groupOf = map[string]map[string]bool{}, map[string]string{}
}

// Split reports whether some pods of a group are neither bound nor marked as unschedulable: kube-scheduler has not considered them yet.
func (g *PodGroups) Split(group string) bool {
	g.store.mu.Lock()
	defer g.store.mu.Unlock()
	return len(g.unmarked[group]) > 0
}

// see records a live pod, or with nil that there is none with the UID. waiting reports whether it is marked as unschedulable.
func (g *PodGroups) see(uid string, p *model.Pod, waiting bool) {
	if !g.tracked {
		return
	}
	if before, known := g.groupOf[uid]; known {
		delete(g.groupOf, uid)
		if delete(g.unmarked[before], uid); len(g.unmarked[before]) == 0 {
			delete(g.unmarked, before)
		}
	}
	if p == nil || p.Membership == nil || p.Node != "" || waiting || p.Terminating {
		return
	}
	group := p.Membership.Group
	if g.unmarked[group] == nil {
		g.unmarked[group] = map[string]bool{}
	}
	g.unmarked[group][uid], g.groupOf[uid] = true, group
}

// publish returns the current groups.
func (g *PodGroups) publish() *model.Index[*model.PodGroup] {
	if !g.tracked {
		return nil
	}
	groups := g.groups.Publish()
	return &groups
}

// Update applies the current version of a PodGroup.
func (g *PodGroups) Update(group *schedulingv1beta1.PodGroup) {
	translated := translate.PodGroup(group)
	g.store.mu.Lock()
	defer g.store.mu.Unlock()
	id := translated.ID()
	if before, known := g.groups.Get(id); !g.tracked || known && *before == *translated {
		return
	}
	g.groups.Put(id, translated)
	g.store.changed = true
}

// Delete removes a PodGroup.
func (g *PodGroups) Delete(namespace, name string) {
	g.store.mu.Lock()
	defer g.store.mu.Unlock()
	if id := namespace + "/" + name; g.tracked {
		g.groups.Delete(id)
		g.store.changed = true
	}
}

// kinds are the kinds of objects that this part watches.
func (g *PodGroups) kinds() []kind {
	return []kind{
		{&schedulingv1beta1.PodGroup{}, apply(g.Update), forget(func(o *schedulingv1beta1.PodGroup) { g.Delete(o.Namespace, o.Name) })},
	}
}
