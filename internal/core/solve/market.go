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
	// Lots are the pods of the plan that have a place, in lots of pods with the same requirements.
	Lots []Lot
	// BinTypes are the ways to buy a node.
	BinTypes []BinType
	// Supplies are how many nodes can be bought that draw on the same reservation.
	Supplies []int
	// Nodes are the existing nodes, which cost nothing.
	Nodes []ExistingNode
	// Accepts are sets of demands; bin types and nodes refer to them by index.
	Accepts []Accepts
	// Caps bound how many pods of some lots one node may hold.
	Caps []PodCap
}

// Lot is a number of pods with the same requirements.
type Lot struct {
	Requests resource.Vector
	Pods     int
	// Demand numbers what the pods require of labels, taints and ports.
	Demand int
}

// BinType is one way to buy a node: an offering of an instance type.
type BinType struct {
	// Price is in dollars an hour.
	Price float64
	// Capacity is what daemons leave for pods.
	Capacity resource.Vector
	// Accepts is which demands are met.
	Accepts int
	// Supply bounds how often it can be bought: an index of Supplies, or -1 for any number of times.
	Supply int
}

// ExistingNode is a node that exists or was requested.
type ExistingNode struct {
	// Free is what bound pods and expected daemons leave.
	Free    resource.Vector
	Accepts int
}

// Accepts is whether each demand, by number, is met. At least one is.
type Accepts []bool

// PodCap is the most pods of the listed lots, taken together, that one node may hold.
type PodCap struct {
	Lots []int
	Max  int
}

