package cluster

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/repair"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// Health is the part of a Store that compares the conditions of Nodes with repair policies, and counts the unhealthy Nodes of each
// NodePool. Both are updated only when the health of a Node changes. Without policies it keeps nothing.
//
// Source: behavior specification, repair policies.
type Health struct {
	store    *Store
	policies *repair.Policies
	log      *slog.Logger
	// pools are the Nodes with the label of each NodePool. published is a copy that snapshots share; nil when it is outdated.
	pools, published map[string]repair.Nodes
}

// nodeHealth is what Health keeps of a Node.
type nodeHealth struct {
	// pool is the NodePool that counts the Node; empty for none.
	pool      string
	unhealthy bool
	// matches are never changed.
	matches []repair.Match
}

// Use sets the policies, and the log for the matches of Nodes. It must be called before the first Node is applied.
func (h *Health) Use(policies *repair.Policies, log *slog.Logger) {
	h.policies, h.log, h.pools = policies, log, map[string]repair.Nodes{}
}

// Enabled reports whether there are policies.
func (h *Health) Enabled() bool { return h.policies != nil }

// update replaces what is kept of a Node, before the entry gets the present version; nil for a Node that is gone. It returns the
// matches before and now, if they may differ.
func (h *Health) update(e *entry, node *corev1.Node) (before, now []repair.Match) {
	if h.policies == nil {
		return nil, nil
	}
	was := e.health
	var is nodeHealth
	if node != nil {
		is.pool = node.Labels[v1.NodePoolLabelKey]
		if e.node != nil && is.pool == was.pool && e.node.UID == node.UID && translate.SameHealth(e.node, node) {
			return nil, nil
		}
		is.matches, is.unhealthy = translate.RepairMatches(h.policies, node)
	}
	h.count(was, -1)
	h.count(is, 1)
	e.health = is
	return was.matches, is.matches
}

func (h *Health) count(n nodeHealth, by int) {
	if n.pool == "" {
		return
	}
	h.published = nil
	if h.pools[n.pool] = h.pools[n.pool].Add(n.unhealthy, by); h.pools[n.pool].All == 0 {
		delete(h.pools, n.pool)
	}
}

// publish returns the counts of the pools, which are never changed afterwards; nil without policies.
func (h *Health) publish() map[string]repair.Nodes {
	if h.policies != nil && h.published == nil {
		h.published = maps.Clone(h.pools)
	}
	return h.published
}

// report logs the policies that match a Node now and did not before.
func (h *Health) report(node string, before, now []repair.Match) {
	if len(before) > 0 && len(now) == 0 {
		h.log.Debug("no longer matches any repair policy", logfield.Node(node))
	}
	for _, m := range now {
		if slices.Contains(before, m) {
			continue
		}
		args := []any{
			logfield.Node(node), logfield.Condition(m.Condition.Type), logfield.ConditionStatus(m.Condition.Status),
			logfield.Reason(m.Condition.Reason), logfield.ReasonRegex(m.Rule.ReasonRegex), logfield.Fallback(m.Rule.Fallback),
			logfield.Action(string(m.Rule.Action)), logfield.EligibleAt(time.Unix(0, m.EligibleAt(0)).UTC()),
		}
		if grace := m.Rule.GracePeriod; grace != nil {
			args = append(args, logfield.TerminationGracePeriod(*grace))
		}
		h.log.Debug("matched repair policy", args...)
	}
}
