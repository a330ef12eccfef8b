package provisioning

import (
	"slices"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
)

const (
	// warnAfter is the period within which the preferences of a pod are logged once.
	warnAfter = 24 * time.Hour
	// maxWarned is the number of pods that a log line names.
	maxWarned = 10
)

// warnOfPreferences logs which pending pods have preferences that spread them over more nodes than they need: as long as preferences are
// respected, their nodes cannot be consolidated. Source: scheduling specification, consolidation warnings.
func (p *Provisioner) warnOfPreferences(pods []*model.Pod) {
	if p.Scheduling.PreferencePolicy == options.PreferenceIgnore {
		return
	}
	ignored := 0
	for _, pod := range pods {
		if pod.IgnoredPreferences != "" && pod.Node == "" && !pod.Virtual {
			ignored++
			p.Recorder.Publish(observe.PreferenceIgnored(reference(pod), pod.IgnoredPreferences))
		}
	}
	p.Metrics.Scheduler.IgnoredPreferencesPods.Set(float64(ignored))
	if p.Scheduling.PreferencePolicy == options.PreferenceEconomical {
		return // no node is kept for a preference
	}
	p.warnOfPods("pod(s) have a preferred Anti-Affinity which can prevent consolidation", pods, func(s *model.Shape) bool {
		return slices.ContainsFunc(s.Affinities, func(a topology.Affinity) bool { return a.Anti && !a.Required() })
	})
	p.warnOfPods("pod(s) have a preferred TopologySpreadConstraint which can prevent consolidation", pods, func(s *model.Shape) bool {
		return slices.ContainsFunc(s.Spreads, func(c topology.Spread) bool { return c.Soft })
	})
}

// warnOfPods logs one line about the pods that have a trait, unless they were logged recently.
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
		p.Log.Info(message, logfield.Pods(listing(ids(fresh[:min(len(fresh), maxWarned)]), len(fresh))))
	}
}
