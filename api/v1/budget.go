package v1

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// NoDisruptionLimit is the allowance of a pool that no budget limits.
const NoDisruptionLimit = math.MaxInt32

// AllowedDisruptions is how many of the pool's nodes may be disrupting at the same time for a reason: the smallest
// allowance among the budgets that apply, or NoDisruptionLimit when none does. Nodes already disrupting have to be
// subtracted by the caller. One budget that cannot be evaluated, for whatever reason it is meant, closes the whole
// pool: the result is then 0 with an error that names every such budget.
//
// Source: spec API, NodePool, budget semantics.
func (n *NodePool) AllowedDisruptions(now time.Time, nodes int, reason DisruptionReason) (int, error) {
	smallest := NoDisruptionLimit
	var errs []error
	for i := range n.Spec.Disruption.Budgets {
		budget := &n.Spec.Disruption.Budgets[i]
		allowed, err := budget.Allowed(now, nodes)
		if err != nil {
			errs = append(errs, fmt.Errorf("spec.disruption.budgets[%d] of nodepool %q: %w", i, n.Name, err))
			continue
		}
		if budget.AppliesTo(reason) {
			smallest = min(smallest, allowed)
		}
	}
	if len(errs) > 0 {
		return 0, errors.Join(errs...)
	}
	return smallest, nil
}

// Allowed is how many of the given number of nodes may be disrupting under this budget alone; NoDisruptionLimit outside
// its window. It is 0 whenever there is an error.
func (b *Budget) Allowed(now time.Time, nodes int) (int, error) {
	active, err := b.Active(now)
	if err != nil {
		return 0, err
	}
	value, err := b.value(nodes)
	if err != nil {
		return 0, err
	}
	if !active {
		return NoDisruptionLimit, nil
	}
	return value, nil
}

// Active reports whether the budget is in force: always without a schedule, otherwise from each hit of the schedule
// until its duration has passed.
func (b *Budget) Active(now time.Time) (bool, error) {
	if b.Schedule == nil && b.Duration == nil {
		return true, nil
	}
	schedule, err := b.windows()
	if err != nil {
		return false, err
	}
	// A window that opened at the very start of the interval has just closed, so that hits are looked for strictly
	// after it. A schedule without any hit yields the zero time.
	hit := schedule.Next(now.UTC().Add(-b.Duration.Duration))
	return !hit.IsZero() && !hit.After(now), nil
}

// windows is when the windows of the budget open.
func (b *Budget) windows() (cron.Schedule, error) {
	if b.Schedule == nil || b.Duration == nil {
		return nil, errors.New("schedule and duration must be set together: set both, or neither for a budget that is always in force")
	}
	// The parser would let a schedule choose its own time zone; the prefix makes a second choice a syntax error.
	schedule, err := cron.ParseStandard("TZ=UTC " + *b.Schedule)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: want five cron fields or a descriptor such as @daily: %w", *b.Schedule, err)
	}
	return schedule, nil
}

// mostWindows is how many windows that overlap are followed.
const mostWindows = 10_000

// Changes is when the budget comes into force next, or, if it is in force, when it ends; the zero time for never, and where
// windows overlap for too long to tell.
func (b *Budget) Changes(now time.Time) (time.Time, error) {
	if b.Schedule == nil && b.Duration == nil {
		return time.Time{}, nil
	}
	schedule, err := b.windows()
	if err != nil {
		return time.Time{}, err
	}
	hit := schedule.Next(now.UTC().Add(-b.Duration.Duration))
	if hit.IsZero() || hit.After(now) {
		return hit, nil
	}
	for range mostWindows {
		end := hit.Add(b.Duration.Duration)
		next := schedule.Next(hit)
		if next.IsZero() || next.After(end) {
			return end, nil
		}
		hit = next
	}
	return time.Time{}, nil
}

// BudgetsChange is when a window of the NodePool's budgets begins or ends next, after now; zero for never. Budgets that cannot be read do not count.
func (n *NodePool) BudgetsChange(now time.Time) time.Time {
	var next time.Time
	for i := range n.Spec.Disruption.Budgets {
		at, err := n.Spec.Disruption.Budgets[i].Changes(now)
		if err == nil && at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// value is the budget's number, or its percentage of the nodes rounded up.
func (b *Budget) value(nodes int) (int, error) {
	digits, percent := strings.CutSuffix(b.Nodes, "%")
	number, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("nodes %q: want a number such as \"5\" or a percentage such as \"10%%\": %w", b.Nodes, err)
	}
	if !percent {
		return int(number), nil
	}
	if number > 100 {
		return 0, fmt.Errorf("nodes %q: a percentage is at most 100%%", b.Nodes)
	}
	return (max(nodes, 0)*int(number) + 99) / 100, nil
}

// AppliesTo reports whether the budget covers a reason: an absent list covers all, an empty one none.
func (b *Budget) AppliesTo(reason DisruptionReason) bool {
	return b.Reasons == nil || slices.Contains(b.Reasons, reason)
}
