package disrupt

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// minSpotToSpotTypes is how many cheaper instance types a spot node needs to be replaced by one of them. Launching with exactly
// that many keeps a node from being replaced again for a slightly better price.
const minSpotToSpotTypes = 15

// Consolidate decides about a set of nodes: delete them, or replace them by one that costs less. An obstacle
// is why neither is possible; it applies to the whole set.
//
// Source: disruption specification, evaluating one candidate set.
func (sim *Simulator) Consolidate(set []Candidate, kind string) (Command, *Obstacle) {
	return sim.consolidate(set, kind, nil)
}

// consolidate is Consolidate with pods, by UID, that are tried before all others.
func (sim *Simulator) consolidate(set []Candidate, kind string, first map[string]bool) (Command, *Obstacle) {
	t := sim.simulate(set, solve.Choices{First: first})
	command := Command{Reason: Underutilized, Type: kind, Candidates: set, First: first}
	if len(t.Failed) > 0 {
		return Command{}, &Obstacle{Code: NoOtherPlace, Node: set[0].Node, Detail: sim.describeUnplaced(t.Failed), Passes: t.passes()}
	}
	command.Placements = sim.placements(t)
	switch len(t.Plan.NodeClaims) {
	case 0:
		return command, nil
	case 1:
		if o := sim.poolInBackoff(t.Plan.NodeClaims); o != nil {
			o.Node = set[0].Node
			return Command{}, o
		}
		claim, o := sim.replacement(set, t.Plan.NodeClaims[0])
		if o != nil {
			o.Node, o.AlsoFor = set[0].Node, sim.others(t.Plan.NodeClaims[0])
			return Command{}, o
		}
		command.Replacements = []solve.NodeClaim{claim}
		return command, nil
	}
	return Command{}, &Obstacle{Code: SeveralReplacements, Node: set[0].Node, Count: len(t.Plan.NodeClaims)}
}

// poolInBackoff is the obstacle that a NodeClaim would be launched from a pool whose replacements failed recently.
func (sim *Simulator) poolInBackoff(claims []solve.NodeClaim) *Obstacle {
	for _, claim := range claims {
		if sim.input.Pools[claim.Pool].InBackoff {
			return &Obstacle{Code: PoolInBackoff, Pool: claim.Pool}
		}
	}
	return nil
}

// replacement restricts the launch for the pods of the candidates to instance types that are cheaper than the candidates, whichever
// offering the launch gets.
func (sim *Simulator) replacement(set []Candidate, claim solve.NodeClaim) (solve.NodeClaim, *Obstacle) {
	paid, allSpot := 0.0, true
	for _, c := range set {
		paid += c.Price
		allSpot = allSpot && c.Node.Labels[capacityTypeKey] == spot
	}
	reqs, list := claim.Requirements, sim.typesOf(claim)
	offered := quotes(list, reqs)
	if allSpot && offersCapacityType(list, reqs, spot) {
		return sim.spotToSpot(set, claim, paid)
	}
	left, o := sim.affordable(offered, reqs, paid)
	if o != nil {
		return solve.NodeClaim{}, o
	}
	if offersCapacityType(typesIn(left), reqs, spot) && offersCapacityType(typesIn(left), reqs, onDemand) {
		// Without spot capacity the launch must fail rather than fall back to a more expensive on-demand node.
		if asSpot := withCapacityType(reqs, spot); unmetMinValues(cheaperThan(quotes(typesIn(left), asSpot), paid), asSpot) == "" {
			reqs = asSpot
			left = cheaperThan(quotes(typesIn(left), reqs), paid)
		} else {
			reqs = withCapacityType(reqs, onDemand)
			if left, o = sim.affordable(quotes(typesIn(left), reqs), reqs, paid); o != nil {
				return solve.NodeClaim{}, o
			}
		}
	}
	if len(set) > 1 {
		if left, o = sameType(set, left, reqs); o != nil {
			return solve.NodeClaim{}, o
		}
	}
	return restrictClaim(claim, left, reqs), nil
}

