package solve

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Market is what the pods of a plan could have been placed on, in plain numbers: every way to buy a node, and the existing
// nodes. It leaves out what only makes plans more expensive: limits and minValues of pools, preferences, what pods of
// different kinds require together of labels other than those of the offering, and topology other than that of hosts. So
// any set of nodes that can hold the pods under all rules can do so on the market, at the same price or less.
type Market struct {
	// ItemTypes are the pods of the plan that have a place, grouped by what they request and require.
	ItemTypes []ItemType
	// BinTypes are the ways to buy a node.
	BinTypes []BinType
	// Supplies are how many nodes can be bought that draw on the same reservation.
	Supplies []int
	// Nodes are the existing nodes, which cost nothing.
	Nodes []ExistingNode
	// Compatibility are sets of constraint sets; bin types and nodes refer to them by index.
	Compatibility []Compatibility
	// Caps bound how many pods of some item types one node may hold.
	Caps []Cap
}

// ItemType is a number of pods with the same requirements.
type ItemType struct {
	Requests resource.Vector
	Pods     int
	// ConstraintSet numbers what the pods require of labels, taints and ports.
	ConstraintSet int
}

// BinType is one way to buy a node: an offering of an instance type.
type BinType struct {
	// Price is in dollars an hour.
	Price float64
	// Capacity is what daemons leave for pods.
	Capacity resource.Vector
	// Compatibility is which constraint sets are met.
	Compatibility int
	// Supply bounds how often it can be bought: an index of Supplies, or -1 for any number of times.
	Supply int
}

// ExistingNode is a node that exists or was requested.
type ExistingNode struct {
	// Free is what bound pods and expected daemons leave.
	Free          resource.Vector
	Compatibility int
}

// Compatibility is whether each constraint set, by number, is met. At least one is.
type Compatibility []bool

// Cap is the most pods of the listed item types, taken together, that one node may hold.
type Cap struct {
	ItemTypes []int
	Max       int
}

// NewMarket is the market of p for the pods that plan placed.
func NewMarket(p Problem, plan Plan) Market {
	p.Pods = placed(plan)
	r := compile.NewRun(p)
	r.Seed()
	b := marketBuilder{
		Run:            r,
		itemTypes:      map[itemTypeKey]int{},
		constraintSets: map[string]int{},
		accepts:        map[string]int{},
	}
	for _, pod := range p.Pods {
		b.market.ItemTypes[b.itemType(pod)].Pods++
	}
	for _, t := range b.Templates {
		b.addBinTypes(t)
	}
	b.addNodes()
	b.capPorts()
	b.capHosts()
	return b.market
}

// placed are the pods that the plan places.
func placed(plan Plan) []*model.Pod {
	var out []*model.Pod
	for _, c := range plan.NodeClaims {
		out = append(out, c.Pods...)
	}
	for _, at := range plan.Placements {
		out = append(out, at.Pods...)
	}
	return out
}

type marketBuilder struct {
	*compile.Run
	market    Market
	itemTypes map[itemTypeKey]int
	// keys are the labels and namespaces of the item types' pods.
	keys []itemTypeKey
	// forms are the constraint sets, by number.
	forms          []constraintSet
	constraintSets map[string]int
	accepts        map[string]int
}

// itemTypeKey is what pods of one item type share: a shape, and the labels that others select them by.
type itemTypeKey struct {
	shape  *model.Shape
	labels *model.Labels
}

// constraintSet is what a shape requires of labels, taints and ports: some form of it has to be met.
type constraintSet struct {
	shape *model.Shape
	forms []*compile.Conjunction
}

func (b *marketBuilder) itemType(pod *model.Pod) int {
	key := itemTypeKey{pod.Shape, pod.Labels}
	i, ok := b.itemTypes[key]
	if !ok {
		i = len(b.keys)
		b.itemTypes[key] = i
		b.keys = append(b.keys, key)
		b.market.ItemTypes = append(b.market.ItemTypes, ItemType{Requests: b.Classes.LeastRequests(pod.Shape), ConstraintSet: b.constraintSet(pod.Shape)})
	}
	return i
}

