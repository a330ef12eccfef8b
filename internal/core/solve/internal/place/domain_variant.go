package place

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// domainChoice is a way to meet all groups on one label: one domain, or a set of domains that is left open.
type domainChoice struct {
	key     int
	domains []int
	// except is set when domains are those that must not be used, absent when the node must not have the label.
	except, absent bool
	// count is how many pods the spreads count there; it orders choices.
	count int
	// maxPods is how many pods may be placed there before the choice has to be made again.
	maxPods int
}

// Option is a choice for every label of a level, with the variant that remembers which bins rejected it.
type Option struct {
	*compile.DomainVariant
	count, maxPods int
}

// scratch is memory that successive calls reuse.
type scratch struct {
	choices  [][]domainChoice
	picked   []domainChoice
	states   []GroupState
	level    compile.LevelConstraints
	identity []byte
	names    []string
	// several is set while more than one pod of a class is to be placed.
	several bool
}

// Options appends the ways in which the groups of a level can be met at this moment to out, which is empty, the emptiest domains
// first. Choices are made for all groups of a label together: a domain counts only if all of them allow it.
// Source: scheduling specification, narrowing.
func (s *Placer) Options(out []Option, c *compile.Class, st *compile.Level) []Option {
	keys := st.Keys
	if s.strategy.Decided {
		keys = slices.Concat(st.Keys, c.UncountedKeys)
	}
	if len(keys) == 0 {
		return append(out, Option{DomainVariant: st.Variants[0], maxPods: math.MaxInt})
	}
	for len(s.scratch.choices) < len(keys) {
		s.scratch.choices = append(s.scratch.choices, nil)
	}
	product := 1
	choices := s.scratch.choices[:len(keys)]
	for i, key := range keys {
		choices[i] = s.choices(choices[i][:0], c, st, key)
		product = min(product*len(choices[i]), maxOptions+1)
	}
	if product > maxOptions {
		product = shorten(choices)
	}
	picked := append(s.scratch.picked[:0], make([]domainChoice, len(keys))...)
	for n := range product {
		// The choice for the last label changes fastest.
		for i, rest := len(choices)-1, n; i >= 0; i-- {
			picked[i] = choices[i][rest%len(choices[i])]
			rest /= len(choices[i])
		}
		o := Option{DomainVariant: s.variantOf(c, st, picked), maxPods: math.MaxInt}
		for _, one := range picked {
			o.count += one.count
			o.maxPods = min(o.maxPods, one.maxPods)
		}
		out = append(out, o)
	}
	slices.SortStableFunc(out, func(a, b Option) int { return cmp.Compare(a.count, b.count) })
	balance(out, s.strategy.Decided)
	s.scratch.picked = picked
	return out
}

// maxOptions is the number of combinations of domains of several labels that are tried for one level.
const maxOptions = 1024

// shorten halves the longest list of choices, the emptiest domains first, until at most maxOptions combinations are left, and returns
// their number. A single list stays as it is.
func shorten(choices [][]domainChoice) int {
	if len(choices) == 1 {
		return len(choices[0])
	}
	for {
		product, longest := 1, 0
		for i, list := range choices {
			product = min(product*len(list), maxOptions+1)
			if len(list) > len(choices[longest]) {
				longest = i
			}
		}
		if product <= maxOptions {
			return product
		}
		choices[longest] = choices[longest][:(len(choices[longest])+1)/2]
	}
}

// balance lowers maxPods of options so that the emptiest domain is filled up to the level of the next one only: constraints
// allow skew, but balance is preferable. Options without a limit stay so, unless all is set.
func balance(options []Option, all bool) {
	for i := range options[:max(len(options)-1, 0)] {
		if o := &options[i]; all || o.maxPods < math.MaxInt {
			o.maxPods = min(o.maxPods, max(options[i+1].count-o.count, 1))
		}
	}
}

// variantOf is the variant for a combination of choices. Choices that leave everything open lead to the level's own
// requirements.
func (s *Placer) variantOf(c *compile.Class, st *compile.Level, picked []domainChoice) *compile.DomainVariant {
	want := s.choose(st.Conjunction, picked)
	at, known := slices.BinarySearchFunc(st.Variants, want.Number, func(dv *compile.DomainVariant, number int) int { return dv.Want.Number - number })
	if !known {
		st.Variants = slices.Insert(st.Variants, at, s.Classes.Variant(c, want))
	}
	return st.Variants[at]
}

// choose adds choices of domains to a conjunction.
func (s *Placer) choose(from *compile.Conjunction, picked []domainChoice) *compile.Conjunction {
	id := binary.AppendVarint(s.scratch.identity[:0], int64(from.Number))
	for _, one := range picked {
		head := int64(len(one.domains))
		switch {
		case one.absent:
			head = math.MinInt64
		case one.except:
			head = -head
		}
		id = binary.AppendVarint(binary.AppendVarint(id, int64(one.key)), head)
		for _, d := range one.domains {
			id = binary.AppendVarint(id, int64(d))
		}
	}
	s.scratch.identity = id
	if want, ok := s.Classes.Chosen[string(id)]; ok {
		return want
	}
	set := from.Set
	for _, one := range picked {
		if one.except && len(one.domains) == 0 {
			continue
		}
		v := s.Counts.Domains.Of(one.key)
		var names []string
		operator := requirement.In
		switch {
		case one.absent:
			operator = requirement.DoesNotExist
		case one.except:
			operator = requirement.NotIn
		}
		for i := 0; i < len(one.domains) && !one.absent; i++ {
			names = append(names, v.Names[one.domains[i]])
		}
		set = set.And(requirement.NewSet(requirement.New(s.Classes.Universe.Keys[one.key].Name, operator, names...)))
	}
	want := s.Classes.Intern(set)
	s.Classes.Chosen[string(id)] = want
	return want
}

