package shadow

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/cost"
)

// Prices are the prices of a NodePool's offerings.
type Prices func(nodePool string) cost.Prices

// bundle are nodes that are interchangeable. Zones that cost the same are chosen at random, and so are no part of it.
type bundle struct{ pool, instanceType, capacityType string }

// fleet measures the nodes of one cluster that Karpenter has launched, and how long its pods wait.
type fleet struct {
	// known are the NodeClaims with an instance.
	known map[types.UID]bool
	begun bool

	now      Sample
	bundles  map[bundle]int
	launched int
	removed  int
	dollars  float64
	hours    float64
	unpriced float64 // hours of nodes whose price is not known
	waits    waits
}

// Sample is a fleet at one moment.
type Sample struct {
	Nodes int `json:"nodes"`
	// PricePerHour is in dollars, without that of UnknownPrices nodes whose price is not known.
	PricePerHour  float64 `json:"pricePerHour"`
	UnknownPrices int     `json:"unknownPrices"`
	// Waiting is the number of pods without a node.
	Waiting int `json:"waiting"`
}

func newFleet() *fleet { return &fleet{known: map[types.UID]bool{}, waits: newWaits()} }

// measure takes a sample. The fleet had its last state for the time since the sample before.
func (f *fleet) measure(c Cluster, prices Prices, now time.Time, since time.Duration) {
	f.dollars += f.now.PricePerHour * since.Hours()
	f.hours += float64(f.now.Nodes) * since.Hours()
	f.unpriced += float64(f.now.UnknownPrices) * since.Hours()
	current := map[types.UID]bool{}
	f.bundles, f.now = map[bundle]int{}, Sample{}
	byPool := map[string]cost.Prices{}
	for _, claim := range c.claims() {
		current[claim.UID] = true
		if f.begun && !f.known[claim.UID] {
			f.launched++
		}
		offering := cost.OfferingOf(claim.Labels)
		b := bundle{claim.Labels[v1.NodePoolLabelKey], offering.InstanceType, offering.CapacityType}
		f.bundles[b]++
		f.now.Nodes++
		list, ok := byPool[b.pool]
		if !ok {
			list = prices(b.pool)
			byPool[b.pool] = list
		}
		if price, known := list.Of(offering); known {
			f.now.PricePerHour += price
		} else {
			f.now.UnknownPrices++
		}
	}
	for uid := range f.known {
		if !current[uid] {
			f.removed++
		}
	}
	f.known, f.begun = current, true
	f.now.Waiting = f.waits.observe(c, now)
}

// common is the share of nodes that two fleets have in common, from 0 to 1: nodes with the same NodePool, instance type and
// capacity type.
// Two empty fleets agree.
//
// Source: L. R. Dice, "Measures of the amount of ecologic association between species", Ecology 26 (1945), for multisets.
func common(a, b map[bundle]int) float64 {
	both, all := 0, 0
	for key, n := range a {
		both += min(n, b[key])
		all += n
	}
	for _, n := range b {
		all += n
	}
	if all == 0 {
		return 1
	}
	return 2 * float64(both) / float64(all)
}

// waits measures how long pods are without a node.
type waits struct {
	// since is when a pod was first seen without a node, by its UID.
	since map[types.UID]time.Time
	// buckets counts waits by their length: bucket i holds those of at most growth^i seconds.
	buckets []int
	count   int
	sum     float64
	longest float64
}

// growth makes quantiles right to within 5 %.
const growth = 1.05

func newWaits() waits { return waits{since: map[types.UID]time.Time{}} }

// observe returns how many pods wait. Pods that are gone before they had a node are not counted among the waits.
func (w *waits) observe(c Cluster, now time.Time) int {
	waiting := map[types.UID]time.Time{}
	for _, o := range c.byKind["Pod"] {
		pod, ok := o.(*corev1.Pod)
		if !ok || !Mirrored(pod) {
			continue
		}
		began, before := w.since[pod.UID]
		switch {
		case pod.Spec.NodeName != "" && before:
			w.record(now.Sub(began).Seconds())
		case pod.Spec.NodeName == "" && before:
			waiting[pod.UID] = began
		case pod.Spec.NodeName == "":
			waiting[pod.UID] = now
		}
	}
	w.since = waiting
	return len(waiting)
}

func (w *waits) record(seconds float64) {
	at := 0
	if seconds > 1 {
		at = int(math.Ceil(math.Log(seconds) / math.Log(growth)))
	}
	for len(w.buckets) <= at {
		w.buckets = append(w.buckets, 0)
	}
	w.buckets[at]++
	w.count++
	w.sum += seconds
	w.longest = max(w.longest, seconds)
}

// quantile is the time that a share of the waits does not exceed, in seconds.
func (w *waits) quantile(share float64) float64 {
	left := int(math.Ceil(share * float64(w.count)))
	for i, n := range w.buckets {
		if left -= n; left <= 0 {
			return min(math.Pow(growth, float64(i)), w.longest)
		}
	}
	return 0
}
