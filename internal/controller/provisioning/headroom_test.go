package provisioning

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/buffer"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// listener stands for the buffers of a harness and records their reports.
type listener struct {
	err   error
	plans []solve.Plan
}

func (l *listener) Hydrate(context.Context) error             { return l.err }
func (l *listener) Report(_ context.Context, plan solve.Plan) { l.plans = append(l.plans, plan) }

// withBuffers is a harness with buffers and a node of two cores.
func withBuffers(t *testing.T) (*harness, *listener) {
	t.Helper()
	w, l := newHarness(t, readyPool("default")), &listener{}
	w.p.Buffers = l
	w.store.Buffers.Expect()
	n := w.Node("a")
	n.Spec.ProviderID, n.Spec.Taints = "", nil
	n.Status.Allocatable = fakecluster.Resources("cpu", "2", "pods", "10")
	w.store.UpdateNode(n)
	return w, l
}

// keep sets a buffer with this number of chunks.
func (w *harness) keep(name string, chunks int32, cpu string) {
	b := &v1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid"}}
	template := &corev1.PodTemplateSpec{Spec: pendingPod("chunk").Spec}
	template.Spec.Containers[0].Resources.Requests = fakecluster.Resources("cpu", cpu)
	w.store.Buffers.Put("shop/"+name, buffer.Pods(w.p.Translator, b, buffer.Pod(b, template, w.Time.Now()), chunks))
}

// wantHeadroom checks the headroom of every node; NodeClaims are named in the order of their creation.
func (w *harness) wantHeadroom(want map[string]int) {
	w.Helper()
	got := map[string]int{}
	for id, n := range w.store.Snapshot().Nodes.All() {
		if n.Headroom > 0 && n.ClaimName != "" {
			id = "claim of " + n.Pool
		}
		if n.Headroom > 0 {
			got[id] += n.Headroom
		}
	}
	if !maps.Equal(got, want) {
		w.Errorf("headroom %v, want %v", got, want)
	}
}

func TestVirtualPodsAreNoPodsToAnybodyElse(t *testing.T) {
	t.Attr("covers", "L349")
	w, l := withBuffers(t)
	w.keep("reserve", 4, "1")
	w.keep("huge", 1, "100")
	w.decide()
	if got := len(w.claims()); got != 1 {
		t.Fatalf("%d NodeClaims, want one for the virtual pods that do not fit on the node", got)
	}
	if got := w.claims()[0].Spec.Resources.Requests.Cpu().String(); got != "2" {
		t.Errorf("the NodeClaim asks for %s cores, want 2", got)
	}
	w.wantHeadroom(map[string]int{"node/a": 2, "claim of default": 2})

	if got := w.Events(); len(got) > 0 {
		t.Errorf("events %q", got)
	}
	if got := testutil.ToFloat64(w.Metrics.Scheduler.UnschedulablePods.WithLabelValues(name)); got != 0 {
		t.Errorf("%v pods count as unschedulable", got)
	}
	if n, _ := w.store.Snapshot().Nodes.Get("node/a"); n.NominatedUntil != 0 {
		t.Error("a node is nominated for virtual pods")
	}
	if len(w.p.nominations) > 0 {
		t.Errorf("virtual pods are nominated: %v", w.p.nominations)
	}
	for _, uid := range []string{"uid-1", "uid-2", "uid-3", "uid-4"} {
		if times, known := w.p.PodLatency.Get(uid); known {
			t.Errorf("there are times of %s: %+v", uid, times)
		}
	}
	if strings.Contains(w.log.String(), "level=ERROR") {
		t.Errorf("errors in the log:\n%s", w.log)
	}
	if len(l.plans) != 1 || len(l.plans[0].Placements) != 1 || len(l.plans[0].NodeClaims) != 1 || len(l.plans[0].Unschedulable) != 1 {
		t.Errorf("the buffers were told %+v", l.plans)
	}
}

func TestNodesForVirtualPodsAreLaunchedOnce(t *testing.T) {
	w, _ := withBuffers(t)
	w.keep("reserve", 4, "1")
	w.keep("side", 2, "500m")
	for range 3 {
		w.decide()
	}
	if got := len(w.claims()); got != 1 {
		t.Errorf("%d NodeClaims after three passes, want 1", got)
	}
	w.wantHeadroom(map[string]int{"node/a": 2, "claim of default": 4})
}