// constraintSet numbers what a shape requires in its most relaxed forms: any alternative, no preferences.
func (b *marketBuilder) constraintSet(shape *model.Shape) int {
	d := constraintSet{shape: shape}
	reach := shape.VolumeTopology
	if len(reach) == 0 {
		reach = []requirement.Set{nil}
	}
	var id strings.Builder
	for i := range shape.Alternatives() {
		for _, r := range reach {
			form := b.Classes.Intern(shape.Strict(i).And(r))
			d.forms = append(d.forms, form)
			fmt.Fprintf(&id, "%d,", form.Number)
		}
	}
	fmt.Fprintf(&id, "%#v%#v", shape.Tolerations, shape.HostPorts)
	n, ok := b.constraintSets[id.String()]
	if !ok {
		n = len(b.forms)
		b.constraintSets[id.String()] = n
		b.forms = append(b.forms, d)
	}
	return n
}

// tolerates reports whether taints let the constraint set in once PreferNoSchedule taints are tolerated.
func (d constraintSet) tolerates(taints []model.Taint) bool {
	_, repelled := model.Untolerated(taints, d.shape.Tolerations, true)
	return !repelled
}

// addBinTypes lists the bin types of t. A kind of offering of a column accepts the constraint sets that it meets by itself; of bin types
// with the same capacity for the same constraint sets the cheapest is sufficient.
func (b *marketBuilder) addBinTypes(t *compile.Template) {
	met := make([][]bitset.Set, len(t.Columns.Kinds)) // by kind and constraint set: columns
	for n, d := range b.forms {
		if !d.tolerates(t.Pool.Taints) {
			continue
		}
		for k, columns := range b.meeting(t, d) {
			if met[k] == nil {
				met[k] = make([]bitset.Set, len(b.forms))
			}
			met[k][n] = columns
		}
	}
	type way struct{ column, accepts, supply int }
	cheapest := map[way]float64{}
	for k, byConstraintSet := range met {
		if byConstraintSet == nil {
			continue
		}
		for column := range t.Columns.Kinds[k].Columns.All() {
			takes := make(Compatibility, len(b.forms))
			for n, columns := range byConstraintSet {
				takes[n] = columns != nil && columns.Has(column)
			}
			if !slices.Contains(takes, true) {
				continue
			}
			w := way{column, b.accept(takes), b.supply(t, k)}
			if known, ok := cheapest[w]; !ok || t.Columns.Price[k][column] < known {
				cheapest[w] = t.Columns.Price[k][column]
			}
		}
	}
	ways := slices.SortedFunc(maps.Keys(cheapest), func(x, y way) int {
		return cmp.Or(cmp.Compare(x.column, y.column), cmp.Compare(x.accepts, y.accepts), cmp.Compare(x.supply, y.supply))
	})
	for _, w := range ways {
		if price := cheapest[w]; !math.IsInf(price, 1) {
			b.market.BinTypes = append(b.market.BinTypes, BinType{Price: price, Capacity: t.Most.Available[w.column], Compatibility: w.accepts, Supply: w.supply})
		}
	}
}

// supply is the reservation that a kind of offering draws on, -1 for none.
func (b *marketBuilder) supply(t *compile.Template, kind int) int {
	rs := t.Reservations
	if rs.Mode == ReservedIgnored {
		return -1
	}
	b.market.Supplies = rs.Left
	return rs.Kinds[t.Columns][kind]
}

// meeting is the columns of every kind of offering that meet the constraint set in some form.
func (b *marketBuilder) meeting(t *compile.Template, d constraintSet) map[int]bitset.Set {
	out := map[int]bitset.Set{}
	free := bitset.Full(t.Columns.Len())
	if len(d.shape.HostPorts) > 0 {
		free = compile.PortsEverFree(t, &compile.Class{Shape: d.shape})
	}
	for _, form := range d.forms {
		to := t.Step(t.Root, form)
		if to == compile.NoState {
			continue
		}
		st := t.States[to]
		for k := range st.Kinds.All() {
			columns := st.Labels.And(t.Columns.Kinds[k].Columns).And(free)
			if out[k] != nil {
				columns.Or(out[k])
			}
			out[k] = columns
		}
	}
	return out
}

// accept numbers a set of constraint sets.
func (b *marketBuilder) accept(takes Compatibility) int {
	id := make([]byte, 0, len(takes))
	for n, ok := range takes {
		if ok {
			id = binary.AppendUvarint(id, uint64(n)) //nolint:gosec // an index
		}
	}
	i, ok := b.accepts[string(id)]
	if !ok {
		i = len(b.market.Compatibility)
		b.accepts[string(id)] = i
		b.market.Compatibility = append(b.market.Compatibility, takes)
	}
	return i
}

