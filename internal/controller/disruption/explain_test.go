package disruption

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/explain"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// untold are what only the running process knows of a node.
var untold = []string{"nominated for a pending pod", "marked for deletion", "has buffer pods"}

// wantExplained checks that an event about a node agrees with what whoever asks about that node is told, from the same objects
// but by another program. Where no method wants the node anyway, the answer says why not, and the event may say more.
func (w *world) wantExplained(event string) {
	w.Helper()
	about, ok := strings.CutPrefix(event, "Unconsolidatable node/")
	if !ok {
		about, ok = strings.CutPrefix(event, "DisruptionBlocked node/")
	}
	name, said, whole := strings.Cut(about, ": ")
	if !ok || !whole || slices.ContainsFunc(untold, func(s string) bool { return strings.Contains(said, s) }) {
		return
	}
	q := explain.Question{Cloud: w.deps.Cloud, Options: simulation.Options{Now: time.Now()}, SpotToSpot: w.deps.Gates.SpotToSpotConsolidation}
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
