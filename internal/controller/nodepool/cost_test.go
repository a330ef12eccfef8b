package nodepool_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodepool"
	"github.com/karpenter-anew/karpenter/internal/cost"
)

// offerings are the offerings in use that the test changes.
type offerings struct {
	mu     sync.Mutex
	byPool map[string][]cost.Offering
}

func (b *offerings) Purchases() (map[string][]cost.Offering, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byPool, b.byPool != nil
}

// set sets the instances of the NodePools, each given as an instance type.
func (b *offerings) set(byPool map[string][]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.byPool = map[string][]cost.Offering{}
	for pool, types := range byPool {
		for _, name := range types {
			b.byPool[pool] = append(b.byPool[pool], cost.Offering{InstanceType: name, Zone: "zone-1", CapacityType: "spot"})
		}
	}
}

// priced is an instance type at a price.
func priced(name string, price float64) *cloud.InstanceType {
	return &cloud.InstanceType{Name: name, Offerings: []cloud.Offering{{
		Requirements: []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(corev1.LabelTopologyZone, "zone-1"), cloud.In(v1.CapacityTypeLabelKey, "spot"),
		},
		Price: price,
	}}}
}

// shop is a cloud whose instance types the test changes during calls.
type shop struct {
	cloud.Provider
	mu    sync.Mutex
	types []*cloud.InstanceType
	err   error
	asked int
}

// calls is how many times instance types were listed.
func (s *shop) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *shop) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.types, s.err
}

func (s *shop) sells(err error, types ...*cloud.InstanceType) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.types, s.err = types, err
}

// costs are the gauges, as text.
func costs(w *fakecluster.Cluster) string {
	out := ""
	for _, pool := range []string{"pool", "other", "foreign"} {
		if gauge := w.Metrics.NodePools.Cost; testutil.CollectAndCount(gauge) > 0 {
			value := testutil.ToFloat64(gauge.WithLabelValues(pool))
			out += fmt.Sprintf("%s=%v ", pool, value)
		}
	}
	return out
}

func TestCost(t *testing.T) {
	t.Attr("covers", "C539 C540 L397")
	synctest.Test(t, func(t *testing.T) {
		other, foreign := fakecluster.Pool(), fakecluster.Pool()
		other.Name, foreign.Name = "other", "foreign"
		foreign.Spec.Template.Spec.NodeClassRef = fakecluster.Unmanaged()
		w := fakecluster.New(t, fakecluster.Pool(), other, foreign)
		w.Clock = clock.RealClock{}
		market := &shop{}
		market.sells(nil, priced("small", 1), priced("large", 10))
		w.Cloud.Provider = market
		used := &offerings{}
		controller := nodepool.NewCost(w.Shared, used, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := controller.Start(ctx); err != nil {
				t.Error(err)
			}
		})
		after := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d) // of the bubble's clock, as all sleeps in this file: no real time passes
			synctest.Wait()
			if got := costs(w); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		fails := func() float64 { return w.Count("karpenter_nodepools_cost_tracker_errors_total") }

		after(10*time.Second, "") // nothing is read yet
		used.set(map[string][]string{"pool": {"small"}, "foreign": {"large"}})
		after(5*time.Second, "pool=1 other=0 foreign=0 ")
		used.set(map[string][]string{"pool": {"small", "small", "large"}, "other": {"large"}})
		after(5*time.Second, "pool=12 other=10 foreign=0 ")
		if got := testutil.ToFloat64(w.Metrics.NodePools.CostByOffering.WithLabelValues("pool", "spot", "zone-1")); got != 12 {
			t.Errorf("the spot nodes in zone-1 cost %v", got)
		}
		used.set(map[string][]string{"pool": {"small"}})
		after(5*time.Second, "pool=1 other=0 foreign=0 ")

		// An overlay, or the market, changes a price.
		market.sells(nil, priced("small", 3))
		after(time.Minute, "pool=3 other=0 foreign=0 ")
		used.set(map[string][]string{"pool": {"small", "large", "large"}}) // large is not offered any more
		after(5*time.Second, "pool=3 other=0 foreign=0 ")
		if got := testutil.ToFloat64(w.Metrics.NodePools.Unpriced.WithLabelValues("pool")); got != 2 {
			t.Errorf("%v nodeclaims without a price, want 2", got)
		}
		if got := fails(); got != 1 {
			t.Errorf("%v failures for an instance without a price, want 1", got)
		}
		after(30*time.Minute, "pool=3 other=0 foreign=0 ")
		if got := fails(); got != 1 {
			t.Errorf("%v failures half an hour later, want still 1", got)
		}

		// The last instance is terminated, and another one is launched.
		used.set(map[string][]string{})
		after(5*time.Second, "pool=0 other=0 foreign=0 ")
		used.set(map[string][]string{"pool": {"small"}})
		after(5*time.Second, "pool=3 other=0 foreign=0 ")

		// The last known prices stay while the cloud returns errors.
		market.sells(errors.New("throttled"))
		used.set(map[string][]string{"pool": {"small", "small"}})
		after(2*time.Minute, "pool=6 other=0 foreign=0 ")
		if got := fails(); got != 3 { // one for each managed pool
			t.Errorf("%v failures, want 3", got)
		}

		if err := w.Client.Delete(t.Context(), fakecluster.Pool()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if w.Metrics.NodePools.Cost.DeleteLabelValues("pool") {
			t.Error("a pool that is gone still costs something")
		}
		cancel()
		running.Wait()
	})
}