// addNodes lists the nodes that some constraint set may use.
func (b *marketBuilder) addNodes() {
	for i, t := range b.Targets.List {
		takes := make(Compatibility, len(b.forms))
		for n, d := range b.forms {
			_, taken := model.FirstConflict(d.shape.HostPorts, t.Ports)
			takes[n] = !taken && d.tolerates(t.Node.Taints) && slices.ContainsFunc(d.forms, func(form *compile.Conjunction) bool {
				return b.Targets.Satisfying(form).Has(i)
			})
		}
		if slices.Contains(takes, true) {
			b.market.Nodes = append(b.market.Nodes, ExistingNode{Free: t.Free, Compatibility: b.accept(takes)})
		}
	}
}

// capPorts caps pods with the same host port. Pods that name the same address, or none, exclude each other.
func (b *marketBuilder) capPorts() {
	itemTypes := map[model.HostPort][]int{}
	for i, face := range b.keys {
		seen := map[model.HostPort]bool{}
		for _, port := range face.shape.HostPorts {
			if !seen[port] {
				seen[port] = true
				itemTypes[port] = append(itemTypes[port], i)
			}
		}
	}
	ports := slices.SortedFunc(maps.Keys(itemTypes), func(x, y model.HostPort) int {
		return cmp.Or(cmp.Compare(x.Port, y.Port), strings.Compare(x.Protocol, y.Protocol), strings.Compare(x.IP, y.IP))
	})
	for _, port := range ports {
		members := slices.Clone(itemTypes[port])
		if everywhere := (model.HostPort{Port: port.Port, Protocol: port.Protocol}); port.IP != "" {
			members = append(members, itemTypes[everywhere]...)
			slices.Sort(members)
			members = slices.Compact(members)
		}
		b.market.Caps = append(b.market.Caps, Cap{ItemTypes: members, Max: 1})
	}
}

// rule is a required topology constraint whose domains are hosts.
type rule struct {
	selector          *topology.Selector
	namespaces        []string
	namespaceSelector *topology.Selector
	max               int
}

// capHosts bounds pods that carry a constraint on hosts and are counted by it themselves: a node holds one of those with
// anti-affinity to each other, and no more than the skew of those that are spread. A spread that counts pods which do not
// carry it may be exceeded by them, so they do not take part.
func (b *marketBuilder) capHosts() {
	index, rules, itemTypes := map[string]int{}, []rule{}, [][]int{}
	for i, face := range b.keys {
		for _, r := range hostRules(face) {
			if !b.counted(r, face) {
				continue
			}
			id := fmt.Sprintf("%d %q %s %s", r.max, r.namespaces, r.namespaceSelector.Identity(), r.selector.Identity())
			n, ok := index[id]
			if !ok {
				n = len(rules)
				index[id] = n
				rules, itemTypes = append(rules, r), append(itemTypes, nil)
			}
			if k := len(itemTypes[n]); k == 0 || itemTypes[n][k-1] != i {
				itemTypes[n] = append(itemTypes[n], i)
			}
		}
	}
	for n, r := range rules {
		b.market.Caps = append(b.market.Caps, Cap{ItemTypes: itemTypes[n], Max: r.max})
	}
}

func hostRules(face itemTypeKey) []rule {
	var out []rule
	for _, s := range face.shape.Spreads {
		if s.Key == compile.HostnameKey && !s.Soft {
			out = append(out, rule{selector: s.Selector, namespaces: []string{s.Namespace}, max: int(s.MaxSkew)})
		}
	}
	for _, a := range face.shape.Affinities {
		if a.Key == compile.HostnameKey && a.Anti && a.Required() {
			out = append(out, rule{selector: a.Selector, namespaces: a.Namespaces, namespaceSelector: a.NamespaceSelector, max: 1})
		}
	}
	return out
}

// counted reports whether a rule counts pods with the labels of face.
func (b *marketBuilder) counted(r rule, face itemTypeKey) bool {
	labels := face.labels
	if labels == nil || !r.selector.Matches(labels.Values) {
		return false
	}
	return slices.Contains(r.namespaces, labels.Namespace) || r.namespaceSelector.Matches(b.Problem.Namespaces[labels.Namespace])
}
