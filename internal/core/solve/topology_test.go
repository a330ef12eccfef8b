package solve

import (
	"fmt"
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

func appIs(name string) *topology.Selector {
	return topology.NewSelector(requirement.NewSet(requirement.New("app", requirement.In, name)))
}

func labelled(pods []*model.Pod, name string) []*model.Pod {
	labels := &model.Labels{Namespace: "default", Values: map[string]string{"app": name}}
	for _, p := range pods {
		p.Labels = labels
	}
	return pods
}

func spreadOver(key string, skew int32, app string) topology.Spread {
	return topology.Spread{Key: key, MaxSkew: skew, Selector: appIs(app), Namespace: "default"}
}

func near(key, app string) topology.Affinity {
	return topology.Affinity{Key: key, Selector: appIs(app), Namespaces: []string{"default"}}
}

func far(key, app string) topology.Affinity {
	t := near(key, app)
	t.Anti = true
	return t
}

// byZone counts the pods of a plan's claims per zone that the claim is bound to, sorted.
func byZone(p Plan) string {
	counts := map[string]int{}
	for _, c := range p.NodeClaims {
		counts[fmt.Sprint(c.Requirements.Get(zoneKey).Values())] += len(c.Pods)
	}
	var out []string
	for zone, n := range counts {
		out = append(out, fmt.Sprintf("%s=%d", zone, n))
	}
	slices.Sort(out)
	return fmt.Sprint(out, " refused=", unschedulablePods(p))
}

func unschedulablePods(p Plan) int {
	n := 0
	for _, r := range p.Unschedulable {
		n += len(r.Pods)
	}
	return n
}

func perNodeClaim(p Plan) []int {
	var out []int
	for _, c := range p.NodeClaims {
		out = append(out, len(c.Pods))
	}
	slices.Sort(out)
	return out
}

func TestZonalSpreadBalances(t *testing.T) {
	s := shape(100, gi)
	s.Spreads = []topology.Spread{spreadOver(zoneKey, 1, "web")}
	plan := Solve(problem(labelled(pods(4, s), "web"), pool("default", instanceType("m", 16, 64, 1))))
	if got, want := byZone(plan), "[[zone-a]=2 [zone-b]=1 [zone-c]=1] refused=0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHostnameSpreadBoundsEveryNode(t *testing.T) {
	s := shape(100, gi)
	s.Spreads = []topology.Spread{spreadOver(hostnameKey, 4, "web")}
	plan := Solve(problem(labelled(pods(10, s), "web"), pool("default", instanceType("m", 16, 64, 1))))
	if got := perNodeClaim(plan); !slices.Equal(got, []int{2, 4, 4}) {
		t.Errorf("pods per node %v, want [2 4 4]", got)
	}
}

func TestHostnameAntiAffinitySeparates(t *testing.T) {
	s := shape(100, gi)
	s.Affinities = []topology.Affinity{far(hostnameKey, "web")}
	plan := Solve(problem(labelled(pods(3, s), "web"), pool("default", instanceType("m", 16, 64, 1))))
	if got := perNodeClaim(plan); !slices.Equal(got, []int{1, 1, 1}) {
		t.Errorf("pods per node %v, want one each", got)
	}
}

func TestAntiAffinityOfOthersKeepsAway(t *testing.T) {
	guard := shape(2000, gi)
	guard.Affinities = []topology.Affinity{far(hostnameKey, "web")}
	all := append(labelled(pods(1, guard), "guard"), labelled(pods(1, shape(100, gi)), "web")...)
	plan := Solve(problem(all, pool("default", instanceType("m", 16, 64, 1))))
	if got := perNodeClaim(plan); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("pods per node %v, want one each", got)
	}
}

func TestSelfAffinityByHostnameFillsOneNode(t *testing.T) {
	s := shape(1000, gi)
	s.Affinities = []topology.Affinity{near(hostnameKey, "web")}
	plan := Solve(problem(labelled(pods(10, s), "web"), pool("default", instanceType("m", 6, 64, 1))))
	if got := perNodeClaim(plan); !slices.Equal(got, []int{5}) || unschedulablePods(plan) != 5 {
		t.Errorf("pods per node %v and %d unschedulable, want [5] and 5", got, unschedulablePods(plan))
	}
}

func TestSelfAffinityByZoneStaysInOneZone(t *testing.T) {
	s := shape(1000, gi)
	s.Affinities = []topology.Affinity{near(zoneKey, "web")}
	plan := Solve(problem(labelled(pods(10, s), "web"), pool("default", instanceType("m", 6, 64, 1))))
	if got, want := byZone(plan), "[[zone-a]=10] refused=0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAffinityToLaterPodsIsResolved(t *testing.T) {
	t.Attr("covers", "L126")
	follower := shape(1000, gi)
	follower.Affinities = []topology.Affinity{near(hostnameKey, "db")}
	all := append(labelled(pods(2, follower), "web"), labelled(pods(1, shape(100, gi)), "db")...)
	plan := Solve(problem(all, pool("default", instanceType("m", 16, 64, 1))))
	if got := perNodeClaim(plan); !slices.Equal(got, []int{3}) || unschedulablePods(plan) != 0 {
		t.Errorf("pods per node %v and %d unschedulable, want all three together", got, unschedulablePods(plan))
	}
}

func TestUndecidedZoneBlocksAllZones(t *testing.T) {
	s := shape(1000, gi)
	s.Affinities = []topology.Affinity{far(zoneKey, "web")}
	plan := Solve(problem(labelled(pods(3, s), "web"), pool("default", instanceType("m", 6, 64, 1))))
	if len(plan.NodeClaims) != 1 || unschedulablePods(plan) != 2 {
		t.Errorf("%d claims and %d unschedulable, want 1 and 2", len(plan.NodeClaims), unschedulablePods(plan))
	}
}

func TestTwoSpreadsOnOneKeyAreMetTogether(t *testing.T) {
	s := shape(100, gi)
	s.Spreads = []topology.Spread{spreadOver(zoneKey, 1, "web"), spreadOver(zoneKey, 2, "web")}
	plan := Solve(problem(labelled(pods(6, s), "web"), pool("default", instanceType("m", 16, 64, 1))))
	if got, want := byZone(plan), "[[zone-a]=2 [zone-b]=2 [zone-c]=2] refused=0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOnlyARespectedPreferenceOpensNodes(t *testing.T) {
	for policy, want := range map[model.PreferencePolicy][]int{
		"": {1, 1, 1, 1, 1}, model.RespectPreferences: {1, 1, 1, 1, 1}, model.EconomicalPreferences: {5}, model.IgnorePreferences: {5},
	} {
		s := shape(100, gi)
		preference := far(hostnameKey, "web")
		preference.Weight = 10
		s.Affinities = []topology.Affinity{preference}
		in := problem(labelled(pods(5, s), "web"), pool("default", instanceType("m", 16, 64, 1)))
		in.Options.Preferences = policy
		if got := perNodeClaim(Solve(in)); !slices.Equal(got, want) {
			t.Errorf("policy %q: pods per node %v, want %v", policy, got, want)
		}
	}
}
