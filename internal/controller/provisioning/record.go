package provisioning

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// record tracks the decision for each unschedulable pod, and observes how long the first decision took. Pods of
// nodes being deleted do not wait, and virtual pods are not counted.
func (p *Provisioner) record(in input, plan solve.Plan) {
	now := p.Clock.Now()
	note := func(pods []*model.Pod, track func(uid string, now time.Time) (time.Duration, bool)) {
		for _, pod := range pods {
			if pod.Node != "" || pod.Virtual {
				continue
			}
			if waited, first := track(pod.UID, now); first {
				p.Metrics.Pods.SchedulingDecisionDuration.Observe(waited.Seconds())
			}
		}
	}
	placed := func(healthy bool) func(string, time.Time) (time.Duration, bool) {
		return func(uid string, now time.Time) (time.Duration, bool) {
			return p.PodLatency.RecordPlacement(uid, healthy, now)
		}
	}
	note(in.rejected, p.PodLatency.RecordUnschedulable)
	for _, r := range plan.Unschedulable {
		note(r.Pods, p.PodLatency.RecordUnschedulable)
	}
	for _, at := range plan.Placements {
		note(at.Pods, placed(!at.Node.Managed || healthy(in.pools[at.Node.Pool])))
	}
	for _, c := range plan.NodeClaims {
		note(c.Pods, placed(healthy(in.pools[c.Pool])))
	}
}

// healthy reports whether nodes of the pool are known to register.
func healthy(pool *v1.NodePool) bool {
	return pool != nil && condition.Status(pool, v1.ConditionTypeNodeRegistrationHealthy) == "True"
}

// podHandler triggers a pass for unschedulable pods, and drops deleted ones.
func (p *Provisioner) podHandler() toolscache.ResourceEventHandlerFuncs {
	handler := onChange(p.onPod)
	handler.UpdateFunc = func(before, now any) {
		was, isPod := before.(*corev1.Pod)
		is, stillPod := now.(*corev1.Pod)
		if !isPod || !stillPod {
			return
		}
		if was.UID != is.UID { // the watch missed that one was deleted and another created with its name
			p.PodLatency.Forget(string(was.UID))
		}
		p.onPod(is)
	}
	handler.DeleteFunc = func(o any) {
		if late, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = late.Obj
		}
		if pod, ok := o.(*corev1.Pod); ok {
			p.PodLatency.Forget(string(pod.UID))
		}
	}
	return handler
}