func TestRealPodsComeBeforeVirtualOnes(t *testing.T) {
	t.Attr("covers", "L350")
	t.Run("in one batch", func(t *testing.T) {
		w, _ := withBuffers(t)
		w.keep("reserve", 1, "2") // larger, and first in line if it were real
		w.see(pendingPod("p"), pendingPod("q"))
		w.decide()
		for _, p := range []string{"p", "q"} {
			if want := "Normal Nominated " + p + ": Pod should schedule on: node/a"; !slices.Contains(w.Events(), want) {
				t.Errorf("no event %q among %q", want, w.Events())
			}
		}
		w.wantHeadroom(map[string]int{"claim of default": 1})
	})
	t.Run("and use the headroom of a NodeClaim that is launching", func(t *testing.T) {
		w, _ := withBuffers(t)
		w.keep("reserve", 2, "2")
		w.decide()
		first := w.claims()[0].Name
		w.see(pendingPod("p", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{v1.NodePoolLabelKey: "default"} }))
		w.decide()
		if want := "Normal Nominated p: Pod should schedule on: nodeclaim/" + first; !slices.Contains(w.Events(), want) {
			t.Errorf("no event %q among %q", want, w.Events())
		}
		if got := len(w.claims()); got != 2 {
			t.Errorf("%d NodeClaims, want another one that restores the headroom", got)
		}
	})
}

func TestHeadroomFollowsThePasses(t *testing.T) {
	t.Attr("covers", "L348")
	t.Run("a pass without any pod settles and clears it", func(t *testing.T) {
		w, l := withBuffers(t)
		w.decide()
		if w.store.Snapshot().HeadroomUnknown {
			t.Error("unsettled after a pass")
		}
		w.store.Buffers.SetHeadroom(map[string]cluster.Headroom{"node/a": {"shop/gone": 1}})
		w.decide()
		w.wantHeadroom(map[string]int{})
		if len(l.plans) != 2 {
			t.Errorf("the buffers were told %d times, want 2", len(l.plans))
		}
	})
	t.Run("a pass that fails changes nothing", func(t *testing.T) {
		w, l := withBuffers(t)
		w.keep("reserve", 1, "1")
		w.Fail = fakecluster.Always("list", &v1.NodePoolList{}, errors.New("boom"))
		if err := w.p.pass(w.Context()); err == nil {
			t.Fatal("no error")
		}
		if len(l.plans) != 0 || !w.store.Snapshot().HeadroomUnknown {
			t.Errorf("the buffers were told %v, unsettled %v", l.plans, w.store.Snapshot().HeadroomUnknown)
		}
	})
	t.Run("a pass that does not know all buffers places pods and changes nothing else", func(t *testing.T) {
		w, l := withBuffers(t)
		w.keep("reserve", 1, "1")
		w.decide()
		w.wantHeadroom(map[string]int{"node/a": 1})
		l.err = errors.New("boom")
		w.keep("reserve", 0, "1")
		w.see(pendingPod("p"))
		w.decide()
		w.wantHeadroom(map[string]int{"node/a": 1})
		if len(l.plans) != 1 || len(w.eventsOf("Nominated")) != 1 {
			t.Errorf("told %d times, events %q", len(l.plans), w.Events())
		}
	})
	t.Run("a NodeClaim that could not be created has no headroom, and the plan is reported to the buffers", func(t *testing.T) {
		w, l := withBuffers(t)
		w.keep("reserve", 4, "1")
		w.Fail = fakecluster.Always("create", &v1.NodeClaim{}, errors.New("boom"))
		if err := w.p.pass(w.Context()); err == nil {
			t.Fatal("no error")
		}
		w.wantHeadroom(map[string]int{"node/a": 2})
		if len(l.plans) != 1 {
			t.Errorf("told %d times, want 1", len(l.plans))
		}
	})
	t.Run("a pass that was cut short takes nothing away", func(t *testing.T) {
		w, _ := withBuffers(t)
		w.store.Buffers.SetHeadroom(map[string]cluster.Headroom{"node/a": {"shop/reserve": 1}})
		w.p.updateHeadroom(input{}, solve.Plan{Undecided: []*model.Pod{{Virtual: true}}})
		w.wantHeadroom(map[string]int{"node/a": 1})
		w.p.updateHeadroom(input{}, solve.Plan{Undecided: []*model.Pod{{}}})
		w.wantHeadroom(map[string]int{})
	})
}
