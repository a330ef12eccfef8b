package bookkeeper

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/cost"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// maxClaim is the longest time for which a command counts as saving. Without it, it is less and less likely that the removed nodes would
// still be there.
const maxClaim = 24 * time.Hour

// savings counts what disruption commands save.
//
// Problem: what a command saves is the difference to a fleet that does not exist. Approach: a command that has succeeded claims the
// difference between what it removed and what it launched, at the prices of that moment. The claim counts over time, and ends when that
// difference is plausibly gone: after a day, when the first of the removed nodes would have expired, or when one of the replacements is
// being deleted. Claims are kept in memory only: those of an earlier leader do not count on.
type savings struct {
	books  *Books
	gauges *observe.GaugeStore

	mu     sync.Mutex
	claims []*account
}

// account is a claim that counts.
type account struct {
	record ledger.Saving
	// rates are in dollars per hour, by NodePool.
	rates map[string]float64
	// from is when it began, counted when it was last counted, until when it ends at the latest and why.
	from, counted, until time.Time
	end                  ledger.SavingEnd
	dollars              float64
}

func newSavings(b *Books) *savings { return &savings{books: b, gauges: observe.NewGaugeStore()} }

// Done is a disruption command that has succeeded.
type Done struct {
	// Command is its ID, Method the name of its method, and Reason the reason of that.
	Command, Method, Reason string
	// Removed are the nodes whose NodeClaims are deleted, Launched the names of the NodeClaims that replace them.
	Removed  []*model.Node
	Launched []string
}

// Succeeded claims the savings of a command. Books must not be nil.
func (b *Books) Succeeded(ctx context.Context, done Done) {
	now := b.clock.Now()
	record := ledger.Saving{Event: ledger.SavingClaimed, Command: done.Command, Method: done.Method, Reason: done.Reason}
	until, end := now.Add(maxClaim), ledger.EndedByTime
	for _, n := range done.Removed {
		record.Removed = append(record.Removed, b.State(ctx, n))
		if expiry := n.Disruption.Expires(); !expiry.IsZero() && expiry.Before(until) {
			until, end = expiry, ledger.EndedByExpiry
		}
	}
	for _, name := range done.Launched {
		record.Launched = append(record.Launched, b.launched(ctx, name))
	}
	record.Compare()
	record.MaxSeconds = max(until.Sub(now).Seconds(), 0)
	b.Append(ledger.Record{Kind: ledger.KindSaving, Saving: &record})
	if record.PerHour == nil {
		for _, pool := range record.Pools() {
			b.metrics.Ledger.Unpriced.WithLabelValues(pool, strings.ToLower(done.Reason)).Inc()
		}
		return
	}
	b.savings.add(&account{record: record, rates: maps.Clone(record.ByNodePool), from: now, counted: now, until: until, end: end})
}

// launched is a replacement with its price; without one if it cannot be read.
func (b *Books) launched(ctx context.Context, name string) ledger.NodeClaimState {
	object := &v1.NodeClaim{}
	if err := b.prices.client.Get(ctx, client.ObjectKey{Name: name}, object); err != nil {
		return ledger.NodeClaimState{Name: name}
	}
	return b.priced(ctx, object)
}

// priced is a NodeClaim with its price.
func (b *Books) priced(ctx context.Context, object *v1.NodeClaim) ledger.NodeClaimState {
	out := stateOf(object)
	if out.InstanceType != "" {
		o := cost.Offering{InstanceType: out.InstanceType, Zone: out.Zone, CapacityType: out.CapacityType}
		out.Price = ledger.Known(b.prices.of(ctx, out.NodePool).price(o))
	}
	return out
}

func (s *savings) add(c *account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims = append(s.claims, c)
	s.show()
}

// count counts all claims until now, and ends those whose time is over.
func (s *savings) count(now time.Time) {
	s.finish(now, func(c *account) (ledger.SavingEnd, bool) { return c.end, !now.Before(c.until) })
}

// removed ends the claims that a NodeClaim, which is being deleted, was a replacement of.
func (s *savings) removed(name string, now time.Time) {
	s.finish(now, func(c *account) (ledger.SavingEnd, bool) {
		return ledger.EndedByReplacement, slices.ContainsFunc(c.record.Launched, func(l ledger.NodeClaimState) bool { return l.Name == name })
	})
}

// stop ends all claims.
func (s *savings) stop(now time.Time) {
	s.finish(now, func(*account) (ledger.SavingEnd, bool) { return ledger.EndedByStop, true })
}

// finish counts all claims until now, and ends those that ended selects.
func (s *savings) finish(now time.Time, ended func(*account) (ledger.SavingEnd, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.claims) == 0 {
		return
	}
	s.claims = slices.DeleteFunc(s.claims, func(c *account) bool {
		s.accrue(c, now)
		why, over := ended(c)
		if over {
			s.books.Append(ledger.Record{Kind: ledger.KindSaving, Saving: &ledger.Saving{
				Event: ledger.SavingEnded, Command: c.record.Command, Method: c.record.Method, Reason: c.record.Reason, PerHour: c.record.PerHour,
				ByNodePool: c.record.ByNodePool, Seconds: c.counted.Sub(c.from).Seconds(), Dollars: c.dollars, End: why,
			}})
		}
		return over
	})
	s.show()
}

// accrue counts a claim until now, or until its end.
func (s *savings) accrue(c *account, now time.Time) {
	if now.After(c.until) {
		now = c.until
	}
	hours := now.Sub(c.counted).Hours()
	if hours <= 0 {
		return
	}
	c.counted = now
	metrics, reason := s.books.metrics.Ledger, strings.ToLower(c.record.Reason)
	for pool, rate := range c.rates {
		c.dollars += rate * hours
		if rate >= 0 {
			metrics.Savings.WithLabelValues(pool, reason).Add(rate * hours)
		} else {
			metrics.AddedCost.WithLabelValues(pool, reason).Add(-rate * hours)
		}
	}
}

// show sets the gauges of what is saved now.
func (s *savings) show() {
	type series struct{ pool, reason string }
	rates := map[series]float64{}
	for _, c := range s.claims {
		for pool, rate := range c.rates {
			rates[series{pool, strings.ToLower(c.record.Reason)}] += rate
		}
	}
	samples := make(map[string][]observe.Sample, len(rates))
	for at, rate := range rates {
		samples[at.pool+"/"+at.reason] = []observe.Sample{{Gauge: s.books.metrics.Ledger.SavingsRate, Labels: []string{at.pool, at.reason}, Value: rate}}
	}
	s.gauges.ReplaceAll(samples)
}

// forget drops what concerns NodePools that are gone, with their series.
func (s *savings) forget(exists map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.claims {
		for pool := range c.rates {
			if exists[pool] {
				continue
			}
			delete(c.rates, pool)
			for _, family := range []*prometheus.CounterVec{s.books.metrics.Ledger.Savings, s.books.metrics.Ledger.AddedCost} {
				family.DeletePartialMatch(prometheus.Labels{"nodepool": pool})
			}
		}
	}
	s.claims = slices.DeleteFunc(s.claims, func(c *account) bool { return len(c.rates) == 0 })
	s.show()
}