// NewMarket is the market of p for the pods that plan placed.
func NewMarket(p Problem, plan Plan) Market {
	p.Pods = placed(plan)
	r := compile.NewRun(p)
	r.Seed()
	b := marketBuilder{
		Run:     r,
		lots:    map[lotKey]int{},
		demands: map[string]int{},
		accepts: map[string]int{},
	}
	for _, pod := range p.Pods {
		b.market.Lots[b.lot(pod)].Pods++
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
	market Market
	lots   map[lotKey]int
	// faces are the labels and namespaces of the lots' pods.
	keys []lotKey
	// forms are the demands.
	forms   []demand
	demands map[string]int
	accepts map[string]int
}

// lotKey is what pods of one lot share: a shape, and the labels that others select them by.
type lotKey struct {
	shape  *model.Shape
	labels *model.Labels
}

// demand is what a shape requires of labels, taints and ports: some form of it has to be met.
type demand struct {
	shape *model.Shape
	forms []*compile.Conjunction
}

func (b *marketBuilder) lot(pod *model.Pod) int {
	key := lotKey{pod.Shape, pod.Labels}
	i, ok := b.lots[key]
	if !ok {
		i = len(b.keys)
		b.lots[key] = i
		b.keys = append(b.keys, key)
		b.market.Lots = append(b.market.Lots, Lot{Requests: pod.Shape.Requests, Demand: b.demand(pod.Shape)})
	}
	return i
}

// demand numbers what a shape requires in its most relaxed forms: any alternative, no preferences.
func (b *marketBuilder) demand(shape *model.Shape) int {
	d := demand{shape: shape}
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
	n, ok := b.demands[id.String()]
	if !ok {
		n = len(b.forms)
		b.demands[id.String()] = n
		b.forms = append(b.forms, d)
	}
	return n
}

// tolerates reports whether taints let the demand in once PreferNoSchedule taints are tolerated.
func (d demand) tolerates(taints []model.Taint) bool {
	_, repelled := model.Untolerated(taints, d.shape.Tolerations, true)
	return !repelled
}

// addBinTypes lists the bin types of t. A kind of offering of a column accepts the demands that it meets by itself; of bin types
// with the same capacity for the same demands the cheapest is sufficient.
func (b *marketBuilder) addBinTypes(t *compile.Template) {
	met := make([][]bitset.Set, len(t.Columns.Kinds)) // by kind and demand: columns
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
	for k, byDemand := range met {
		if byDemand == nil {
			continue
		}
		for column := range t.Columns.Kinds[k].Columns.All() {
			takes := make(Accepts, len(b.forms))
			for n, columns := range byDemand {
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
			b.market.BinTypes = append(b.market.BinTypes, BinType{Price: price, Capacity: t.Most.Available[w.column], Accepts: w.accepts, Supply: w.supply})
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

// meeting is the columns of every kind of offering that meet the demand in some form.
func (b *marketBuilder) meeting(t *compile.Template, d demand) map[int]bitset.Set {
	out := map[int]bitset.Set{}
	free := bitset.Full(t.Columns.Len())
	if len(d.shape.HostPorts) > 0 {
		free = t.Most.PortsFree(&compile.Class{Shape: d.shape})
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

// accept numbers a set of demands.
func (b *marketBuilder) accept(takes Accepts) int {
	id := make([]byte, 0, len(takes))
	for n, ok := range takes {
		if ok {
			id = binary.AppendUvarint(id, uint64(n)) //nolint:gosec // an index
		}
	}
	i, ok := b.accepts[string(id)]
	if !ok {
		i = len(b.market.Accepts)
		b.accepts[string(id)] = i
		b.market.Accepts = append(b.market.Accepts, takes)
	}
	return i
}

// addNodes lists the nodes that some demand may use.
func (b *marketBuilder) addNodes() {
	for i, t := range b.Targets.List {
		takes := make(Accepts, len(b.forms))
		for n, d := range b.forms {
			_, taken := model.FirstConflict(d.shape.HostPorts, t.Ports)
			takes[n] = !taken && d.tolerates(t.Node.Taints) && slices.ContainsFunc(d.forms, func(form *compile.Conjunction) bool {
				return b.Targets.Satisfying(form).Has(i)
			})
		}
		if slices.Contains(takes, true) {
			b.market.Nodes = append(b.market.Nodes, ExistingNode{Free: t.Free, Accepts: b.accept(takes)})
		}
	}
}

// capPorts caps pods with the same host port. Pods that name the same address, or none, exclude each other.
func (b *marketBuilder) capPorts() {
	lots := map[model.HostPort][]int{}
	for i, face := range b.keys {
		seen := map[model.HostPort]bool{}
		for _, port := range face.shape.HostPorts {
			if !seen[port] {
				seen[port] = true
				lots[port] = append(lots[port], i)
			}
		}
	}
	ports := slices.SortedFunc(maps.Keys(lots), func(x, y model.HostPort) int {
		return cmp.Or(cmp.Compare(x.Port, y.Port), strings.Compare(x.Protocol, y.Protocol), strings.Compare(x.IP, y.IP))
	})
	for _, port := range ports {
		members := slices.Clone(lots[port])
		if everywhere := (model.HostPort{Port: port.Port, Protocol: port.Protocol}); port.IP != "" {
			members = append(members, lots[everywhere]...)
			slices.Sort(members)
			members = slices.Compact(members)
		}
		b.market.Caps = append(b.market.Caps, PodCap{Lots: members, Max: 1})
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
	index, rules, lots := map[string]int{}, []rule{}, [][]int{}
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
				rules, lots = append(rules, r), append(lots, nil)
			}
			if k := len(lots[n]); k == 0 || lots[n][k-1] != i {
				lots[n] = append(lots[n], i)
			}
		}
	}
	for n, r := range rules {
		b.market.Caps = append(b.market.Caps, PodCap{Lots: lots[n], Max: r.max})
	}
}

func hostRules(face lotKey) []rule {
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
func (b *marketBuilder) counted(r rule, face lotKey) bool {
	labels := face.labels
	if labels == nil || !r.selector.Matches(labels.Values) {
		return false
	}
	return slices.Contains(r.namespaces, labels.Namespace) || r.namespaceSelector.Matches(b.Problem.Namespaces[labels.Namespace])
}
