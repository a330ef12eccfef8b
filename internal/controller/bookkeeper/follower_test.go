package bookkeeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// catalog is a provider whose instance types have these prices, on demand in zone-1.
type catalog struct {
	cloud.Provider
	prices map[string]float64
	err    error
}

func (c *catalog) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	var out []*cloud.InstanceType
	for name, price := range c.prices {
		out = append(out, &cloud.InstanceType{Name: name, Offerings: []cloud.Offering{{
			Requirements: []v1.NodeSelectorRequirementWithMinValues{
				cloud.In(corev1.LabelTopologyZone, "zone-1"), cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand),
			},
			Price: price, Available: true,
		}}})
	}
	return out, c.err
}

// bench is a follower without watches: the test shows it NodeClaims.
type bench struct {
	*testing.T
	f       *Follower
	books   *Books
	book    *ledger.Ledger
	clock   *clocktesting.FakeClock
	catalog *catalog
	api     client.Client
}

func newBench(t *testing.T) *bench {
	t.Helper()
	w := &bench{T: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)), catalog: &catalog{prices: map[string]float64{"large": 4, "small": 1}}}
	w.book = ledger.New(w.clock.Now, 1<<20, nil)
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}}
	w.api = apiserver.New().WithObjects(pool).Build()
	c := cloud.Cloud{Name: "test", Provider: w.catalog, NodeClasses: []cloud.NodeClass{{
		GVK: kwok.SchemeGroupVersion.WithKind("KWOKNodeClass"), New: func() cloud.NodeClassObject { return &kwok.KWOKNodeClass{} },
	}}}
	w.books = New(Deps{Ledger: w.book, Clock: w.clock, Client: w.api, Cloud: c, Metrics: observe.NewMetrics(prometheus.NewRegistry(), nil)})
	w.book.Begin(ledger.Start{Run: w.books.run}, nil, 1)
	w.f = NewFollower(w.books, c, nil, slog.New(slog.DiscardHandler))
	return w
}

// claim is a NodeClaim of an instance type with these conditions; empty for one that is not launched.
func claim(name, instanceType string, conditions ...string) *v1.NodeClaim {
	out := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-uid"), Labels: map[string]string{v1.NodePoolLabelKey: "pool"}}}
	if instanceType != "" {
		out.Labels[corev1.LabelInstanceTypeStable], out.Labels[corev1.LabelTopologyZone] = instanceType, "zone-1"
		out.Labels[v1.CapacityTypeLabelKey] = v1.CapacityTypeOnDemand
		out.Status.ProviderID, out.Status.Allocatable = "test://"+name, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	}
	set := condition.For(out, time.Now())
	for _, c := range conditions {
		set.True(c)
	}
	return out
}

// told are the records of these kinds after a number, and the number of the last one.
func (w *bench) told(after uint64, kinds ...ledger.Kind) (out []string, last uint64) {
	w.Helper()
	lines, cover, err := w.book.Read(ledger.Filter{After: after, Kinds: kinds})
	if err != nil {
		w.Fatal(err)
	}
	for _, line := range lines {
		r, err := ledger.Decode(line)
		if err != nil {
			w.Fatal(err)
		}
		out = append(out, r.Summary())
	}
	return out, cover.Last
}

func (w *bench) want(got []string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Error(diff)
	}
}

