package repair

import "time"

// rankPeriod is how long a node waits until it is as urgent as one that is due now with the next higher priority.
const rankPeriod = 30 * time.Minute

// Health is what the repair of a node depends on. Its zero value is a healthy node.
type Health struct {
	// Matches are the policies that match the conditions of the node, whether or not their toleration has passed. The list is never
	// changed.
	Matches []Match
	// Rebooted is when the last reboot of the node by a NodeClaim ended, in nanoseconds since the epoch; 0 for none.
	Rebooted int64
}

// Decision is what has to be done for an unhealthy node.
type Decision struct {
	Action Action
	// Governing is the match that the action is for, and EligibleAt when its toleration ended, in nanoseconds since the epoch.
	Governing  Match
	EligibleAt int64
	// GracePeriod limits the drain; nil for no limit but that of the NodeClaim. GracePeriodFrom is the type of the condition whose
	// policy sets it.
	GracePeriod     *time.Duration
	GracePeriodFrom string
	// Score orders nodes, highest first.
	Score float64
	// Escalated is set when the node is replaced because reboots have not helped.
	Escalated bool
}

// Decide merges the matches whose toleration has passed at now, in nanoseconds since the epoch. due is false when there is none.
//
// The most disruptive action wins, and among its policies the one with the highest priority, then the one that has been due the
// longest. The shortest bound counts, whichever action it belongs to. The score is the highest rank of a priority, and one more
// for each rankPeriod since the match became due, so that no node waits forever behind more urgent ones.
func (h Health) Decide(now int64) (d Decision, due bool) {
	var bound Match
	for _, m := range h.Matches {
		at := m.EligibleAt(h.Rebooted)
		if at > now {
			continue
		}
		score := float64(m.Rule.Rank) + float64(now-at)/float64(rankPeriod)
		if !due || score > d.Score {
			d.Score = score
		}
		switch {
		case !due, m.Rule.Action == Replace && d.Action == Reboot,
			m.Rule.Action == d.Action && m.compareUrgency(d.Governing, h.Rebooted) < 0:
			d.Action, d.Governing, d.EligibleAt = m.Rule.Action, m, at
		}
		due = true
		if grace := m.Rule.GracePeriod; grace != nil {
			if d.GracePeriod == nil || *grace < *d.GracePeriod || *grace == *d.GracePeriod && m.compareAge(bound, h.Rebooted) < 0 {
				d.GracePeriod, d.GracePeriodFrom, bound = grace, m.Condition.Type, m
			}
		}
	}
	return d, due
}

// Nodes counts the nodes of a pool.
type Nodes struct {
	// All are the nodes with the label of the pool, whatever their state or owner; Unhealthy are those of them with a condition that a
	// policy covers, whatever its reason and age.
	All, Unhealthy int
}

// Add counts one more node, or one less with by -1.
func (n Nodes) Add(unhealthy bool, by int) Nodes {
	n.All += by
	if unhealthy {
		n.Unhealthy += by
	}
	return n
}

// TooMany reports whether so many nodes are unhealthy that the cause is more likely elsewhere: more than a fifth, rounded up. One of up
// to five is never too many.
func (n Nodes) TooMany() bool { return n.Unhealthy > (n.All+4)/5 }
