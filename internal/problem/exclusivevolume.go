package problem

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// withVolumesFree are the pending pods, sorted by UID. A pod is rejected if a pod on a node, or another pending pod before it,
// uses a volume of it that only one pod may use (access mode ReadWriteOncePod): kube-scheduler binds it to no node until that
// pod is gone. Of several pending pods, the one that kube-scheduler tries first is not rejected.
// Source: scheduling specification, appendix C, volumes.
func withVolumesFree(snapshot *model.Snapshot) []*model.Pod {
	pending := snapshot.Pending.Sorted()
	var waiting []*model.Pod
	for _, p := range pending {
		if p.Rejected == "" && len(p.ExclusiveVolumes()) > 0 {
			waiting = append(waiting, p)
		}
	}
	if len(waiting) == 0 {
		return pending
	}
	slices.SortFunc(waiting, func(a, b *model.Pod) int {
		return cmp.Or(cmp.Compare(b.Shape.Priority, a.Shape.Priority), cmp.Compare(a.Created, b.Created), cmp.Compare(a.UID, b.UID))
	})
	users := volumeUsers(snapshot)
	rejected := map[string]*model.Pod{} // by UID
	for _, p := range waiting {
		if why := inUse(p, users); why != "" {
			out := *p
			out.Rejected = why
			rejected[p.UID] = &out
			continue
		}
		for _, claim := range p.ExclusiveVolumes() {
			users[claim] = p
		}
	}
	out := slices.Clone(pending)
	for i, p := range out {
		if r := rejected[p.UID]; r != nil {
			out[i] = r
		}
	}
	return out
}

// volumeUsers are the pods on nodes by the volumes that only they may use.
func volumeUsers(snapshot *model.Snapshot) map[string]*model.Pod {
	users := map[string]*model.Pod{}
	for _, n := range snapshot.Nodes.Sorted() {
		for _, p := range n.Pods {
			for _, claim := range p.ExclusiveVolumes() {
				users[claim] = p
			}
		}
	}
	return users
}

// inUse is why a pod has to wait for a volume; empty if it does not.
func inUse(p *model.Pod, users map[string]*model.Pod) string {
	for _, claim := range p.ExclusiveVolumes() {
		if user := users[claim]; user != nil {
			return fmt.Sprintf("persistentvolumeclaim with access mode ReadWriteOncePod is in use by another pod (PersistentVolumeClaim=%s, Pod=%s)", claim, user.ID())
		}
	}
	return ""
}
