package disruption

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/costcap"
	"github.com/karpenter-anew/karpenter/internal/controller/create"
)

// policy adds an OperationsPolicy, with the feature gate for these on.
func (w *harness) policy(name, spec string) *opsv1alpha1.OperationsPolicy {
	w.Helper()
	w.deps.Gates.OperationsPolicy = true
	p := &opsv1alpha1.OperationsPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		w.Fatal(err)
	}
	w.create(p)
	return p
}

// capped makes the controller keep to caps on cost.
func (w *harness) capped() {
	w.deps.Creations = create.New(clock.RealClock{})
	w.deps.Creations.Admission = costcap.New(w.client, w.deps.Cloud, clock.RealClock{})
}

func TestOperationsPolicies(t *testing.T) {
	inBubble(t, "drifted nodes wait for the maintenance window", func(w *harness) {
		l := w.live(ondemand(1))
		w.policy("nights", `{windows: [{schedule: "30 1 * * *", duration: 1h, timeZone: Europe/Berlin, reasons: [Drifted]}]}`)
		w.pool("pool", budget("1"), usable)
		l.of("pool", "a", "x1")
		w.pod("a", "web", asks(900))
		w.drift("a")
		defer w.run()()
		w.pass(29 * time.Minute)
		w.wantMetric("karpenter_nodeclaims_created_total", 0, "reason=drifted")
		w.wantMetric("karpenter_nodepools_allowed_disruptions", 0, "nodepool=pool", "reason=drifted")
		w.wantMetric("karpenter_nodepools_allowed_disruptions", 1, "nodepool=pool", "reason=empty")
		const why = `DisruptionBlocked nodepool/pool: OperationsPolicy "nights" allows no disruption of NodePool "pool" for Drifted: no maintenance window is open, the next one opens at 2000-01-01T00:30:00Z`
		if w.told(why) == 0 {
			w.Errorf("no event %q among %q", why, w.events)
		}
		w.pass(3 * time.Minute)
		w.wantMetric("karpenter_nodeclaims_created_total", 1, "reason=drifted")
		w.pass(5 * time.Minute)
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1, "reason=drifted")
	})
	inBubble(t, "empty nodes stay during a freeze", func(w *harness) {
		w.policy("sale", `{freeze: {until: "2000-01-01T00:20:00Z", why: sale}}`)
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		defer w.run()()
		w.pass(19 * time.Minute)
		w.wantDeleted()
		if why := `DisruptionBlocked nodepool/pool: OperationsPolicy "sale" allows no disruption of NodePool "pool" for Empty: frozen until 2000-01-01T00:20:00Z, sale`; w.told(why) == 0 {
			w.Errorf("no event %q among %q", why, w.events)
		}
		w.pass(2 * time.Minute)
		w.wantDeleted("a")
	})
	inBubble(t, "a command that waits is dropped when a freeze begins", func(w *harness) {
		w.deps.Gates.OperationsPolicy = true
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		defer w.run()()
		w.pass(8 * time.Second)
		w.policy("incident", `{freeze: {until: "2000-01-01T01:00:00Z", why: incident}}`)
		w.pass(time.Minute)
		w.wantDeleted()
		w.wantUnmarked("a")
	})
	inBubble(t, "policies are ignored without the feature gate", func(w *harness) {
		w.policy("sale", `{freeze: {until: "2000-01-01T01:00:00Z", why: sale}}`)
		w.deps.Gates.OperationsPolicy = false
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		defer w.run()()
		w.pass(time.Minute)
		w.wantDeleted("a")
	})
	inBubble(t, "nodes are replaced under budgets before they expire", func(w *harness) {
		l := w.live(ondemand(1))
		l.launch.Store(int64(time.Minute))
		w.policy("soft", `{softExpiry: {before: 1h, jitter: 0s}}`)
		w.pool("pool", budget("1"), usable)
		for i := range 3 {
			name := fmt.Sprintf("n%d", i)
			l.of("pool", name, "x1")
			w.pod(name, "pod-"+name, asks(900))
			claim := w.claim(name)
			claim.CreationTimestamp = metav1.Now()
			claim.Spec.ExpireAfter = v1.NewNillableDuration(3 * time.Hour)
			if err := w.client.Update(w.Context(), claim); err != nil {
				w.Fatal(err)
			}
		}
		defer w.run()()
		w.pass(119 * time.Minute)
		w.wantMetric("karpenter_nodeclaims_created_total", 0, "reason=expired")
		for range 40 {
			w.pass(15 * time.Second)
			if going := len(w.deleted()); going > 1 {
				w.Errorf("after %s: %d nodes go at once", w.age(), going)
			}
		}
		w.pass(15 * time.Minute)
		w.wantMetric("karpenter_nodeclaims_created_total", 3, "reason=expired")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 3, "reason=expired", "consolidation_policy=")
	})
	inBubble(t, "replacements keep to caps on cost", func(w *harness) {
		l := w.live(ondemand(1))
		p := w.policy("caps", `{caps: {nodePool: "1.50"}}`)
		w.capped()
		w.pool("pool", budget("1"), usable)
		l.of("pool", "a", "x1")
		w.pod("a", "web", asks(900))
		w.drift("a")
		defer w.run()()
		w.pass(time.Minute)
		w.wantMetric("karpenter_nodeclaims_created_total", 0, "reason=drifted")
		if got := w.toldAll("DisruptionBlocked node/a: "); !strings.Contains(got, "exceed a cost cap for nodepool (NodePool=pool)") {
			w.Errorf("events %q", got)
		}
		stored := p.DeepCopy()
		p.Spec.Caps.NodePool, p.Generation = new("2"), 2
		if err := w.client.Patch(w.Context(), p, client.MergeFrom(stored)); err != nil {
			w.Fatal(err)
		}
		w.pass(time.Minute)
		w.wantMetric("karpenter_nodeclaims_created_total", 1, "reason=drifted")
	})
}

// TestConsolidationFollowsCaps: what a cap leaves changes without a change of the cluster where a launch that counted against it fails.
func TestConsolidationFollowsCaps(t *testing.T) {
	inBubble(t, "a launch that fails leaves capacity for a replacement", func(w *harness) {
		l := w.oversized() // a node of $8, which can be replaced by one of $1
		w.policy("caps", `{caps: {nodePool: "9.50"}}`)
		w.capped()
		claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1.NodePoolLabelKey: "pool"}}}
		claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"x1"}}}
		settle, err := w.deps.Creations.Admission.Reserve(w.Context(), claim)
		if err != nil {
			w.Fatal(err)
		}
		defer w.run()()
		w.pass(time.Minute)
		w.wantMetric("karpenter_nodeclaims_created_total", 0, "reason=underutilized")
		settle("")
		w.pass(time.Minute)
		w.wantMetric("karpenter_nodeclaims_created_total", 1, "reason=underutilized")
		l.wantInstanceTypes("x1")
	})
}

// toldAll are the events with a prefix, a line each.
func (w *harness) toldAll(prefix string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, e := range w.events {
		if strings.HasPrefix(e, prefix) {
			out = append(out, e)
		}
	}
	return strings.Join(out, "\n")
}
