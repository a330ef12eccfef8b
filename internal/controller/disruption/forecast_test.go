package disruption

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/forecast"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

var firstSeed = flag.Uint64("first", 0, "seed of the first random cluster")

var again = flag.Bool("again", false, "run the controller twice in each random cluster, to see whether it decides the same")

var policyForecasts = flag.Uint64("policy-forecasts", 10, "number of random clusters with OperationsPolicies whose forecast is compared with what the controller does")

var forecasts = flag.Uint64("forecasts", 20, "number of random clusters whose forecast is compared with what the controller does")

// TestForecast: clusters whose nodes are drifted or under-used are left to the controller, and the outcome is compared with the forecast.
func TestForecast(t *testing.T) { compareForecasts(t, *forecasts, 99, func(*harness, *rand.Rand) {}) }

// TestForecastWithPolicies is the same with OperationsPolicies: freezes that end, and maintenance windows that open.
func TestForecastWithPolicies(t *testing.T) {
	compareForecasts(t, *policyForecasts, 99, (*harness).randomPolicies)
}

// TestForecastWithCaps is the same with caps, too. Fewer are equal: commands that start at the same moment and have no place together under a cap are
// admitted in no fixed order, and docs/diff.md has what else a forecast leaves out.
func TestForecastWithCaps(t *testing.T) {
	compareForecasts(t, *policyForecasts, 95, func(w *harness, random *rand.Rand) {
		w.randomPolicies(random)
		w.capped()
		w.policy("caps", fmt.Sprintf(`{caps: {nodePool: "%d", cluster: "%d"}}`, 10+random.IntN(50), 20+random.IntN(80)))
	})
}

// randomPolicies adds up to two policies. The clock begins at midnight.
func (w *harness) randomPolicies(random *rand.Rand) {
	w.deps.Gates.OperationsPolicy = true
	reasons := []string{"", ", reasons: [Drifted]", ", reasons: [Empty, Underutilized]"}
	if random.IntN(2) == 0 {
		w.policy("freeze", fmt.Sprintf(`{freeze: {until: "2000-01-01T00:%02d:00Z", why: sale%s}}`, 1+random.IntN(50), reasons[random.IntN(len(reasons))]))
	}
	if random.IntN(2) == 0 {
		w.policy("window", fmt.Sprintf(`{windows: [{schedule: "*/%d * * * *", duration: %dm%s}]}`, 5+5*random.IntN(3), 1+random.IntN(4), reasons[random.IntN(len(reasons))]))
	}
}

// compareForecasts compares what is forecast for n random clusters with what happens: least is how many per cent have to be equal. prepare is called
// before each cluster is made.
func compareForecasts(t *testing.T, n, least uint64, prepare func(*harness, *rand.Rand)) {
	t.Helper()
	equal := map[string]uint64{}
	for seed := *firstSeed; seed < *firstSeed+n; seed++ {
		want, got := outcome{}, outcome{}
		inBubble(t, fmt.Sprintf("seed %d", seed), func(w *harness) { want, got = w.forecastAndOutcome(seed, prepare) })
		if *again {
			inBubble(t, fmt.Sprintf("seed %d again", seed), func(w *harness) {
				_, other := w.forecastAndOutcome(seed, prepare)
				if maps.Equal(counts(got.events), counts(other.events)) { // those of the same moment have no order
					equal["again"]++
				} else {
					w.Logf("another run of seed %d: %s\ninstead of %s", seed, other.events, got.events)
				}
			})
		}
		all := true
		for _, of := range aspects {
			if of.equal(want, got) {
				equal[of.name]++
			} else {
				all = false
			}
		}
		if all {
			equal["all"]++
			continue
		}
		t.Logf("seed %d\nforecast %v\noutcome  %v\nforecast %s\noutcome  %s", seed, want, got, strings.Join(want.events, "; "), strings.Join(got.events, "; "))
	}
	for _, of := range aspects {
		t.Logf("of %d forecasts, %d (%.1f %%) had %s of the outcome", n, equal[of.name], 100*float64(equal[of.name])/float64(n), of.name)
	}
	t.Logf("of %d forecasts, %d (%.1f %%) were equal to the outcome in all of these", n, equal["all"], 100*float64(equal["all"])/float64(n))
	if equal["all"]*100 < n*least {
		t.Errorf("%d of %d forecasts were equal to the outcome, want %d %%", equal["all"], n, least)
	}
	if *again {
		t.Logf("of %d runs, %d (%.1f %%) were like the first of the same seed", n, equal["again"], 100*float64(equal["again"])/float64(n))
	}
}

