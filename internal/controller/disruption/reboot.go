package disruption

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// A node is rebooted at most maxReboots times in rebootWindow; after that it is replaced.
const (
	maxReboots   = 2
	rebootWindow = 24 * time.Hour
)

// reboots counts the reboots of NodeClaims. It is safe for concurrent use. A restart of the process forgets them.
type reboots struct {
	mu sync.Mutex
	// at are the times of reboots in the window, by the UID of the NodeClaim.
	at map[types.UID][]time.Time
}

// take counts a reboot, unless there have been too many.
func (r *reboots) take(claim types.UID, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recent(claim, now) >= maxReboots {
		return false
	}
	r.at[claim] = append(r.at[claim], now)
	return true
}

// giveBack reverts the last take for a NodeClaim.
func (r *reboots) giveBack(claim types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.at[claim]); n > 0 {
		r.at[claim] = r.at[claim][:n-1]
	}
}

// recent is the number of reboots in the window. Earlier ones are forgotten.
func (r *reboots) recent(claim types.UID, now time.Time) int {
	left := slices.DeleteFunc(r.at[claim], func(at time.Time) bool { return now.Sub(at) >= rebootWindow })
	if len(left) == 0 {
		delete(r.at, claim)
		return 0
	}
	r.at[claim] = left
	return len(left)
}

// exhausted are the names of NodeClaims that must not be rebooted again now. Those that are gone are forgotten.
func (r *reboots) exhausted(claims map[string]*v1.NodeClaim, now time.Time) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.at) == 0 {
		return nil
	}
	out, known := map[string]bool{}, make(map[types.UID]bool, len(r.at))
	for name, claim := range claims {
		if _, rebooted := r.at[claim.UID]; !rebooted {
			continue
		}
		known[claim.UID] = true
		if r.recent(claim.UID, now) >= maxReboots {
			out[name] = true
		}
	}
	for uid := range r.at {
		if !known[uid] {
			delete(r.at, uid)
		}
	}
	return out
}

// reboot requests the reboot of the node of a command. The controller of reboots carries it out.
//
// Source: behavior specification, committing a reboot.
func (e *executor) reboot(ctx context.Context, cmd command) {
	candidate := cmd.plan.Candidates[0]
	requested, err := e.requestReboot(ctx, candidate)
	if err != nil {
		level := slog.LevelError
		if onlyConflicts(err) {
			level = slog.LevelInfo // another client writes the NodeClaim
		}
		e.Log.Log(ctx, level, "cannot request a reboot, leaving the node alone", logfield.CommandID(cmd.id), logfield.Node(candidate.Node.NodeName), logfield.Error(err))
		e.reports.outcome(cmd, ledger.CommandFailed, nil, err)
		e.backOff(cmd.plan.Candidates)
		return
	}
	if requested == nil {
		return
	}
	e.reports.starting(cmd)
	e.Log.Info("committed node reboot", logfield.CommandID(cmd.id), logfield.Node(candidate.Node.NodeName), logfield.NodeClaim(requested.Name))
	e.reports.started(cmd)
	e.Metrics.CountDisrupted(requested, label(disrupt.Unhealthy))
	e.Books.Disrupted(requested, label(disrupt.Unhealthy), cmd.id)
	e.reports.outcome(cmd, ledger.CommandSucceeded, nil, nil)
	e.Metrics.CountDisruptedPods(requested, label(disrupt.Unhealthy), len(candidate.PodsToMove))
	e.unhealthyDisrupted(candidate, requested)
}

// requestReboot writes the request to the NodeClaim and returns it; nil if the NodeClaim is gone, being deleted or rebooting, or has been
// rebooted too often.
func (e *executor) requestReboot(ctx context.Context, candidate disrupt.Candidate) (*v1.NodeClaim, error) {
	claim := &v1.NodeClaim{}
	if err := e.Client.Get(ctx, client.ObjectKey{Name: candidate.Node.ClaimName}, claim); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	now := e.Clock.Now()
	if !claim.DeletionTimestamp.IsZero() || condition.For(claim, now).IsTrue(v1.ConditionTypeRebooting) || !e.reboots.take(claim.UID, now) {
		return nil, nil //nolint:nilnil // nothing to do is no error
	}
	if err := e.writeReboot(ctx, candidate, claim, now); err != nil {
		e.reboots.giveBack(claim.UID)
		return nil, client.IgnoreNotFound(err)
	}
	e.Store.UpdateNodeClaim(claim)
	return claim, nil
}

// writeReboot writes the limit of the drain, or removes an earlier one, and then the request, so that the controller of reboots never
// sees a request with a limit that is not its own.
func (e *executor) writeReboot(ctx context.Context, candidate disrupt.Candidate, claim *v1.NodeClaim, now time.Time) error {
	grace := candidate.DrainLimit()
	if grace == nil && claim.Spec.TerminationGracePeriod != nil {
		grace = &claim.Spec.TerminationGracePeriod.Duration
	}
	stored := claim.DeepCopy()
	if grace == nil {
		delete(claim.Annotations, v1.RebootTerminationGracePeriodAnnotationKey)
	} else {
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[v1.RebootTerminationGracePeriodAnnotationKey] = grace.String()
	}
	_, had := stored.Annotations[v1.RebootTerminationGracePeriodAnnotationKey]
	if had != (grace != nil) || had && stored.Annotations[v1.RebootTerminationGracePeriodAnnotationKey] != grace.String() {
		if err := e.Client.Patch(ctx, claim, optimistic(stored)); err != nil {
			return fmt.Errorf("limiting the drain of nodeclaim %q before its reboot: %w", claim.Name, err)
		}
	}
	stored = claim.DeepCopy()
	governing := candidate.Repair.Governing.Condition
	set := condition.For(claim, now)
	set.TrueWithReason(v1.ConditionTypeDisruptionReason, string(disrupt.Unhealthy), string(disrupt.Unhealthy))
	set.TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, fmt.Sprintf("rebooting for %s/%s", governing.Type, governing.Reason))
	if err := e.Client.Status().Patch(ctx, claim, optimistic(stored)); err != nil {
		return fmt.Errorf("requesting the reboot of nodeclaim %q: %w", claim.Name, err)
	}
	return nil
}