// spotToSpot is replacement where all nodes are spot nodes, and the new one may be one.
//
// Source: disruption specification, spot to spot.
func (sim *Simulator) spotToSpot(set []Candidate, claim solve.NodeClaim, paid float64) (solve.NodeClaim, *Obstacle) {
	if !sim.input.SpotToSpot {
		return solve.NodeClaim{}, &Obstacle{Code: spotToSpotOff}
	}
	reqs := withCapacityType(claim.Requirements, spot)
	left, o := sim.affordable(quotes(sim.typesOf(claim), reqs), reqs, paid)
	if o != nil {
		return solve.NodeClaim{}, o
	}
	if len(set) > 1 {
		if left, o = sameType(set, left, reqs); o != nil {
			return solve.NodeClaim{}, o
		}
		return restrictClaim(claim, left, reqs), nil
	}
	if len(left) < minSpotToSpotTypes {
		return solve.NodeClaim{}, &Obstacle{Code: spotToSpotInflexible, Count: len(left)}
	}
	return restrictClaim(claim, left[:min(max(minSpotToSpotTypes, typesForMinValues(left, reqs)), len(left))], reqs), nil
}

// affordable keeps the instance types that are cheaper than the present cost. minValues are never relaxed.
func (sim *Simulator) affordable(offered []quote, reqs requirement.Set, paid float64) ([]quote, *Obstacle) {
	left := cheaperThan(offered, paid)
	if len(left) == 0 {
		o := &Obstacle{Code: NotCheaper, Paid: paid, Least: math.Inf(1)}
		for _, q := range offered {
			o.Least = min(o.Least, q.worst)
		}
		return nil, o
	}
	if text := unmetMinValues(left, reqs); text != "" {
		return nil, &Obstacle{Code: tooFewValues, Detail: text}
	}
	return left, nil
}

// sameType drops the instance types that are not cheaper than a node of the set that is of such a type: it would be better
// to keep that node and delete the others only.
func sameType(set []Candidate, left []quote, reqs requirement.Set) ([]quote, *Obstacle) {
	limit := math.Inf(1)
	for _, c := range set {
		name := c.Node.Labels[instanceTypeKey]
		if slices.ContainsFunc(left, func(q quote) bool { return q.it.Name == name }) {
			limit = min(limit, c.Price)
		}
	}
	kept := cheaperThan(left, limit)
	if len(kept) == 0 {
		return nil, &Obstacle{Code: NotCheaper, Paid: limit, Least: left[0].worst}
	}
	if text := unmetMinValues(kept, reqs); text != "" {
		return nil, &Obstacle{Code: tooFewValues, Detail: text}
	}
	return kept, nil
}

// offersCapacityType reports whether a launch under reqs could be of a capacity type.
func offersCapacityType(list []*catalog.InstanceType, reqs requirement.Set, kind string) bool {
	if !reqs.Get(capacityTypeKey).Has(kind) {
		return false
	}
	only := withCapacityType(reqs, kind)
	return slices.ContainsFunc(list, func(it *catalog.InstanceType) bool { return !math.IsInf(quoteOf(it, only).lowest, 1) })
}

func typesIn(list []quote) []*catalog.InstanceType {
	out := make([]*catalog.InstanceType, len(list))
	for i, q := range list {
		out[i] = q.it
	}
	return out
}

// filterConsolidation is why multi-node and single-node consolidation do not take a node, in the order of the tests.
//
// Source: disruption specification, candidate filter.
func filterConsolidation(c Candidate) Code {
	labels := c.Node.Labels
	switch {
	case c.Pool.Static:
		return Static
	case c.Pool.NoInstanceTypes:
		return NoTypes
	case !c.TypeKnown:
		return UnknownType
	case labels[capacityTypeKey] == "":
		return NoCapacityType
	case labels[zoneKey] == "":
		return noZone
	case c.Pool.ConsolidationDisabled:
		return ConsolidationOff
	case len(c.PodsToMove) == 0:
		return AlreadyEmpty
	case c.SplitsGroup:
		return splitsPodGroup
	case c.Pool.Policy == whenEmpty:
		return EmptyOnly
	case !c.Node.Disruption.Consolidatable:
		return NotConsolidatable
	case c.InBackoff:
		return NodeInBackoff
	}
	return ""
}
