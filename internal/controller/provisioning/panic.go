package provisioning

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/karpenter-anew/karpenter/internal/controller/recovery"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// pass is passOnce; a panic is an error: a pod that makes the solver panic must not stop the process, which also drains nodes and
// handles interruptions. After repeated panics the newest pods are left out, until those are found that cause them.
func (p *Provisioner) pass(ctx context.Context) error {
	p.solving, p.solved = nil, nil
	err := recovery.Call(func() error { return p.passOnce(ctx) })
	var panicked *recovery.Panic
	if !errors.As(err, &panicked) {
		if err == nil || len(p.solved) > 0 {
			p.Quarantine.Succeeded(items(p.solved))
		}
		return err
	}
	pods := items(p.solving)
	p.Metrics.Scheduler.Panics.WithLabelValues(name).Inc()
	if left := p.Quarantine.Panicked(pods, p.Clock.Now()); len(left) > 0 {
		p.Log.Info("leaving pods out of provisioning after a panic", logfield.PodCount(len(left)))
	}
	return err
}

// withoutQuarantined returns the pods without those that passes leave out because of panics. Known causes of panics get an event.
func (p *Provisioner) withoutQuarantined(pods []*model.Pod, now time.Time) (kept []*model.Pod) {
	exists := make(map[string]bool, len(pods))
	for _, pod := range pods {
		exists[pod.UID] = true
	}
	p.Quarantine.Keep(func(id string) bool { return exists[id] })
	out := p.Quarantine.Out(now)
	if len(out) == 0 {
		return pods
	}
	for _, pod := range pods {
		until, left := out[pod.UID]
		switch {
		case !left:
			kept = append(kept, pod)
		case !until.IsZero() && !pod.Virtual:
			p.Recorder.Publish(observe.FailedScheduling(reference(pod), fmt.Errorf(
				"the scheduler panicked with this pod and leaves it out until %s, see the log of the controller", until.UTC().Format(time.RFC3339))))
		}
	}
	return kept
}

func items(pods []*model.Pod) []recovery.Item {
	out := make([]recovery.Item, len(pods))
	for i, pod := range pods {
		out[i] = recovery.Item{ID: pod.UID, Created: pod.Created}
	}
	return out
}