func TestLifeOfNodeClaims(t *testing.T) {
	w := newBench(t)
	w.f.follow(t.Context(), claim("old", "large", v1.ConditionTypeLaunched, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized))
	w.f.reprice(t.Context())
	w.f.list()
	got, last := w.told(0)
	w.want(got[1:], "lists 1 nodeclaim (part 1 of 1)")
	if c := w.books.FleetCost(0, 0); c.Before != 4 || c.Unpriced != 0 {
		t.Errorf("the fleet costs %+v", c)
	}
	w.f.follow(t.Context(), claim("new", ""))
	w.f.follow(t.Context(), claim("new", "small", v1.ConditionTypeLaunched))
	w.f.follow(t.Context(), claim("new", "small", v1.ConditionTypeLaunched))
	// The watch may skip versions.
	w.f.follow(t.Context(), claim("new", "small", v1.ConditionTypeLaunched, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized))
	if c := w.books.FleetCost(-1, 1); c.Before != 5 || c.After != 4 || c.Unpriced != 1 {
		t.Errorf("the fleet costs %+v", c)
	}
	going := claim("old", "large", v1.ConditionTypeLaunched)
	now := metav1.Now()
	going.DeletionTimestamp = &now
	w.f.follow(t.Context(), going)
	w.f.follow(t.Context(), going)
	w.f.gone(going)
	w.f.gone(going)
	again := claim("new", "", v1.ConditionTypeLaunched)
	again.UID = "another"
	w.f.follow(t.Context(), again)
	got, _ = w.told(last)
	w.want(got,
		"new launched, small on-demand zone-1 $1.0000/h", "new registered, small on-demand zone-1 $1.0000/h", "new initialized, small on-demand zone-1 $1.0000/h",
		"old deleting, large on-demand zone-1 $4.0000/h", "old deleted, large on-demand zone-1 $4.0000/h",
		"new deleted, small on-demand zone-1 $1.0000/h", "new launched")
	if c := w.books.FleetCost(0, 0); c.Before != 0 {
		t.Errorf("the fleet costs %+v in the end", c)
	}
}

func TestPricesFollowTheCloud(t *testing.T) {
	w := newBench(t)
	if w.books.FleetCost(0, 0) != nil {
		t.Error("there is a cost before the fleet is known")
	}
	w.f.follow(t.Context(), claim("a", "large", v1.ConditionTypeLaunched))
	w.f.follow(t.Context(), claim("b", "unlisted", v1.ConditionTypeLaunched))
	w.f.reprice(t.Context())
	w.catalog.prices["large"] = 3
	if c := w.books.FleetCost(0, 0); c.Before != 4 || c.Unpriced != 1 {
		t.Errorf("the fleet costs %+v", c)
	}
	w.clock.Step(2 * pricePeriod)
	w.f.reprice(t.Context())
	if c := w.books.FleetCost(0, 0); c.Before != 3 || c.Unpriced != 1 {
		t.Errorf("after a change of prices the fleet costs %+v", c)
	}
	w.catalog.err = errors.New("down")
	w.clock.Step(2 * pricePeriod)
	w.f.reprice(t.Context())
	if c := w.books.FleetCost(0, 0); c.Before != 3 {
		t.Errorf("while prices cannot be listed the fleet costs %+v", c)
	}
}

// node is a node of the pool; expires is how long after now it expires, 0 for never.
func (w *bench) node(name, instanceType string, expires time.Duration) *model.Node {
	n := &model.Node{ClaimName: name, NodeName: name, Pool: "pool", Labels: claim(name, instanceType).Labels}
	if expires > 0 {
		n.Disruption.Created, n.Disruption.ExpireAfter = w.clock.Now().Add(-time.Hour).UnixNano(), expires+time.Hour
	}
	return n
}

func TestSavingsAreCountedUntilTheyEnd(t *testing.T) {
	for _, tt := range []struct {
		name           string
		removed        string
		expires        time.Duration
		launched       string
		hours          int
		change         func(w *bench)
		savings, added float64
		end            string
	}{
		{"a day at most", "large", 0, "small", 100, nil, 72, 0, "Elapsed: $72.0000 in 24h0m0s"},
		{"until the node would have expired", "large", 5 * time.Hour, "small", 100, nil, 15, 0, "Expired: $15.0000 in 5h0m0s"},
		{"a node without a replacement", "large", 0, "", 10, nil, 40, 0, ""},
		{"a replacement that costs more", "small", 0, "large", 10, nil, 0, 30, ""},
		{"until the replacement is removed", "large", 0, "small", 2, func(w *bench) { w.books.savings.removed("next", w.clock.Now()) }, 6, 0, "ReplacementRemoved: $6.0000 in 2h0m0s"},
		{"until the process stops", "large", 0, "small", 1, func(w *bench) { w.books.savings.stop(w.clock.Now()) }, 3, 0, "Stopped: $3.0000 in 1h0m0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newBench(t)
			done := Done{Command: "c", Method: "m", Reason: "Underutilized", Removed: []*model.Node{w.node("last", tt.removed, tt.expires)}}
			if tt.launched != "" {
				next := claim("next", tt.launched, v1.ConditionTypeLaunched)
				if err := w.api.Create(t.Context(), next); err != nil {
					t.Fatal(err)
				}
				done.Launched = []string{"next"}
			}
			w.books.Succeeded(t.Context(), done)
			for range tt.hours {
				w.clock.Step(time.Hour)
				w.books.savings.count(w.clock.Now())
			}
			if tt.change != nil {
				tt.change(w)
			}
			w.clock.Step(time.Minute) // what has ended counts no more
			if tt.end != "" {
				w.books.savings.count(w.clock.Now())
			}
			m := w.books.metrics.Ledger
			savings, added := testutil.ToFloat64(m.Savings.WithLabelValues("pool", "underutilized")), testutil.ToFloat64(m.AddedCost.WithLabelValues("pool", "underutilized"))
			if fmt.Sprintf("%.6f %.6f", savings, added) != fmt.Sprintf("%.6f %.6f", tt.savings, tt.added) {
				t.Errorf("$%v are saved and $%v added", savings, added)
			}
			got, _ := w.told(0, ledger.KindSaving)
			if ended := len(got) == 2; ended != (tt.end != "") || ended && !strings.Contains(got[1], tt.end) {
				t.Errorf("records: %q", got)
			}
			if series := testutil.CollectAndCount(m.SavingsRate); (series == 0) != (tt.end != "") {
				t.Errorf("there are %d series of rates", series)
			}
		})
	}
}

