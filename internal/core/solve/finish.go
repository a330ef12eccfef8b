package solve

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/reason"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Labels that a finished claim constrains on its own account.
const (
	instanceTypeKey = "node.kubernetes.io/instance-type"
	capacityTypeKey = "karpenter.sh/capacity-type"
)

// plan turns what the run did into a value.
func (s *solver) plan() Plan {
	var p Plan
	for _, t := range s.targets.list {
		if len(t.pods) > 0 {
			p.Placements = append(p.Placements, Placement{Node: t.node, Pods: t.pods})
		}
	}
	menus := menus{}
	for _, cl := range s.claims {
		s.pin(cl)
		done, unmet := s.finish(cl, menus)
		if len(unmet) > 0 {
			why := reason.Reason{Code: reason.MinValuesUnmet, Pool: cl.t.pool.Name, Keys: unmet, Truncated: true}
			p.Unschedulable = append(p.Unschedulable, Refusal{Pods: cl.pods(), Reasons: reason.Reasons{why}})
			continue
		}
		p.Claims = append(p.Claims, done)
	}
	p.PutOff, p.Undecided = s.putOff, s.left
	return p
}

// refusals says of every pod that was refused why. It is to be asked before claims are split: counts go by machine.
func (s *solver) refusals() []Refusal {
	out := make([]Refusal, 0, len(s.refused))
	for _, r := range s.refused {
		out = append(out, Refusal{Pods: r.pods, Reasons: s.why(r.class)})
	}
	return out
}

// finish completes a claim: daemons are added once, candidates are ordered by price and cut, and what the candidates imply
// is written into the requirements. Keys of which the cut leaves too few distinct values are returned instead, unless the
// demand may be lowered.
func (s *solver) finish(cl *claim, menus menus) (done Claim, unmet []string) {
	t, st := cl.t, cl.t.states[cl.state]
	menu := menus.of(cl)
	limit := s.problem.Options.maxInstanceTypes()
	if len(menu) > limit {
		menu = menu[:limit]
		left := columnsOf(menu, t.columns.len())
		if t.bestEffort {
			cl.lowered = cl.lower(st, left)
		}
		if unmet = cl.unmet(st, left); len(unmet) > 0 {
			return Claim{}, unmet
		}
	}
	names := make([]string, len(menu))
	var priced, resized bool
	for i, m := range menu {
		it := t.columns.types[t.columns.owner[m.column]]
		names[i] = it.Name
		priced, resized = priced || it.PriceOverlaid, resized || it.CapacityOverlaid
	}
	reqs := cl.requirements()
	return Claim{
		PriceOverlaid: priced, CapacityOverlaid: resized,
		Pool:          t.pool.Name,
		Pods:          cl.pods(),
		Requirements:  t.narrow(reqs, names, menu, st),
		Labels:        customLabels(reqs, s.problem.Options.Custom),
		InstanceTypes: names,
		Requests:      cl.total.Add(t.leastDaemons(cl.mask)),
		Price:         menu[0].price,

		MinValuesRelaxed: len(cl.lowered) > 0,
	}, nil
}

// narrow adds what the candidates imply: their names, and the capacity types they come in.
func (t *template) narrow(reqs requirement.Set, names []string, menu []item, st *state) requirement.Set {
	types := requirement.New(instanceTypeKey, requirement.In, names...)
	reqs = reqs.Replace(types.WithMinValues(reqs.Get(instanceTypeKey).MinValues))
	onSale := columnsOf(menu, t.columns.len())
	var capacityTypes []string
	key, ok := t.u.index[capacityTypeKey]
	for k := range st.kinds.all() {
		if !ok || !t.columns.kinds[k].columns.meets(onSale) {
			continue
		}
		for _, have := range t.columns.kinds[k].terms {
			if have.key == key {
				capacityTypes = append(capacityTypes, t.u.keys[key].sets[have.set].Values()...)
			}
		}
	}
	if len(capacityTypes) > 0 {
		reqs = reqs.Add(requirement.New(capacityTypeKey, requirement.In, capacityTypes...))
	}
	return reqs
}

// customLabels gives every custom key that has to be there one concrete value, so that pods that ask for it find it on the
// node. A key that is only excluded is left off.
func customLabels(reqs requirement.Set, custom func(string) bool) map[string]string {
	labels := map[string]string{}
	for _, r := range reqs {
		if custom == nil || !custom(r.Key) || r.AllowsAbsence() {
			continue
		}
		if v := r.Any(); v != "" {
			labels[r.Key] = v
		}
	}
	return labels
}

// leastDaemons is what daemons will take on whatever candidate is launched: the minimum over the candidates.
func (t *template) leastDaemons(mask bitset) resource.Vector {
	least, _ := t.daemonRange(mask)
	return least
}

// daemonRange is the least and the most that daemons take of each resource on the candidates.
func (t *template) daemonRange(mask bitset) (least, most resource.Vector) {
	first := true
	for column := range mask.all() {
		if first {
			least, most, first = t.daemons[column].Clone(), t.daemons[column].Clone(), false
			continue
		}
		least, most = least.Min(t.daemons[column]), most.Max(t.daemons[column])
	}
	return least, most
}

// item is a candidate with its cheapest price.
type item struct {
	column int
	price  float64
}

// menus remembers candidate lists in order of price: claims that ended alike share one.
type menus map[*template]map[stateID][]menu

type menu struct {
	mask  bitset
	items []item
}

// of is the candidates of cl, one per instance type, cheapest first, ties by name.
func (ms menus) of(cl *claim) []item {
	byState, ok := ms[cl.t]
	if !ok {
		byState = map[stateID][]menu{}
		ms[cl.t] = byState
	}
	for _, m := range byState[cl.state] {
		if m.mask.equal(cl.mask) {
			return m.items
		}
	}
	items := cl.t.priced(cl.state, cl.mask)
	byState[cl.state] = append(byState[cl.state], menu{cl.mask, items})
	return items
}

func (t *template) priced(id stateID, mask bitset) []item {
	prices := t.prices(t.states[id])
	byType := map[int]item{}
	for column := range mask.all() {
		price := prices[column]
		if known, ok := byType[t.columns.owner[column]]; !ok || price < known.price {
			byType[t.columns.owner[column]] = item{column, price}
		}
	}
	items := make([]item, 0, len(byType))
	for _, i := range byType {
		items = append(items, i)
	}
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.price, b.price), strings.Compare(t.nameOf(a), t.nameOf(b)))
	})
	return items
}

func (t *template) nameOf(i item) string { return t.columns.types[t.columns.owner[i.column]].Name }

// price is that of the cheapest candidate of cl.
func (cl *claim) price() float64 {
	low, prices := math.Inf(1), cl.t.prices(cl.t.states[cl.state])
	for column := range cl.mask.all() {
		low = min(low, prices[column])
	}
	return low
}

func columnsOf(menu []item, n int) bitset {
	out := newBitset(n)
	for _, i := range menu {
		out.set(i.column)
	}
	return out
}
