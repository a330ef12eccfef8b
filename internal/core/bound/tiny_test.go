package bound_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// tiny is a problem small enough for brute force, independent of the types of the engine.
type tiny struct {
	types []tinyType
	pools []tinyPool
	nodes []tinyNode
	kinds []tinyKind
	// pods are indexes of kinds.
	pods []int
	// daemon is the request of the daemon on every node; zero for none.
	daemon [2]int64
	// reserved is the number of reserved instances of type 0 in zone 0, at reservedFee each.
	reserved int
}

type tinyType struct {
	size [2]int64 // CPU in thousandths, memory
	// price by zone and capacity type (spot, on-demand); 0 without an offering.
	price [zones][2]float64
}

const zones = 2

type tinyPool struct {
	tainted bool
	// zone is the only one of the pool, -1 for any.
	zone int
}

type tinyNode struct {
	size    [2]int64
	zone    int
	tainted bool
}

type tinyKind struct {
	size [2]int64
	// zones are the required ones, any of them; preferred is the preferred zone, -1 for none.
	zones     []int
	preferred int
	// onDemand excludes spot; tolerant pods may go to tainted pools and nodes.
	onDemand, tolerant bool
	// port is the host port, 0 for none.
	port int32
	// apart is the maximum number of pods of the kind on one node, 0 for any number.
	apart int
	// anti is true if apart is 1 because of anti-affinity, false if it is the maxSkew of a spread.
	anti bool
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func randomTiny(r *rand.Rand) tiny {
	t := tiny{}
	for range 1 + r.IntN(4) {
		it := tinyType{size: [2]int64{pick(r, int64(1000), 2000, 3000, 4000, 8000), pick(r, int64(1), 2, 4, 8, 13)}}
		rate := float64(it.size[0])/1000*pick(r, 0.03, 0.04, 0.0417) + float64(it.size[1])*pick(r, 0.004, 0.005)
		for z := range zones {
			for c := range 2 {
				if r.IntN(4) > 0 {
					it.price[z][c] = math.Round(rate*pick(r, 0.5, 0.7, 0.9, 1, 1.3)*1e4) / 1e4
				}
			}
		}
		t.types = append(t.types, it)
	}
	for range 1 + r.IntN(2) {
		t.pools = append(t.pools, tinyPool{tainted: r.IntN(4) == 0, zone: pick(r, -1, -1, -1, 0, 1)})
	}
	for range pick(r, 0, 0, 0, 1, 2) {
		t.nodes = append(t.nodes, tinyNode{size: [2]int64{pick(r, int64(500), 1000, 3000), pick(r, int64(1), 2, 6)}, zone: r.IntN(zones), tainted: r.IntN(4) == 0})
	}
	for range 1 + r.IntN(3) {
		t.kinds = append(t.kinds, randomKind(r))
	}
	for range 1 + r.IntN(7) {
		t.pods = append(t.pods, r.IntN(len(t.kinds)))
	}
	if r.IntN(4) == 0 {
		t.daemon = [2]int64{100, 1}
	}
	if r.IntN(6) == 0 {
		t.reserved = 1 + r.IntN(2)
	}
	return t
}

func randomKind(r *rand.Rand) tinyKind {
	k := tinyKind{
		size:      [2]int64{pick(r, int64(100), 500, 700, 1000, 1500, 3000), pick(r, int64(0), 1, 2, 3)},
		preferred: pick(r, -1, -1, -1, 0, 1), onDemand: r.IntN(5) == 0, tolerant: r.IntN(3) == 0,
	}
	if r.IntN(6) == 0 {
		k.port = pick(r, int32(80), 81)
	}
	switch r.IntN(6) {
	case 0:
		k.apart, k.anti = 1, true
	case 1:
		k.apart = 1 + r.IntN(2)
	}
	switch r.IntN(6) {
	case 0:
		k.zones = []int{r.IntN(zones)}
	case 1:
		k.zones = []int{1, 0}
	}
	return k
}

// Labels and units of the model.
const (
	zoneKey     = "topology.kubernetes.io/zone"
	capacityKey = "karpenter.sh/capacity-type"
	typeKey     = "node.kubernetes.io/instance-type"
	hostKey     = "kubernetes.io/hostname"
	holdKey     = "example.com/reservation"
	memoryUnit  = int64(1) << 30
	reservedFee = 1e-6
)

func zoneName(z int) string { return fmt.Sprintf("zone-%d", z) }

func in(key string, values ...string) requirement.Requirement {
	return requirement.New(key, requirement.In, values...)
}

func vector(size [2]int64, pods int64) resource.Vector {
	return resource.Vector{}.Set(resource.CPU, size[0]).Set(resource.Memory, size[1]*memoryUnit).Set(resource.Pods, pods)
}

var taint = model.Taint{Key: "team", Value: "a", Effect: model.NoSchedule}

// problem converts t to the types of the engine.
func (t tiny) problem() solve.Problem {
	p := solve.Problem{Resources: resource.NewTable().Names(), Options: solve.Options{WellKnown: func(key string) bool {
		return key == zoneKey || key == capacityKey || key == typeKey || key == holdKey
	}}}
	if t.reserved > 0 {
		p.Options.Reserved, p.Options.ReservationLabel = solve.ReservedFallback, holdKey
	}
	var types catalog.Catalog
	for i, it := range t.types {
		types = append(types, it.catalog(i, t.reserved))
	}
	for i, pool := range t.pools {
		m := &model.Pool{Name: fmt.Sprintf("pool-%d", i), Catalog: types, Requirements: requirement.NewSet(in("karpenter.sh/nodepool", fmt.Sprintf("pool-%d", i)))}
		if pool.zone >= 0 {
			m.Requirements = m.Requirements.Add(in(zoneKey, zoneName(pool.zone)))
		}
		if pool.tainted {
			m.Taints = []model.Taint{taint}
		}
		p.Pools = append(p.Pools, m)
	}
	for i, n := range t.nodes {
		name := fmt.Sprintf("node-%d", i)
		m := &model.Node{ID: name, Name: name, NodeName: name, Launched: true, Initialized: true, Allocatable: vector(n.size, 10)}
		m.Labels = map[string]string{zoneKey: zoneName(n.zone), hostKey: name}
		m.Requirements = requirement.Labels(m.Labels)
		if n.tainted {
			m.Taints = []model.Taint{taint}
		}
		p.Nodes = append(p.Nodes, m)
	}
	if t.daemon != [2]int64{} {
		p.DaemonSets = []*model.DaemonSet{{Namespace: "default", Name: "agent", Shape: &model.Shape{
			Requests: vector(t.daemon, 1), Tolerations: []model.Toleration{{Exists: true}},
		}}}
	}
	var shapes []*model.Shape
	var labels []*model.Labels
	for i := range t.kinds {
		shapes = append(shapes, t.kinds[i].shape(i))
		labels = append(labels, &model.Labels{Namespace: "default", Values: map[string]string{"kind": fmt.Sprint(i)}})
	}
	for i, k := range t.pods {
		name := fmt.Sprintf("pod-%d", i)
		p.Pods = append(p.Pods, &model.Pod{UID: name, Namespace: "default", Name: name, Shape: shapes[k], Labels: labels[k]})
	}
	return p
}

func (it tinyType) catalog(i, reserved int) *catalog.InstanceType {
	name := fmt.Sprintf("type-%d", i)
	out := &catalog.InstanceType{Name: name, Capacity: vector(it.size, 10), Groups: []catalog.Group{{Allocatable: vector(it.size, 10)}}}
	var inZones []string
	for z, prices := range it.price {
		inZones = append(inZones, zoneName(z))
		for c, price := range prices {
			if price > 0 {
				out.Offerings = append(out.Offerings, catalog.Offering{Price: price, Kind: &catalog.Kind{Requirements: requirement.NewSet(
					in(zoneKey, zoneName(z)), in(capacityKey, []string{"spot", "on-demand"}[c]),
				)}})
			}
		}
	}
	kinds := []string{"on-demand", "spot"}
	if i == 0 && reserved > 0 {
		kinds = append(kinds, "reserved")
		out.Offerings = append(out.Offerings, catalog.Offering{Price: reservedFee, ReservationCapacity: int32(reserved), Kind: &catalog.Kind{Requirements: requirement.NewSet(
			in(zoneKey, zoneName(0)), in(capacityKey, "reserved"), in(holdKey, "r-1"),
		)}})
	}
	out.Requirements = requirement.NewSet(in(typeKey, name), in(zoneKey, inZones...), in(capacityKey, kinds...))
	return out
}

func (k tinyKind) shape(number int) *model.Shape {
	s := &model.Shape{Requests: vector(k.size, 1)}
	if k.onDemand {
		s.Selector = requirement.NewSet(requirement.New(capacityKey, requirement.NotIn, "spot"))
	}
	for _, z := range k.zones {
		s.Required = append(s.Required, requirement.NewSet(in(zoneKey, zoneName(z))))
	}
	if k.preferred >= 0 {
		s.Preferred = []model.Preference{{Weight: 10, Terms: requirement.NewSet(in(zoneKey, zoneName(k.preferred)))}}
	}
	if k.tolerant {
		s.Tolerations = []model.Toleration{{Key: "team", Exists: true}}
	}
	if k.port > 0 {
		s.HostPorts = []model.HostPort{{Port: k.port, Protocol: "TCP"}}
	}
	own := topology.NewSelector(requirement.NewSet(in("kind", fmt.Sprint(number))))
	switch {
	case k.apart > 0 && k.anti:
		s.Affinities = []topology.Affinity{{Key: hostKey, Anti: true, Selector: own, Namespaces: []string{"default"}}}
	case k.apart > 0:
		s.Spreads = []topology.Spread{{Key: hostKey, MaxSkew: int32(k.apart), Selector: own, Namespace: "default"}} //nolint:gosec // small
	}
	return s
}