// forecastAndOutcome is what is forecast for a random fleet, and what happens to it.
func (w *harness) forecastAndOutcome(seed uint64, prepare func(*harness, *rand.Rand)) (want, got outcome) {
	prepare(w, rand.New(rand.NewPCG(seed, 17)))         //nolint:gosec // a test
	l := w.randomFleet(rand.New(rand.NewPCG(seed, 23))) //nolint:gosec // a test
	f, err := forecast.Run(w.Context(), w.objects(), w.deps.Cloud, forecast.Options{
		Options: simulation.Options{Now: time.Now(), OperationsPolicies: w.deps.Gates.OperationsPolicy}, Launch: idealLaunch, BatchIdle: idealBatch,
	})
	if err != nil {
		w.Fatal(err)
	}
	l.named(f)
	before := w.age()
	stop := w.run()
	w.pass(f.Duration() + 6*time.Minute)
	stop()
	return outcomeOf(f), l.outcome(before)
}

func counts(list []string) map[string]int {
	out := map[string]int{}
	for _, s := range list {
		out[s]++
	}
	return out
}

// outcome is how a fleet ends, and how it comes to that.
type outcome struct {
	// nodes are how many there are by NodePool, instance type, zone and capacity type, moved how many pods moved by their owner.
	nodes, moved map[string]int
	price        float64
	took         time.Duration
	// events are what shows where the two part.
	events []string
}

// String leaves the events out.
func (o outcome) String() string { return fmt.Sprint(o.nodes, o.moved, o.price, o.took) }

// aspects are what is compared.
var aspects = []struct {
	name  string
	equal func(a, b outcome) bool
}{
	{"the nodes", func(a, b outcome) bool { return maps.Equal(a.nodes, b.nodes) }},
	{"the pods that move", func(a, b outcome) bool { return maps.Equal(a.moved, b.moved) }},
	{"the price", func(a, b outcome) bool { return math.Abs(a.price-b.price) < 1e-6 }},
	{"the time within a second", func(a, b outcome) bool { return (a.took - b.took).Abs() <= time.Second }},
}

func outcomeOf(f forecast.Forecast) outcome {
	out := outcome{nodes: map[string]int{}, moved: map[string]int{}, price: f.After.Price, took: f.Duration()}
	for node, n := range f.After.Kinds {
		out.nodes[node.Pool+" "+node.InstanceType+" "+node.Zone+" "+node.CapacityType] = n
	}
	for _, c := range f.Commands {
		var launches []string
		for _, n := range c.Launches {
			launches = append(launches, n.Name+" "+n.InstanceType)
		}
		out.events = append(out.events, fmt.Sprintf("%s to %s: %s %s %v -> %v", c.At, c.Done, c.Reason, c.Decision, c.Nodes, launches))
	}
	for owner, n := range f.Moves() {
		out.moved[owner.Name] = n
	}
	return out
}

func (e *ideal) outcome(start time.Duration) outcome {
	out := outcome{nodes: map[string]int{}, moved: e.evicted, events: e.events}
	for _, o := range e.objects() {
		if node, ok := o.(*corev1.Node); ok {
			l := node.Labels
			out.nodes[l[v1.NodePoolLabelKey]+" "+l[corev1.LabelInstanceTypeStable]+" "+l[corev1.LabelTopologyZone]+" "+l[v1.CapacityTypeLabelKey]]++
			cores, _ := strconv.Atoi(strings.TrimPrefix(l[corev1.LabelInstanceTypeStable], "x"))
			out.price += float64(cores)
		}
	}
	if e.last > 0 {
		out.took = e.last - start
	}
	return out
}

