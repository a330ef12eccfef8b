package bound_test

import "math"

// cheapest returns the minimum cost of the pods in set, a bit for each, by brute force; infinite if they do not fit. It shares
// no code with the engine.
func (t tiny) cheapest(set int) float64 {
	price, reservable := make([]float64, 1<<len(t.pods)), make([]bool, 1<<len(t.pods))
	for s := range price {
		if s&^set == 0 {
			price[s], reservable[s] = t.price(s), t.reserved > 0 && t.runs(s, t.types[0].size) && t.pooled(s, 0)
		}
	}
	known := map[[2]int]float64{{0, 0}: 0}
	var buy func(s, reservations int) float64
	buy = func(s, reservations int) float64 {
		if s == 0 {
			return 0
		}
		if low, ok := known[[2]int{s, reservations}]; ok {
			return low
		}
		low, first := math.Inf(1), s&-s
		for part := s; part > 0; part = (part - 1) & s {
			if part&first == 0 {
				continue
			}
			low = min(low, price[part]+buy(s&^part, reservations))
			if reservations > 0 && reservable[part] {
				low = min(low, reservedFee+buy(s&^part, reservations-1))
			}
		}
		known[[2]int{s, reservations}] = low
		return low
	}
	return t.onNodes(0, set, func(rest int) float64 { return buy(rest, t.reserved) })
}

// onNodes tries every assignment of pods in set to the nodes from n on, and buys nodes for the rest.
func (t tiny) onNodes(n, set int, buy func(int) float64) float64 {
	if n == len(t.nodes) {
		return buy(set)
	}
	low := math.Inf(1)
	for part := set; ; part = (part - 1) & set {
		if t.fits(part, t.nodes[n].size, t.launched) && t.admits(part, t.nodes[n].tainted, t.nodes[n].zone) {
			low = min(low, t.onNodes(n+1, set&^part, buy))
		}
		if part == 0 {
			return low
		}
	}
}

// price returns the price of the cheapest new node that holds all pods of set.
func (t tiny) price(set int) float64 {
	low := math.Inf(1)
	for _, it := range t.types {
		if !t.runs(set, it.size) {
			continue
		}
		for z, prices := range it.price {
			for c, price := range prices {
				if price > 0 && t.pooled(set, z) && (c == 1 || !t.any(set, func(k tinyKind) bool { return k.onDemand })) {
					low = min(low, price)
				}
			}
		}
	}
	return low
}

// pooled reports whether some pool may launch a node in zone z for the pods.
func (t tiny) pooled(set, z int) bool {
	for _, p := range t.pools {
		if (p.zone < 0 || p.zone == z) && t.admits(set, p.tainted, z) {
			return true
		}
	}
	return false
}

func (t tiny) admits(set int, tainted bool, z int) bool {
	return !t.any(set, func(k tinyKind) bool {
		elsewhere := len(k.zones) > 0
		for _, good := range k.zones {
			elsewhere = elsewhere && good != z
		}
		return elsewhere || tainted && !k.tolerant
	})
}

func (t tiny) any(set int, is func(tinyKind) bool) bool {
	for i, k := range t.pods {
		if set>>i&1 == 1 && is(t.kinds[k]) {
			return true
		}
	}
	return false
}

// runs reports whether a new node of this size can hold the daemon and the pods.
func (t tiny) runs(set int, size [2]int64) bool {
	return t.daemon[0] <= size[0] && t.daemon[1] <= size[1] && t.fits(set, size, always)
}

func always(int) bool { return true }

// launched reports whether a new node can hold the pod by itself. The skew of a spread over nodes is measured from such a node; otherwise
// existing nodes can have any number of its pods, as long as the others have as many.
func (t tiny) launched(pod int) bool {
	return t.kinds[t.pods[pod]].anti || !math.IsInf(t.price(1<<pod), 1)
}

// fits reports whether the pods fit beside the daemon. A resource that no pod requests does not matter. apart tells the pods of which a node
// has so many at most.
func (t tiny) fits(set int, size [2]int64, apart func(pod int) bool) bool {
	var asked [2]int64
	count := make([]int, len(t.kinds))
	ports := map[int32]int{}
	for i, k := range t.pods {
		if set>>i&1 == 0 {
			continue
		}
		kind := t.kinds[k]
		asked[0] += kind.size[0]
		asked[1] += kind.size[1]
		if count[k]++; kind.apart > 0 && count[k] > kind.apart && apart(i) {
			return false
		}
		if ports[kind.port]++; kind.port > 0 && ports[kind.port] > 1 {
			return false
		}
	}
	for r, a := range asked {
		if a > 0 && a+t.daemon[r] > size[r] {
			return false
		}
	}
	return true
}