func TestSavingsOfUnknownPricesAreNotCounted(t *testing.T) {
	w := newBench(t)
	w.books.Succeeded(t.Context(), Done{Command: "c", Reason: "Empty", Removed: []*model.Node{w.node("a", "large", 0), w.node("b", "unlisted", 0)}})
	w.clock.Step(time.Hour)
	w.books.savings.count(w.clock.Now())
	m := w.books.metrics.Ledger
	if n := testutil.CollectAndCount(m.Savings); n != 0 || testutil.ToFloat64(m.Unpriced.WithLabelValues("pool", "empty")) != 1 {
		t.Errorf("there are %d series of savings", n)
	}
	got, _ := w.told(0, ledger.KindSaving)
	w.want(got, "Empty of a, b is not counted, prices are not known of b, command c")
}

func TestSavingsOfDeletedNodePoolsAreForgotten(t *testing.T) {
	w := newBench(t)
	w.books.Succeeded(t.Context(), Done{Command: "c", Reason: "Empty", Removed: []*model.Node{w.node("a", "large", 0)}})
	w.clock.Step(time.Hour)
	w.f.count(t.Context())
	m := w.books.metrics.Ledger
	if n := testutil.CollectAndCount(m.Savings); n != 1 {
		t.Errorf("there are %d series of savings", n)
	}
	if err := w.api.Delete(t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}}); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(time.Hour)
	w.f.count(t.Context())
	if a, b := testutil.CollectAndCount(m.Savings), testutil.CollectAndCount(m.SavingsRate); a != 0 || b != 0 {
		t.Errorf("%d series of savings and %d of rates are left", a, b)
	}
}

func TestNoBooksRecordNothing(*testing.T) {
	var b *Books
	b.Append(ledger.Record{})
	b.Created(claim("a", ""), "provisioned", "", ledger.Names{}, ledger.Names{})
	b.Disrupted(claim("a", ""), "expired", "")
}

// TestQueuedVersionsAreReplaced checks that the queue is bounded by the NodeClaims while prices are slow, and that no step of a life is lost.
func TestQueuedVersionsAreReplaced(t *testing.T) {
	w := newBench(t)
	w.f.list()
	_, last := w.told(0)
	w.f.put(event{claim: claim("a", "")})
	launched := claim("a", "small", v1.ConditionTypeLaunched)
	for range 100_000 {
		w.f.put(event{claim: launched})
	}
	w.f.put(event{claim: claim("a", "small", v1.ConditionTypeLaunched, v1.ConditionTypeRegistered)})
	w.f.put(event{claim: claim("a", "small"), gone: true})
	if n := len(w.f.queue); n != 2 {
		t.Errorf("%d events wait, want 2", n)
	}
	w.f.drain(t.Context())
	got, _ := w.told(last)
	w.want(got, "a launched, small on-demand zone-1 $1.0000/h", "a registered, small on-demand zone-1 $1.0000/h", "a deleted, small on-demand zone-1 $1.0000/h")
}
