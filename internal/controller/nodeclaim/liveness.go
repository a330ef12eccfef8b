package nodeclaim

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// enforceTimeouts deletes a NodeClaim that does not launch or register in time.
func (l *Lifecycle) enforceTimeouts(ctx context.Context, claim *v1.NodeClaim) outcome {
	set := condition.For(claim, l.Clock.Now())
	if set.IsTrue(v1.ConditionTypeRegistered) {
		return outcome{}
	}
	expired, wait := overdue(set.Get(v1.ConditionTypeLaunched), set.Get(v1.ConditionTypeRegistered), l.Cloud.LaunchTimeout, l.paced.Now())
	if expired == (timeout{}) {
		return outcome{after: wait}
	}
	if err := l.health.Failed(ctx, claim); err != nil {
		result, err := requeue.OnConflict(err)
		if err != nil {
			return outcome{err: fmt.Errorf("recording %s of nodeclaim %q: %w", expired.reason, claim.Name, err)}
		}
		if result == requeue.Soon() {
			return outcome{again: true}
		}
	}
	observe.Log(ctx).Debug("deleting nodeclaim that timed out", logfield.Timeout(expired.limit), logfield.Reason(expired.reason))
	return l.deleteFailed(ctx, claim, expired.reason)
}

// timeout is a time limit of a NodeClaim.
type timeout struct {
	// reason is the value of the metric's reason label.
	reason string
	limit  time.Duration
}

// overdue returns the first limit that the NodeClaim exceeds at now, or else the time until the next one. A NodeClaim that exceeds
// both has the launch timeout.
func overdue(launched, registered *metav1.Condition, launchLimit time.Duration, now time.Time) (timeout, time.Duration) {
	wait := time.Duration(0)
	for _, limit := range []struct {
		timeout
		since time.Time
		met   bool
	}{
		{timeout{"launch_timeout", launchLimit}, launched.LastTransitionTime.Time, launched.Status == metav1.ConditionTrue},
		{timeout{"registration_timeout", cloud.RegistrationTimeout}, registered.LastTransitionTime.Time, registered.Status == metav1.ConditionTrue},
	} {
		if limit.met {
			continue
		}
		left := limit.since.Add(limit.limit).Sub(now)
		if left <= 0 {
			return limit.timeout, 0
		}
		wait = sooner(wait, left)
	}
	return timeout{}, wait
}
