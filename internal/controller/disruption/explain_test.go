package disruption

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/explain"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// untold are the obstacles that only the running process knows.
var untold = []string{"nominated for a pending pod", "marked for deletion", "has buffer pods"}

// wantReasons checks that every method that considers single nodes has an obstacle for each node that still exists and is in no
// command, unless all methods share one obstacle.
func (w *harness) wantReasons(nodes model.Index[*model.Node]) {
	w.Helper()
	busy := w.running.queue.nodes("")
	for id, n := range w.store.Snapshot().Nodes.All() {
		if _, old := nodes.Get(id); !old || busy[id] {
			continue
		}
		said := map[string]bool{}
		for _, why := range w.running.Obstacles.Of(id) {
			said[why.Method] = true
		}
		for _, m := range disrupt.Methods() {
			if m.Search != disrupt.CandidateSets && !said[""] && !said[m.Name] {
				w.Errorf("no obstacle explains why %s does not disrupt node %s; known: %v", m.Name, n.Name, w.running.Obstacles.Of(id))
			}
		}
	}
}

func TestTheLogSaysWhyNodesAreLeftAlone(t *testing.T) {
	inBubble(t, "of each method, only when it has changed", func(w *harness) {
		w.pool("closed", budget("0"))
		w.addNode("closed", "a")
		defer w.run()()
		w.pass(11 * time.Second)
		said := ` Node.name=a NodeClaim.name=a why="dispensable: node is empty; drift: node has not drifted; ` +
			`emptiness: budgets of NodePool \"closed\" allow no further disruption; `
		w.wantLog(said)
		w.pass(time.Minute)
		if n := strings.Count(w.logs.String(), said); n != 1 {
			t.Errorf("it was said %d times", n)
		}
		w.pod("a", "stays", protected)
		w.pass(20 * time.Second)
		w.wantLog(`emptiness: pods on the node would have to move; `)
	})
}

// wantExplained checks that an event about a node agrees with what `karpenter explain` reports from the same objects. For a node that
// no method takes, the report gives the reason, and the event may say more.
func (w *harness) wantExplained(event string) {
	w.Helper()
	about, ok := strings.CutPrefix(event, "Unconsolidatable node/")
	if !ok {
		about, ok = strings.CutPrefix(event, "DisruptionBlocked node/")
	}
	name, said, whole := strings.Cut(about, ": ")
	if !ok || !whole || slices.ContainsFunc(untold, func(s string) bool { return strings.Contains(said, s) }) {
		return
	}
	q := explain.Question{Cloud: w.deps.Cloud, Options: simulation.Options{
		Now: time.Now(), SpotToSpot: w.deps.Gates.SpotToSpotConsolidation,
		OpensDestinations: w.deps.Scheduling.ConsolidateAfterScope == options.ConsolidateAfterSource,
	}}
	for _, key := range slices.Sorted(maps.Keys(w.seen)) {
		q.Objects = append(q.Objects, w.seen[key].DeepCopyObject().(client.Object))
	}
	a, err := explain.AboutNode(w.Context(), q, name)
	if err != nil {
		w.Errorf("asking about node %s after %q: %v", name, event, err)
		return
	}
	wanted := a.Obstacle != nil || slices.ContainsFunc(a.Verdicts, func(v explain.Verdict) bool { return v.Wanted })
	if text := a.Text(); wanted && !strings.Contains(strings.ToLower(text), strings.ToLower(strings.TrimSpace(said))) {
		w.Errorf("the event %q is explained as\n%s", event, text)
	}
}
