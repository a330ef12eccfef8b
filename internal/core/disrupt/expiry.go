package disrupt

import (
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// expiry replaces nodes that have expired softly: with a replacement first and under budgets, before the end of their lives, at which they
// would be deleted whatever their pods need. It proceeds as drift does, in the order in which nodes expired.
//
// Source: docs/operations-policy.md.
func expiry() Method {
	return Method{
		Name: "expiry", Reason: Expired, Class: Eventual, Simulates: ForReplacement, Search: InOrder, Timeout: searchTimeout,
		ReportsEvaluation: true, movesUnits: true, Filter: filterExpiry, Decide: expiring().replaceEach,
	}
}

// staticExpiry is expiry for pools with a fixed number of nodes, which are replaced one for one.
func staticExpiry() Method {
	return Method{
		Name: "static expiry", Reason: Expired, Class: Eventual, Search: ByBudget, ReportsEvaluation: true,
		Filter: func(c Candidate) Code { return expiring().filterStatic(c, notExpired) },
		Decide: expiring().replaceStatic,
	}
}

func expiring() cause {
	return cause{reason: Expired, noPlace: noPlaceToExpire, since: func(c Candidate) int64 { return c.SoftExpired }}
}

func filterExpiry(c Candidate) Code {
	switch {
	case c.Pool.Static:
		return Static
	case c.SoftExpired == 0 && (c.unit == nil || !c.unit.expired):
		return notExpired
	case c.InBackoff:
		return NodeInBackoff
	}
	return ""
}

// softExpired is when a node expired softly, in nanoseconds since the epoch; 0 if it has not.
func (w QualifyInput) softExpired(n *model.Node) int64 {
	soft := w.Pools[n.Pool].SoftExpiry
	if soft == nil {
		return 0
	}
	at, ends := soft.At(time.Unix(0, n.Disruption.Created), n.Disruption.ExpireAfter, n.ClaimName)
	if !ends || at.After(w.Now) {
		return 0
	}
	return at.UnixNano()
}
