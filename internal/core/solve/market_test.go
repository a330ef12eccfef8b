package solve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// marketFor is the market for pods that are all placed.
func marketFor(p Problem) Market {
	return NewMarket(p, Plan{NodeClaims: []NodeClaim{{Pods: p.Pods}}})
}

// capsOf renders the caps of a market: the item types and the maximum number of their pods.
func capsOf(m Market) string {
	var out []string
	for _, c := range m.Caps {
		out = append(out, fmt.Sprintf("%v≤%d", c.ItemTypes, c.Max))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestTheMarketSeparatesPodsWithTheSamePort(t *testing.T) {
	bound := func(ip string) *model.Shape { return listening(model.HostPort{IP: ip, Port: 80, Protocol: "TCP"}) }
	var all []*model.Pod
	for _, s := range []*model.Shape{
		bound(""), bound("10.0.0.1"), bound("10.0.0.2"), listening(model.HostPort{Port: 80, Protocol: "UDP"}), shape(100, gi),
	} {
		all = append(all, pods(1, s)...)
	}
	m := marketFor(problem(all, pool("default", instanceType("small", 4, 16, 0.10))))
	if got, want := capsOf(m), "[0 1]≤1 [0 2]≤1 [0]≤1 [3]≤1"; got != want {
		t.Errorf("the caps are %s, want %s", got, want)
	}
}

func TestTheMarketCapsPodsThatCountThemselves(t *testing.T) {
	labels := func(namespace, app string) *model.Labels {
		return &model.Labels{Namespace: namespace, Values: map[string]string{"app": app}}
	}
	web := topology.NewSelector(requirement.NewSet(requirement.New("app", requirement.In, "web")))
	for name, c := range map[string]struct {
		spread   *topology.Spread
		affinity *topology.Affinity
		labels   *model.Labels
		want     string
	}{
		"spread":                      {spread: &topology.Spread{Key: hostnameKey, MaxSkew: 2, Selector: web, Namespace: "a"}, labels: labels("a", "web"), want: "[0]≤2"},
		"spread as a preference":      {spread: &topology.Spread{Key: hostnameKey, MaxSkew: 2, Selector: web, Namespace: "a", Soft: true}, labels: labels("a", "web")},
		"spread of others":            {spread: &topology.Spread{Key: hostnameKey, MaxSkew: 2, Selector: web, Namespace: "a"}, labels: labels("a", "api")},
		"spread of no pod":            {spread: &topology.Spread{Key: hostnameKey, MaxSkew: 2, Namespace: "a"}, labels: labels("a", "web")},
		"spread over zones":           {spread: &topology.Spread{Key: zoneKey, MaxSkew: 2, Selector: web, Namespace: "a"}, labels: labels("a", "web")},
		"apart":                       {affinity: &topology.Affinity{Key: hostnameKey, Anti: true, Selector: web, Namespaces: []string{"a"}}, labels: labels("a", "web"), want: "[0]≤1"},
		"apart as a preference":       {affinity: &topology.Affinity{Key: hostnameKey, Anti: true, Weight: 1, Selector: web, Namespaces: []string{"a"}}, labels: labels("a", "web")},
		"apart from other namespaces": {affinity: &topology.Affinity{Key: hostnameKey, Anti: true, Selector: web, Namespaces: []string{"b"}}, labels: labels("a", "web")},
		"apart by namespace labels": {
			affinity: &topology.Affinity{Key: hostnameKey, Anti: true, Selector: web, NamespaceSelector: topology.NewSelector(requirement.NewSet(requirement.New("team", requirement.In, "x")))},
			labels:   labels("a", "web"), want: "[0]≤1",
		},
		"together": {affinity: &topology.Affinity{Key: hostnameKey, Selector: web, Namespaces: []string{"a"}}, labels: labels("a", "web")},
	} {
		s := shape(100, gi)
		if c.spread != nil {
			s.Spreads = []topology.Spread{*c.spread}
		}
		if c.affinity != nil {
			s.Affinities = []topology.Affinity{*c.affinity}
		}
		p := problem(pods(3, s), pool("default", instanceType("small", 4, 16, 0.10)))
		p.Namespaces = map[string]map[string]string{"a": {"team": "x"}, "b": {}}
		for _, pod := range p.Pods {
			pod.Namespace, pod.Labels = c.labels.Namespace, c.labels
		}
		if got := capsOf(marketFor(p)); got != c.want {
			t.Errorf("%s: the caps are %q, want %q", name, got, c.want)
		}
	}
}

func TestTheMarketOffersEveryDemandItsBinTypes(t *testing.T) {
	anywhere, choosy, banned := shape(100, gi), shape(100, gi), shape(100, gi)
	choosy.Required = []requirement.Set{
		requirement.NewSet(requirement.New(zoneKey, requirement.In, "nowhere")),
		requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-b")),
	}
	choosy.Preferred = []model.Preference{{Weight: 1, Terms: requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-a"))}}
	banned.Selector = requirement.NewSet(requirement.New(archKey, requirement.In, "arm64"))
	it := instanceType("small", 4, 16, 0.10)
	it.Offerings[1].Price = 0.20 // zone-b
	p := problem(slices.Concat(pods(2, anywhere), pods(3, choosy), pods(1, banned)), pool("default", it))
	p.Nodes = []*model.Node{
		{ID: "a", Name: "a", Launched: true, Allocatable: it.Capacity, Requirements: requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-b"))},
		{ID: "b", Name: "b", Launched: true, Allocatable: it.Capacity, Taints: []model.Taint{{Key: "no", Effect: model.NoSchedule}}},
	}
	m := marketFor(p)
	var got []string
	for _, l := range m.ItemTypes {
		got = append(got, fmt.Sprintf("%d pods, constraint set %d", l.Pods, l.ConstraintSet))
	}
	for _, binType := range m.BinTypes {
		got = append(got, fmt.Sprintf("$%.2f for %v", binType.Price, m.Compatibility[binType.Compatibility]))
	}
	for _, n := range m.Nodes {
		got = append(got, fmt.Sprintf("a node for %v", m.Compatibility[n.Compatibility]))
	}
	want := []string{
		"2 pods, constraint set 0", "3 pods, constraint set 1", "1 pods, constraint set 2",
		"$0.10 for [true false false]", "$0.20 for [true true false]", "a node for [true true false]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the market (-want +got):\n%s", diff)
	}
}

func TestTheMarketCountsReservations(t *testing.T) {
	it := instanceType("small", 4, 16, 0.10)
	it.Offerings[0].ReservationCapacity = 2
	it.Offerings[0].Price = 0.01
	it.Offerings[0].Kind = &catalog.Kind{Requirements: requirement.NewSet(
		requirement.New(zoneKey, requirement.In, "zone-a"), requirement.New(capacityTypeKey, requirement.In, "reserved"),
		requirement.New("example.com/reservation", requirement.In, "r-1"),
	)}
	it.Requirements = it.Requirements.Replace(requirement.New(capacityTypeKey, requirement.In, "on-demand", "reserved"))
	p := problem(pods(1, shape(100, gi)), pool("default", it))
	known := p.Options.WellKnown
	p.Options.WellKnown = func(key string) bool { return known(key) || key == "example.com/reservation" }
	p.Options.Reserved, p.Options.ReservationLabel = ReservedFallback, "example.com/reservation"
	m := marketFor(p)
	var got []string
	for _, binType := range m.BinTypes {
		got = append(got, fmt.Sprintf("$%.2f from %d", binType.Price, binType.Supply))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"$0.01 from 0", "$0.10 from -1"}, got); diff != "" || !slices.Equal(m.Supplies, []int{2}) {
		t.Errorf("with supplies of %v (-want +got):\n%s", m.Supplies, diff)
	}
}
