package cluster

import (
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

func goingClaim(name, providerID string) *v1.NodeClaim {
	c := claim(name, providerID)
	c.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	return c
}

func TestNodeClaimCounts(t *testing.T) {
	t.Attr("covers", "L390")
	for name, c := range map[string]struct {
		apply func(*Store)
		want  NodeClaimCounts
	}{
		"a claim without a provider id is active": {func(s *Store) { s.UpdateNodeClaim(claim("a", "")) }, NodeClaimCounts{Active: 1}},
		"a claim with a provider id is active":    {func(s *Store) { s.UpdateNodeClaim(claim("a", "test://1")) }, NodeClaimCounts{Active: 1}},
		"a claim counts from its creation":        {func(s *Store) { s.Created(claim("a", ""), time.Now()) }, NodeClaimCounts{Active: 1}},
		"the watch does not count it again": {func(s *Store) {
			s.Created(claim("a", ""), time.Now())
			s.UpdateNodeClaim(claim("a", ""))
			s.UpdateNodeClaim(claim("a", ""))
		}, NodeClaimCounts{Active: 1}},
		"a claim without a pool counts nowhere": {func(s *Store) {
			c := claim("a", "")
			c.Labels = nil
			s.UpdateNodeClaim(c)
		}, NodeClaimCounts{}},
		"claims of other pools do not count": {func(s *Store) {
			c := claim("a", "")
			c.Labels = map[string]string{v1.NodePoolLabelKey: "other"}
			s.UpdateNodeClaim(c)
			s.UpdateNodeClaim(claim("b", ""))
		}, NodeClaimCounts{Active: 1}},
		"a claim that gets a provider ID is counted once": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", ""))
			s.UpdateNodeClaim(claim("a", "test://1"))
		}, NodeClaimCounts{Active: 1}},
		"a claim whose provider id changes is still one": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.UpdateNode(node("n", "test://1"))
			s.UpdateNodeClaim(claim("a", "test://2"))
		}, NodeClaimCounts{Active: 1}},
		"a claim with a deletion timestamp is deleting": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.UpdateNodeClaim(goingClaim("a", "test://1"))
		}, NodeClaimCounts{Deleting: 1}},
		"a claim whose instance terminates is deleting": {func(s *Store) {
			c := claim("a", "test://1")
			condition.For(c, time.Now()).True(v1.ConditionTypeInstanceTerminating)
			s.UpdateNodeClaim(c)
		}, NodeClaimCounts{Deleting: 1}},
		"a marked claim is deleting, also once it gets a provider ID": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", ""))
			s.Mark("nodeclaim/a")
			s.UpdateNodeClaim(claim("a", "test://1"))
		}, NodeClaimCounts{Deleting: 1}},
		"unmarking makes it active again": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.Mark("test://1")
			s.Unmark("test://1")
		}, NodeClaimCounts{Active: 1}},
		"a claim that is gone counts nowhere": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.UpdateNode(node("n", "test://1"))
			s.Pools.BeginReplacement("test://1")
			s.DeleteNodeClaim("a")
		}, NodeClaimCounts{}},
		"of two claims with one provider ID the later one counts": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.UpdateNodeClaim(claim("b", "test://1"))
			s.DeleteNodeClaim("a")
			s.Snapshot()
		}, NodeClaimCounts{Active: 1}},
		"and the earlier leaves no trace": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.UpdateNodeClaim(claim("b", "test://1"))
			s.DeleteNodeClaim("b")
			s.DeleteNodeClaim("a")
			s.Snapshot()
		}, NodeClaimCounts{}},
		"and counts again with another provider ID": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.UpdateNodeClaim(claim("b", "test://1"))
			s.DeleteNodeClaim("b")
			s.UpdateNodeClaim(claim("a", "test://2"))
		}, NodeClaimCounts{Active: 1}},
		"a claim that is being replaced is pending disruption": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.UpdateNodeClaim(claim("b", "test://2"))
			s.Pools.BeginReplacement("test://1", "test://unknown")
		}, NodeClaimCounts{Active: 1, PendingDisruption: 1}},
		"and stays so without the claims beside it": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.UpdateNodeClaim(claim("b", "test://2"))
			s.Pools.BeginReplacement("test://1")
			s.DeleteNodeClaim("b")
		}, NodeClaimCounts{PendingDisruption: 1}},
		"and is deleting once it is marked": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.Pools.BeginReplacement("test://1")
			s.Mark("test://1")
		}, NodeClaimCounts{Deleting: 1}},
		"a claim whose pool changed counts once": {func(s *Store) {
			s.UpdateNodeClaim(claimOf("other", "a"))
			s.UpdateNodeClaim(claim("a", "test://1"))
		}, NodeClaimCounts{Active: 1}},
		"a claim that left for another pool does not count": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.UpdateNodeClaim(claimOf("other", "a"))
		}, NodeClaimCounts{}},
		"an abandoned replacement makes it active again": {func(s *Store) {
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.Pools.BeginReplacement("test://1")
			s.Mark("test://1")
			s.Unmark("test://1")
			s.Pools.EndReplacement("test://1")
		}, NodeClaimCounts{Active: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			c.apply(s)
			if got := s.Pools.Counts("default"); got != c.want {
				t.Errorf("counted %+v, want %+v", got, c.want)
			}
			if got := s.Pools.Claims("default"); len(got) != c.want.Active+c.want.PendingDisruption+c.want.Deleting {
				t.Errorf("%d claims listed, want as many as were counted", len(got))
			}
			if got := s.Pools.Counts("no such pool"); got != (NodeClaimCounts{}) {
				t.Errorf("an unknown pool has %+v", got)
			}
		})
	}
}

