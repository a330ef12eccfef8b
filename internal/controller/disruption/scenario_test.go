package disruption

import (
	"flag"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/served"
	"github.com/karpenter-anew/karpenter/internal/translate"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariofile"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariorun"
)

var update = flag.Bool("update", false, "rewrite the commands of the scenarios with what the controller does")

// scenarioDir is where scenarios are, seen from here.
const scenarioDir = "../../../test/scenario/testdata"

// TestScenarios runs the controller on every scenario about disruption, in simulated time.
func TestScenarios(t *testing.T) {
	scenarios, err := scenariofile.LoadDisruption(scenarioDir)
	if err != nil {
		t.Fatal(err)
	}
	reader, clouds := scenariorun.Reader(t), scenariorun.Clouds(t)
	for _, s := range scenarios {
		c := clouds(s.Options.Catalog)
		t.Run(s.Name, func(t *testing.T) {
			var got string
			synctest.Test(t, func(t *testing.T) { got = runScenario(t, s, reader, c, nil) })
			if *update {
				if err := os.WriteFile(s.Path, s.WithDisrupt(got), 0o644); err != nil { //nolint:gosec // a file of the sources
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(s.Disrupt, got); diff != "" {
				t.Errorf("disruption did something else (-want +got):\n%s", diff)
			}
		})
	}
}

// runScenario starts a controller on the objects of a scenario and reports what it did. If check is set, it is called at the end.
func runScenario(t *testing.T, s scenariofile.Scenario, reader *manifest.Reader, c cloud.Cloud, check func(*harness)) string {
	if !s.Options.Now.IsZero() {
		time.Sleep(time.Until(s.Options.Now)) // of the bubble's clock: no real time passes
	}
	c = scenariorun.WithReservations(c, s.Options.Reservations)
	w := newHarnessIn(t, c, translate.NewWith(c.Labels, translate.Settings{
		RankedDeletionCosts: s.Options.DeletionCostManagement, Minor: served.Newest,
	}))
	w.deps.Gates.SpotToSpotConsolidation = s.Options.SpotToSpot
	w.deps.Gates.StaticCapacity = true
	w.deps.Gates.TerminateFirstDrift, w.deps.Gates.TerminateFirstRepair = s.Options.TerminateFirst, s.Options.TerminateFirst
	if s.Options.NodeRepair {
		w.repairs(s.Options.UnlimitedRepair)
	}
	w.deps.Scheduling.PreferencePolicy = options.PreferencePolicy(s.Options.PreferencePolicy)
	w.deps.Scheduling.ConsolidateAfterScope = options.ConsolidateAfterScope(s.Options.ConsolidateAfterScope)
	w.deps.Gates.ReservedCapacity = true
	w.deps.Log = observe.LogConfig{Level: "debug", Output: &w.logs}.Logger()
	w.begin(w.feed.Start)
	defer w.end()
	f := fleet{harness: w, cloud: c}
	f.apply(scenariorun.Objects(t, reader, s))
	f.applyNodes(s.Nodes)
	f.countBudgets()
	defer w.run()()
	first := min(s.Options.Run, 10*time.Second)
	f.watch(s, first)
	f.apply(scenariorun.Later(t, reader, s))
	f.applyNodes(s.LaterNodes)
	f.countBudgets()
	f.watch(s, s.Options.Run-first)
	if check != nil {
		check(w)
	}
	text, err := scenariorun.Disruption([]byte(w.logs.String()), f.nodes)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestClosedDestinationsAreCounted: only where a closed destination is what is in the way, and by the pool of the node that stays.
func TestClosedDestinationsAreCounted(t *testing.T) {
	t.Attr("covers", "N271")
	scenarios, err := scenariofile.LoadDisruption(scenarioDir)
	if err != nil {
		t.Fatal(err)
	}
	reader, clouds := scenariorun.Reader(t), scenariorun.Clouds(t)
	want := map[string]bool{"disrupt-single-closed-destination": true, "disrupt-single-open-destination": false, "disrupt-single-not-quiet": false}
	for _, s := range scenarios {
		counted, ok := want[s.Name]
		if !ok {
			continue
		}
		delete(want, s.Name)
		synctest.Test(t, func(t *testing.T) {
			runScenario(t, s, reader, clouds(s.Options.Catalog), func(w *harness) {
				const name = "karpenter_voluntary_disruption_closed_destinations_total"
				if here, all := w.metric(name, "nodepool=quick"), w.metric(name); here != all || (all > 0) != counted {
					t.Errorf("%s: %v of %v are of the pool", s.Name, here, all)
				}
			})
		})
	}
	if len(want) > 0 {
		t.Errorf("no scenarios %v", want)
	}
}

// fleet is the cluster of a scenario.
type fleet struct {
	*harness
	cloud cloud.Cloud
	// nodes are the names of the nodes of the scenario.
	nodes []string
}

// watch lets time pass.
func (f *fleet) watch(s scenariofile.Scenario, d time.Duration) {
	for range int(d / time.Second) {
		time.Sleep(time.Second) // of the bubble's clock: no real time passes
		synctest.Wait()
		if s.Options.FailReplacements {
			f.removeReplacements()
		}
	}
}

// apply creates objects, or replaces those that exist. Pools are ready.
func (f *fleet) apply(objects []client.Object) {
	f.Helper()
	for _, o := range objects {
		if pool, ok := o.(*v1.NodePool); ok {
			pool.Generation = 1
			usable(pool)
		}
		if o.GetUID() == "" {
			o.SetUID(types.UID(o.GetName() + "-uid"))
		}
		stored, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			f.Fatalf("%T is no object", o)
		}
		if err := f.client.Get(f.Context(), client.ObjectKeyFromObject(o), stored); err != nil {
			f.create(o)
			continue
		}
		o.SetResourceVersion(stored.GetResourceVersion())
		o.SetGeneration(stored.GetGeneration() + 1)
		if err := f.client.Update(f.Context(), o); err != nil {
			f.Fatal(err)
		}
	}
}

// applyNodes creates nodes and their pods. Of nodes that exist it changes the annotation, and adds pods.
func (f *fleet) applyNodes(text string) {
	f.Helper()
	nodes, err := scenariorun.ParseNodes(text)
	if err != nil {
		f.Fatal(err)
	}
	for _, n := range nodes {
		switch {
		case n.Type != "":
			f.addNode(n)
		case n.Gone:
			f.removeNode(n.Name)
		case n.Protected:
			f.annotate(n.Name, "true")
		}
		for _, p := range n.Pods {
			f.create(p.Object(time.Now()))
		}
	}
}

func (f *fleet) addNode(n scenariorun.Node) {
	f.Helper()
	pool := &v1.NodePool{}
	if err := f.client.Get(f.Context(), client.ObjectKey{Name: n.Pool}, pool); err != nil {
		f.Fatal(err)
	}
	instanceTypes, err := f.cloud.Provider.InstanceTypes(f.Context(), pool)
	if err != nil {
		f.Fatal(err)
	}
	node, claim := n.Objects(pool, instanceTypes, time.Now())
	f.create(claim, node)
	f.nodes = append(f.nodes, n.Name)
}

func (f *fleet) removeNode(name string) {
	f.Helper()
	for _, o := range []client.Object{f.claim(name), f.node(name)} {
		o.SetFinalizers(nil)
		if err := f.client.Update(f.Context(), o); err != nil {
			f.Fatal(err)
		}
		f.remove(o)
	}
}

// countBudgets does for PodDisruptionBudgets with a minAvailable what their controller does.
func (f *fleet) countBudgets() {
	f.Helper()
	var budgets policyv1.PodDisruptionBudgetList
	var pods corev1.PodList
	if err := f.client.List(f.Context(), &budgets); err != nil {
		f.Fatal(err)
	}
	if err := f.client.List(f.Context(), &pods); err != nil {
		f.Fatal(err)
	}
	for i := range budgets.Items {
		b := &budgets.Items[i]
		healthy := int32(0)
		for _, p := range pods.Items {
			if p.Labels["app"] == b.Spec.Selector.MatchLabels["app"] {
				healthy++
			}
		}
		least := b.Spec.MinAvailable.IntVal
		b.Status = policyv1.PodDisruptionBudgetStatus{
			CurrentHealthy: healthy, ExpectedPods: healthy, DesiredHealthy: least, DisruptionsAllowed: max(healthy-least, 0),
		}
		if err := f.client.Status().Update(f.Context(), b); err != nil {
			f.Fatal(err)
		}
	}
}
