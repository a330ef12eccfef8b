package provisioning

import (
	"slices"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
	"github.com/karpenter-anew/karpenter/internal/options"
)

const (
	// warnAfter is how long a pod's preferences are not worth another line.
	warnAfter = 24 * time.Hour
	// warned is how many pods such a line names.
	maxWarned = 10
)

// warn logs which pending pods have preferences that spread them over more nodes than they need: as long as preferences are
// respected, their nodes cannot be consolidated. Source: scheduling specification, consolidation warnings.
func (p *Provisioner) warnOfPreferences(pods []*model.Pod) {
	if p.Scheduling.PreferencePolicy == options.PreferenceIgnore {
		return
	}
	p.warnOfPods("pod(s) have a preferred Anti-Affinity which can prevent consolidation", pods, func(s *model.Shape) bool {
		return slices.ContainsFunc(s.Affinities, func(a topology.Affinity) bool { return a.Anti && !a.Required() })
	})
	p.warnOfPods("pod(s) have a preferred TopologySpreadConstraint which can prevent consolidation", pods, func(s *model.Shape) bool {
		return slices.ContainsFunc(s.Spreads, func(c topology.Spread) bool { return c.Soft })
	})
}

// warnOf logs one line about the pods that have a trait, unless that was said of them not long ago.
func (p *Provisioner) warnOfPods(message string, pods []*model.Pod, trait func(*model.Shape) bool) {
	var fresh []*model.Pod
	for _, pod := range pods {
		if pod.Node != "" || pod.Virtual || !trait(pod.Shape) {
			continue
		}
		if _, said := p.warned.Get(pod.UID + message); !said {
			p.warned.Set(pod.UID+message, true)
			fresh = append(fresh, pod)
		}
	}
	if len(fresh) > 0 {
		p.Log.Info(message, "pods", listing(ids(fresh[:min(len(fresh), maxWarned)]), len(fresh)))
	}
}