// choices appends the ways to meet all groups on one label to out, which is empty. Where a spread or the first pod of an affinity
// is concerned a single domain is chosen, so that it can be counted; otherwise all allowed domains stay open. Preferred anti-affinity of several
// pods to each other chooses one too, where it may open nodes: a pod on a node that could be anywhere would leave no domain for the others.
func (s *Placer) choices(out []domainChoice, c *compile.Class, st *compile.Level, key int) []domainChoice {
	v, within := s.Counts.Domains.Of(key), s.Counts.Domains.Allowed(key, st.Strict)
	groups := GroupStates(s.scratch.states[:0], st.LevelConstraints, key)
	s.scratch.states = groups
	blocked, decided := c.Blocked(key), s.strategy.Decided && compile.SpreadByOthers(c, key)
	if len(groups) == 0 {
		if c.Decides(key) || decided {
			return eachDomain(s, out, c, st, key, blocked)
		}
		return append(out, domainChoice{key: key, maxPods: math.MaxInt, domains: blocked, except: true})
	}
	single := slices.ContainsFunc(groups, func(b GroupState) bool { return b.Kind == topology.KindSpread || b.bootstraps })
	decided = decided && !single
	single = single || decided
	apart := s.scratch.several && s.Problem.Options.OpensForPreferences() && slices.ContainsFunc(groups, func(b GroupState) bool { return b.Kind == topology.KindAnti && b.Self && b.Soft() })
	open := domainChoice{key: key, maxPods: math.MaxInt}
	for d := range v.Names {
		counting := groups
		if v.Lacks(d) { // anti-affinity cannot be violated there
			counting = slices.DeleteFunc(slices.Clone(groups), func(b GroupState) bool { return b.Kind == topology.KindAnti })
		}
		maxPods, count := CapacityIn(counting, d, within)
		if s.strategy.Domains != CheapestFirst {
			count = ownCount(counting, d)
		}
		if decided {
			count = compile.SpreadIn(c, key, d)
		}
		if maxPods == 0 || slices.Contains(blocked, d) {
			continue
		}
		if single || apart || v.Lacks(d) {
			out = append(out, domainChoice{key: key, domains: v.Alone(d), absent: v.Lacks(d), count: count, maxPods: maxPods})
			continue
		}
		open.domains = append(open.domains, d)
		open.maxPods = min(open.maxPods, maxPods)
	}
	if single || apart {
		sortDomains(s, out, c, st, key)
	}
	if single {
		return out
	}
	if len(open.domains) > 0 {
		slices.SortFunc(open.domains, func(a, b int) int { return cmp.Compare(v.Names[a], v.Names[b]) })
		out = append(out, open)
	}
	// On a node without the label, anti-affinity cannot be violated.
	if !slices.ContainsFunc(groups, func(b GroupState) bool { return b.IsAffinity() }) && s.Counts.MayLack(key, s.Templates) {
		out = append(out, domainChoice{key: key, maxPods: math.MaxInt, absent: true})
	}
	return out
}

// eachDomain appends every domain that is not blocked to out, the cheapest first, and the nodes outside of all known domains at the end.
func eachDomain(s *Placer, out []domainChoice, c *compile.Class, lv *compile.Level, key int, blocked []int) []domainChoice {
	v, within := s.Counts.Domains.Of(key), s.Counts.Domains.Allowed(key, lv.Strict)
	for d := range v.Names {
		if within(d) && !slices.Contains(blocked, d) {
			one := domainChoice{key: key, domains: v.Alone(d), absent: v.Lacks(d), maxPods: math.MaxInt}
			if s.strategy.Decided {
				one.count = compile.SpreadIn(c, key, d)
			}
			out = append(out, one)
		}
	}
	sortDomains(s, out, c, lv, key)
	var known []int
	for d := range v.Names {
		if !v.Lacks(d) {
			known = append(known, d)
		}
	}
	return append(out, domainChoice{key: key, domains: known, except: true, maxPods: math.MaxInt})
}

// GroupState is a group of a level with the values that hold for all domains at this moment.
type GroupState struct {
	compile.Owned
	floor      int
	bootstraps bool
}

// GroupStates appends the groups of a level on one label to out, which is empty.
func GroupStates(out []GroupState, lv *compile.LevelConstraints, key int) []GroupState {
	for _, o := range lv.Owned {
		if o.Key != key {
			continue
		}
		b := GroupState{Owned: o}
		switch o.Kind {
		case topology.KindSpread:
			b.floor = o.MinCount()
		case topology.KindAffinity:
			b.bootstraps = o.Bootstraps(o.Self)
		}
		out = append(out, b)
	}
	return out
}

// CapacityIn is how many pods domain d may take by all groups, and how many the spreads among them count there.
func CapacityIn(groups []GroupState, d int, within topology.DomainFilter) (maxPods, count int) {
	maxPods = math.MaxInt
	for _, b := range groups {
		switch {
		case b.bootstraps && b.Known(d) && within(d):
		case b.bootstraps:
			return 0, 0
		default:
			maxPods = min(maxPods, b.Allowed(d, b.floor, b.Self))
		}
		if b.Kind == topology.KindSpread {
			count += b.Count(d) + b.Expected(d)
		}
	}
	return maxPods, count
}

// ownCount is how many pods domain d has by the spreads that count the pods that own them. For the others, all domains that they allow are equal.
func ownCount(groups []GroupState, d int) (count int) {
	for _, b := range groups {
		if b.Kind == topology.KindSpread && b.Self {
			count += b.Count(d) + b.Expected(d)
		}
	}
	return count
}