func claimOf(pool, name string) *v1.NodeClaim {
	c := claim(name, "")
	c.Labels = map[string]string{v1.NodePoolLabelKey: pool}
	return c
}

// manyPools is a store with as many NodePools as given, of twenty NodeClaims each.
func manyPools(pools int) *Store {
	s := newStore()
	for pool := range pools {
		for i := range 20 {
			s.UpdateNodeClaim(claimOf(fmt.Sprint(pool), fmt.Sprintf("%d-%d", pool, i)))
		}
	}
	return s
}

// BenchmarkPoolUsage computes the usage of each of many pools once.
func BenchmarkPoolUsage(b *testing.B) {
	const pools = 1000
	s := manyPools(pools)
	f := NewWatcher(s, clock.RealClock{})
	close(f.ready)
	usage := NewUsage(s, f)
	b.ReportAllocs()
	for b.Loop() {
		for pool := range pools {
			if _, ok := usage.PoolUsage(fmt.Sprint(pool)); !ok {
				b.Fatal("not ready")
			}
		}
	}
}

// BenchmarkCounts counts the NodeClaims of each of many pools once.
func BenchmarkCounts(b *testing.B) {
	const pools = 1000
	s := manyPools(pools)
	b.ReportAllocs()
	for b.Loop() {
		for pool := range pools {
			if s.Pools.Counts(fmt.Sprint(pool)).Active != 20 {
				b.Fatal("claims are missing")
			}
		}
	}
}

func TestClaimsOfAPoolAreListedByName(t *testing.T) {
	s := newStore()
	s.UpdateNodeClaim(claim("b", "test://2"))
	s.UpdateNodeClaim(goingClaim("a", ""))
	s.UpdateNode(node("n", "test://2"))
	got := s.Pools.Claims("default")
	if len(got) != 2 || got[0].Claim.Name != "a" || got[0].ID != "nodeclaim/a" || got[0].Phase != Deleting || got[0].Node != nil ||
		got[1].Claim.Name != "b" || got[1].ID != "test://2" || got[1].Phase != Active || got[1].Node.Name != "n" {
		t.Errorf("listed %+v", got)
	}
}

