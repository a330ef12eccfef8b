package aws

import (
	"time"

	"github.com/karpenter-anew/karpenter/cloud/aws/health"
	"github.com/karpenter-anew/karpenter/cloud/aws/interruption"
	"github.com/karpenter-anew/karpenter/cloud/aws/upkeep"
)

// watches are the jobs that follow what happens to instances.
func (e *ensemble) watches() []upkeep.Job {
	p, outlets := e.provider, e.settings.Outlets
	responder := &interruption.Responder{
		Client: e.client, Clock: p.Clock, Manages: e.manages, Fresh: p.Fresh, Recorder: outlets.Recorder, Metrics: outlets.Metrics,
		Shortages: p.Shortages, Reservations: p.Reservations,
	}
	poll := &health.Poll{EC2: e.statuses, Client: e.client, Manages: e.manages, Answer: responder.Answer, Clock: p.Clock, Metrics: e.metrics}
	out := []upkeep.Job{{Name: "interruption.instancestatus", Every: upkeep.Always(time.Minute), Run: poll.Look}}
	if e.queues != nil {
		queue := &interruption.Queue{API: e.queues, Name: e.settings.InterruptionQueue, Answer: responder.Answer, Clock: p.Clock, Metrics: e.metrics}
		out = append(out, upkeep.Job{Name: "interruption", Every: upkeep.Always(0), Run: queue.Poll})
	}
	for i := range out {
		out[i].Clock = p.Clock
	}
	return out
}
