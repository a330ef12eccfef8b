package policy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Dollars is an amount in millionths of a dollar per hour. Sums are exact.
type Dollars int64

const (
	decimals = 6
	// perDollar is the number of units in a dollar.
	perDollar = 1_000_000
	// MostDollars is the highest amount. It stands for prices that are not known.
	MostDollars Dollars = math.MaxInt64
)

// ParseDollars reads an amount such as 12 or 12.50.
func ParseDollars(text string) (Dollars, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > decimals {
		return 0, fmt.Errorf("amount %q has more than %d decimals", text, decimals)
	}
	if whole == "" {
		return 0, fmt.Errorf("amount %q: want dollars per hour such as 12.50", text)
	}
	n, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("amount %q: want dollars per hour such as 12.50: %w", text, err)
	}
	return Dollars(n), nil
}

// PriceOf is a price in dollars per hour, rounded up; negative prices count as 0, and those that are no number as MostDollars.
func PriceOf(price float64) Dollars {
	units := math.Ceil(price*perDollar - 1e-4) // 0.1 is not to become 0.100001
	switch {
	case math.IsNaN(price) || units >= math.MaxInt64:
		return MostDollars
	case units <= 0:
		return 0
	}
	return Dollars(units)
}

// Plus is the sum of amounts of at least 0, at most MostDollars.
func (d Dollars) Plus(other Dollars) Dollars {
	if d > MostDollars-other {
		return MostDollars
	}
	return d + other
}

// String renders the amount for people, such as $12.50/h.
func (d Dollars) String() string {
	if d == MostDollars {
		return "an unknown price"
	}
	return resource.FormatCost(int64(d))
}

// Cap is a limit on what nodes cost.
type Cap struct {
	// Policy is the name of the policy that sets it, Pool that of the pool that it is for; empty for the cluster.
	Policy, Pool string
	Limit        Dollars
}

// UsedCap is a cap, and what nodes and launches in flight use of it.
type UsedCap struct {
	Cap
	Used Dollars
}

// PoolCap is the lowest cap of a pool; false if there is none.
func (s Set) PoolCap(pool string, labels map[string]string) (lowest Cap, capped bool) {
	for _, p := range s {
		if p.PoolCap != nil && p.Selects(labels) && (!capped || *p.PoolCap < lowest.Limit) {
			lowest, capped = Cap{Policy: p.Name, Pool: pool, Limit: *p.PoolCap}, true
		}
	}
	return lowest, capped
}

// ClusterCap is the lowest cap of all nodes; false if there is none.
func (s Set) ClusterCap() (lowest Cap, capped bool) {
	for _, p := range s {
		if p.ClusterCap != nil && (!capped || *p.ClusterCap < lowest.Limit) {
			lowest, capped = Cap{Policy: p.Name, Limit: *p.ClusterCap}, true
		}
	}
	return lowest, capped
}

// CapsOn are the caps that a launch from a pool counts against: that of the cluster, and that of the pool.
func (s Set) CapsOn(pool string, labels map[string]string) []Cap {
	out := s.CapsOnCluster()
	if one, capped := s.PoolCap(pool, labels); capped {
		out = append(out, one)
	}
	return out
}

// CapsOnCluster are the caps that the launch of a NodeClaim of no pool counts against.
func (s Set) CapsOnCluster() []Cap {
	if one, capped := s.ClusterCap(); capped {
		return []Cap{one}
	}
	return nil
}

// Capped reports whether there is any cap.
func (s Set) Capped() bool {
	return slices.ContainsFunc(s, func(p Policy) bool { return p.PoolCap != nil || p.ClusterCap != nil })
}

// Spend is what nodes cost, launches in flight included.
type Spend struct {
	pools map[string]Dollars
	total Dollars
	// unpriced are NodeClaims with a price that is not known, by pool.
	unpriced map[string][]string
}

// Add counts a NodeClaim. A price of MostDollars is one that is not known.
func (s *Spend) Add(pool, claim string, price Dollars) {
	if s.pools == nil {
		s.pools, s.unpriced = map[string]Dollars{}, map[string][]string{}
	}
	if price == MostDollars {
		s.unpriced[pool] = append(s.unpriced[pool], claim)
		return
	}
	s.pools[pool] = s.pools[pool].Plus(price)
	s.total = s.total.Plus(price)
}

// Of is what counts against a cap.
func (s *Spend) Of(c Cap) Dollars {
	if c.Pool == "" {
		return s.total
	}
	return s.pools[c.Pool]
}

// unpricedFor are the NodeClaims that count against a cap with a price that is not known, sorted.
func (s *Spend) unpricedFor(c Cap) []string {
	if c.Pool != "" {
		return slices.Sorted(slices.Values(s.unpriced[c.Pool]))
	}
	var all []string
	for list := range maps.Values(s.unpriced) {
		all = append(all, list...)
	}
	slices.Sort(all)
	return all
}

// Left is the highest price of a launch that a cap admits. It is 0 while the price of a node that counts is not known: no launch is known to
// stay within the cap then. why says so; it is empty otherwise.
func (s *Spend) Left(c Cap) (left Dollars, why string) {
	if list := s.unpricedFor(c); len(list) > 0 {
		return 0, fmt.Sprintf("the price of %s is not known", listed(list))
	}
	return max(c.Limit-s.Of(c), 0), ""
}

// UsedOf is what caps have left. One that counts a node whose price is not known leaves nothing.
func (s *Spend) UsedOf(caps []Cap) []UsedCap {
	out := make([]UsedCap, len(caps))
	for i, one := range caps {
		out[i] = UsedCap{Cap: one, Used: s.Of(one)}
		if _, why := s.Left(one); why != "" {
			out[i].Used = max(out[i].Used, one.Limit)
		}
	}
	return out
}

// mostListed is how many names a text lists.
const mostListed = 3

func listed(names []string) string {
	if more := len(names) - mostListed; more > 0 {
		return fmt.Sprintf("NodeClaims %s and %d more", strings.Join(names[:mostListed], ", "), more)
	}
	return "NodeClaims " + strings.Join(names, ", ")
}

// ExceededError is why a launch would exceed a cap.
type ExceededError struct {
	Cap Cap
	// Price is the most that the launch may cost, Spent what counts already.
	Price, Spent Dollars
	// Why is set if the price of a node that counts is not known.
	Why string
}

// Error implements error.
func (e *ExceededError) Error() string {
	of := "the cluster"
	if e.Cap.Pool != "" {
		of = fmt.Sprintf("nodepool %q", e.Cap.Pool)
	}
	text := fmt.Sprintf("launch exceeds the cost cap of %s (policy=%s, cap=%s, used or in flight=%s, launch up to=%s)", of, e.Cap.Policy, e.Cap.Limit, e.Spent, e.Price)
	if e.Why != "" {
		text += ", " + e.Why
	}
	return text
}

// Admit returns an ExceededError if a launch with a price of at most this would exceed one of the caps, and nil otherwise.
func (s *Spend) Admit(price Dollars, caps ...Cap) error {
	for _, c := range caps {
		if left, why := s.Left(c); price > left || why != "" {
			return &ExceededError{Cap: c, Price: price, Spent: s.Of(c), Why: why}
		}
	}
	return nil
}