func TestReservations(t *testing.T) {
	t.Attr("covers", "L391 W002")
	atMost := func(n int64) *int64 { return &n }
	populated := func() *Store {
		s := newStore()
		s.UpdateNodeClaim(claim("active", "test://1"))
		s.UpdateNodeClaim(claim("replaced", "test://2"))
		s.UpdateNodeClaim(goingClaim("deleting", "test://3"))
		s.Pools.BeginReplacement("test://2")
		return s
	}
	for name, c := range map[string]struct {
		wanted int
		limit  *int64
		want   int
	}{
		"full":                          {2, atMost(5), 2},
		"partial":                       {3, atMost(5), 2},
		"none, the limit is reached":    {1, atMost(3), 0},
		"none, the limit is exceeded":   {1, atMost(1), 0},
		"none was wanted":               {0, atMost(9), 0},
		"fewer than none was wanted":    {-2, atMost(9), 0},
		"without a limit everything is": {1000, nil, 1000},
		"a limit of zero":               {1, atMost(0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := populated()
			if got := s.Pools.Reserve("default", c.wanted, c.limit); got.Left() != c.want || s.Pools.Counts("default").Reserved != c.want {
				t.Errorf("granted %d, counted %d, want %d", got.Left(), s.Pools.Counts("default").Reserved, c.want)
			}
		})
	}

	t.Run("what others reserved counts until it is released", func(t *testing.T) {
		s := populated()
		first := s.Pools.Reserve("default", 1, atMost(5))
		second := s.Pools.Reserve("default", 9, atMost(5))
		if second.Left() != 1 {
			t.Errorf("granted %d beside another reservation, want 1", second.Left())
		}
		first.Release(1)
		if third := s.Pools.Reserve("default", 9, atMost(5)); third.Left() != 1 {
			t.Errorf("granted %d after the release, want 1", third.Left())
		}
	})
	t.Run("releasing more than was reserved leaves zero", func(t *testing.T) {
		t.Attr("covers", "N239")
		s := populated()
		other := s.Pools.Reserve("default", 1, nil)
		r := s.Pools.Reserve("default", 2, nil)
		r.Release(5)
		r.Release(1)
		r.Release(-1)
		if got := s.Pools.Counts("default").Reserved; got != other.Left() || r.Left() != 0 {
			t.Errorf("%d reserved, want only the remaining one", got)
		}
	})
	t.Run("a pool whose claims are all gone, or that never had any", func(t *testing.T) {
		t.Attr("covers", "N239")
		s := newStore()
		s.UpdateNodeClaim(claim("a", "test://1"))
		s.Pools.Reserve("never", 0, nil).Release(1)
		r, never := s.Pools.Reserve("default", 2, nil), s.Pools.Reserve("never", 0, nil)
		s.DeleteNodeClaim("a")
		if got := s.Pools.Counts("default"); got != (NodeClaimCounts{Reserved: 2}) {
			t.Errorf("%+v, want the reservation to outlive the last claim", got)
		}
		r.Release(2)
		never.Release(1)
		if got := s.Pools.Counts("default"); got != (NodeClaimCounts{}) {
			t.Errorf("%+v after the release", got)
		}
	})
	t.Run("concurrent callers stay within the limit", func(t *testing.T) {
		s := newStore()
		var all sync.WaitGroup
		for caller := range 20 {
			all.Go(func() {
				r := s.Pools.Reserve("default", 3, atMost(25))
				for i := range r.Left() {
					s.Created(claim(fmt.Sprintf("c%d-%d", caller, i), ""), time.Now())
					r.Release(1)
				}
			})
		}
		all.Wait()
		// A claim and its reservation count twice for a moment, so that some callers may have been granted too little.
		got := s.Pools.Counts("default")
		if got.Active > 25 || got.Reserved != 0 {
			t.Errorf("counted %+v, want at most the limit of 25 and no reservation", got)
		}
		if rest := s.Pools.Reserve("default", 100, atMost(25)); got.Active+rest.Left() != 25 {
			t.Errorf("%d active and %d more granted, want 25 together", got.Active, rest.Left())
		}
	})
}

func TestListenersAreNotifiedOfEveryChange(t *testing.T) {
	s := newStore()
	var heard []string
	s.Pools.OnChange(func(pool string) { heard = append(heard, pool) })
	for _, step := range []struct {
		name string
		do   func()
		want int
	}{
		{"a claim appears", func() { s.Created(claim("a", ""), time.Now()) }, 1},
		{"the watch shows it", func() { s.UpdateNodeClaim(claim("a", "")) }, 0},
		{"it gets a provider ID", func() { s.UpdateNodeClaim(claim("a", "test://1")) }, 0},
		{"it is being replaced", func() { s.Pools.BeginReplacement("test://1") }, 1},
		{"it is marked", func() { s.Mark("test://1") }, 1},
		{"it is marked again", func() { s.Mark("test://1") }, 0},
		{"the mark is taken back", func() { s.Unmark("test://1") }, 1},
		{"it is being deleted", func() { s.UpdateNodeClaim(goingClaim("a", "test://1")) }, 1},
		{"it is gone", func() { s.DeleteNodeClaim("a") }, 1},
		{"it is gone again", func() { s.DeleteNodeClaim("a") }, 0},
	} {
		heard = nil
		step.do()
		if len(heard) != step.want || step.want == 1 && heard[0] != "default" {
			t.Errorf("%s: heard %q, want %d times of the pool", step.name, heard, step.want)
		}
	}
}
