package topology

import "testing"

// counted is a group that knows domains 0 to len(counts)−1 with these counts.
func counted(kind Kind, counts ...int) *Group {
	g := &Group{Kind: kind, MaxSkew: 1}
	for d, n := range counts {
		g.AddDomain(d)
		g.Add(d, n)
	}
	return g
}

func TestSpreadMeasuresFromTheEmptiestKnownDomain(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts []int
		want   int
	}{
		{"a domain without pods", []int{3, 1, 0}, 0},
		{"domains with pods only", []int{3, 1}, 1},
		{"no known domain", nil, 0},
	} {
		if got := counted(KindSpread, c.counts...).MinCount(); got != c.want {
			t.Errorf("%s: floor %d, want %d", c.name, got, c.want)
		}
	}
}

func TestTooFewDomainsCountAsEmpty(t *testing.T) {
	t.Attr("covers", "L231")
	g := counted(KindSpread, 1, 1)
	g.MinDomains = 3
	floor := g.MinCount()
	if allowed := g.Allowed(0, floor, true); floor != 0 || allowed != 0 {
		t.Errorf("two domains of three: floor %d and allowed %d, want 0 and 0", floor, allowed)
	}
	g.AddDomain(2)
	g.Add(2, 1)
	floor = g.MinCount()
	if allowed := g.Allowed(0, floor, true); floor != 1 || allowed != 1 {
		t.Errorf("three domains of three: floor %d and allowed %d, want 1 and 1", floor, allowed)
	}
}

func TestSpreadAllowed(t *testing.T) {
	g := counted(KindSpread, 3, 1, 0)
	g.MaxSkew = 2
	for _, c := range []struct {
		domain, floor int
		self          bool
		want          int
	}{
		{0, 0, true, 0},
		{1, 0, true, 1},
		{2, 0, true, 2},
		{0, 0, false, 0},
		{0, 1, false, Unlimited},
		{7, 0, true, 0},
	} {
		if got := g.Allowed(c.domain, c.floor, c.self); got != c.want {
			t.Errorf("domain %d from floor %d, self %t: allowed %d, want %d", c.domain, c.floor, c.self, got, c.want)
		}
	}
	if got := g.AllowedOnHost(7, 0, true); got != 2 {
		t.Errorf("a new node: allowed %d, want the whole skew of 2", got)
	}
}

func TestAffinityFollowsMatchingPods(t *testing.T) {
	g := counted(KindAffinity, 0, 2)
	if g.Allowed(0, 0, true) != 0 || g.Allowed(1, 0, true) != Unlimited {
		t.Error("want no pods allowed in the empty domain and any number in the other")
	}
}

func TestEmpty(t *testing.T) {
	t.Attr("covers", "L264")
	if g := counted(KindAffinity, 0, 0); !g.Empty() {
		t.Error("want domains without pods to be empty")
	}
	if g := counted(KindAffinity, 0, 1); g.Empty() {
		t.Error("a pod is counted")
	}
	g := counted(KindAffinity)
	g.AddElsewhere()
	if g.Empty() {
		t.Error("a match on a node that takes no pods must keep the first pod from starting elsewhere")
	}
}

func TestAntiAffinityAllowed(t *testing.T) {
	g := counted(KindAnti, 0, 1)
	if g.Allowed(0, 0, true) != 1 || g.Allowed(0, 0, false) != Unlimited || g.Allowed(1, 0, false) != 0 {
		t.Error("want one pod that matches itself, any number of others, and none where there is a match")
	}
}

func TestPodsThatMayNotCountRaiseNoMinimum(t *testing.T) {
	g := counted(KindSpread, 2, 0)
	g.AddUncertain(1, 1)
	if floor := g.MinCount(); floor != 0 || g.Count(1) != 1 || g.Empty() {
		t.Errorf("floor %d and count %d, want 0 and 1", floor, g.Count(1))
	}
	other := counted(KindSpread)
	other.Restore(g)
	if other.MinCount() != 0 || other.Count(1) != 1 {
		t.Errorf("restored: floor %d and count %d, want 0 and 1", other.MinCount(), other.Count(1))
	}
	g.Add(1, 1)
	if floor := g.MinCount(); floor != 1 {
		t.Errorf("with a pod that counts: floor %d, want 1", floor)
	}
}

func TestPodsThatWillBeGoneRaiseNoMinimum(t *testing.T) {
	g := counted(KindSpread, 1, 1)
	g.Doubt(1, 1)
	if g.MinCount() != 0 || g.Count(1) != 1 || g.Certain(1) != 0 || g.Certain(0) != 1 {
		t.Errorf("floor %d, count %d, certain %d; want 0, 1, 0", g.MinCount(), g.Count(1), g.Certain(1))
	}
}