// randomFleet is a cluster with up to 24 nodes, of which some have drifted, and pods on them.
func (w *harness) randomFleet(random *rand.Rand) *ideal {
	w.deps.Scheduling = options.Scheduling{BatchIdleDuration: idealBatch, BatchMaxDuration: 10 * time.Second}
	l := w.ideally(ondemand(1, 2, 4, 8))
	class := &kwok.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	condition.For(class, time.Now()).True(kwok.ConditionTypeReady)
	w.create(class)
	budgets := []string{"10%", "50%", "100%", "1", "3"}
	for _, pool := range []string{"one", "two"} {
		changes := []func(*v1.NodePool){usable}
		if random.IntN(2) == 0 {
			changes = []func(*v1.NodePool){underutilized}
		}
		w.pool(pool, budget(budgets[random.IntN(len(budgets))]), changes...)
	}
	serial := 0
	for i := range 2 + random.IntN(22) {
		name, cores := fmt.Sprintf("node-%02d", i), []int64{1, 2, 4, 8}[random.IntN(4)]
		l.of([]string{"one", "two"}[random.IntN(2)], name, fmt.Sprintf("x%d", cores))
		for left := cores * 1000; left > 200 && random.IntN(5) > 0; {
			size := min(200+100*random.Int64N(20), left)
			serial++
			w.pod(name, fmt.Sprintf("pod-%03d", serial), asks(size), func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(1)) })
			left -= size
		}
		if random.IntN(3) == 0 {
			claim := w.claim(name)
			stored := claim.DeepCopy()
			condition.For(claim, time.Now().Add(time.Duration(i)*time.Millisecond)).TrueWithReason(v1.ConditionTypeDrifted, "ImageDrift", "ImageDrift")
			if err := w.client.Status().Patch(w.Context(), claim, client.MergeFrom(stored)); err != nil {
				w.Fatal(err)
			}
		}
	}
	return l
}

// objects are those of the cluster, as a snapshot has them.
func (w *harness) objects() []client.Object {
	var out []client.Object
	for _, list := range []client.ObjectList{&v1.NodePoolList{}, &v1.NodeClaimList{}, &corev1.NodeList{}, &corev1.PodList{}, &kwok.KWOKNodeClassList{}, &opsv1alpha1.OperationsPolicyList{}} {
		if err := w.client.List(w.Context(), list); err != nil {
			w.Fatal(err)
		}
		switch list := list.(type) {
		case *v1.NodePoolList:
			out = append(out, typed(list.Items, "NodePool")...)
		case *v1.NodeClaimList:
			out = append(out, typed(list.Items, "NodeClaim")...)
		case *corev1.NodeList:
			out = append(out, typed(list.Items, "Node")...)
		case *corev1.PodList:
			out = append(out, typed(list.Items, "Pod")...)
		case *opsv1alpha1.OperationsPolicyList:
			out = append(out, typed(list.Items, "OperationsPolicy")...)
		case *kwok.KWOKNodeClassList:
			out = append(out, typed(list.Items, "KWOKNodeClass")...)
		}
	}
	return out
}

func typed[T any, P interface {
	*T
	client.Object
}](items []T, kind string) []client.Object {
	var out []client.Object
	for i := range items {
		var o client.Object = P(&items[i])
		gvk := o.GetObjectKind().GroupVersionKind()
		gvk.Kind = kind
		if kind == "KWOKNodeClass" {
			gvk = kwok.SchemeGroupVersion.WithKind(kind)
		}
		o.GetObjectKind().SetGroupVersionKind(gvk)
		out = append(out, o)
	}
	return slices.Clip(out)
}