// TestCostIsUnknownUntilPricesAre checks that a pool whose prices cannot be listed at first has no cost instead of none, that the cloud
// is asked again soon, less often after each failure, and that the cost appears with the prices.
func TestCostIsUnknownUntilPricesAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fakecluster.New(t, fakecluster.Pool())
		w.Clock = clock.RealClock{}
		market := &shop{}
		market.sells(errors.New("throttled"))
		w.Cloud.Provider = market
		used := &offerings{}
		used.set(map[string][]string{"pool": {"small", "small"}})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = nodepool.NewCost(w.Shared, used, slog.New(slog.DiscardHandler)).Start(ctx) })
		expect := func(when string, unpriced float64, known bool) {
			t.Helper()
			synctest.Wait()
			if got := testutil.ToFloat64(w.Metrics.NodePools.Unpriced.WithLabelValues("pool")); got != unpriced {
				t.Errorf("%s: %v nodeclaims without a price, want %v", when, got, unpriced)
			}
			if got := testutil.CollectAndCount(w.Metrics.NodePools.Cost) == 1; got != known {
				t.Errorf("%s: the cost is known: %v", when, got)
			}
		}
		expect("at first", 2, false)
		if got := w.Count("karpenter_nodepools_cost_tracker_errors_total"); got != 1 {
			t.Errorf("%v failures, want 1: that prices are not listed", got)
		}
		time.Sleep(4 * time.Minute)
		if got := market.calls(); got < 6 || got > 8 { // after 5, 10, 20, 40, 60, 60 s
			t.Errorf("the cloud is asked %d times in four minutes", got)
		}
		expect("after four minutes", 2, false)
		market.sells(nil, priced("small", 3))
		time.Sleep(time.Minute)
		expect("once prices are listed", 0, true)
		if got := costs(w); got != "pool=6 other=0 foreign=0 " {
			t.Errorf("the cost is %s", got)
		}
		cancel()
		running.Wait()

		// A single failure at the start is made good within seconds.
		market = &shop{}
		market.sells(errors.New("throttled"))
		w.Cloud.Provider = market
		ctx, cancel = context.WithCancel(t.Context())
		running.Go(func() { _ = nodepool.NewCost(w.Shared, used, slog.New(slog.DiscardHandler)).Start(ctx) })
		time.Sleep(time.Second)
		market.sells(nil, priced("small", 4))
		time.Sleep(costRetry)
		synctest.Wait()
		if got := testutil.ToFloat64(w.Metrics.NodePools.Cost.WithLabelValues("pool")); got != 8 {
			t.Errorf("the cost is %v, want 8", got)
		}
		cancel()
		running.Wait()
	})
}

// costRetry is the time within which prices are listed again after a first failure.
const costRetry = 10 * time.Second

// TestCostIsSafe: instances and prices change while the cost is computed; in the end it matches the last ones.
func TestCostIsSafe(t *testing.T) {
	t.Attr("covers", "C541")
	synctest.Test(t, func(t *testing.T) {
		w := fakecluster.New(t, fakecluster.Pool())
		w.Clock = clock.RealClock{}
		market := &shop{}
		market.sells(nil, priced("small", 1))
		w.Cloud.Provider = market
		used := &offerings{}
		controller := nodepool.NewCost(w.Shared, used, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = controller.Start(ctx) })
		for i := range 20 {
			running.Go(func() {
				for range 50 {
					used.set(map[string][]string{"pool": make([]string, i)})
					market.sells(nil, priced("small", float64(i)))
					_ = costs(w)
					time.Sleep(time.Duration(i+1) * time.Second)
				}
			})
		}
		time.Sleep(time.Hour)
		used.set(map[string][]string{"pool": {"small", "small"}})
		market.sells(nil, priced("small", 7))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got, want := costs(w), "pool=14 other=0 foreign=0 "; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		cancel()
		running.Wait()
	})
}
