package capacitybuffer_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// podsOf are virtual pods of the buffer "b".
func podsOf(n int) []*model.Pod {
	var out []*model.Pod
	for i := range n {
		out = append(out, &model.Pod{Namespace: "shop", Name: "capacity-buffer-b-" + string(rune('1'+i)), Virtual: true})
	}
	return out
}

func TestHowABufferFared(t *testing.T) {
	t.Attr("covers", "L347")
	real := &model.Pod{Namespace: "shop", Name: "capacity-buffer-b-9"}
	other := &model.Pod{Namespace: "shop", Name: "capacity-buffer-c-1", Virtual: true}
	notReady := func(b *v1beta1.CapacityBuffer) { b.Status.Conditions[0].Status = metav1.ConditionFalse }
	for name, c := range map[string]struct {
		change func(*v1beta1.CapacityBuffer)
		plan   solve.Plan
		want   string
	}{
		"not ready": {
			notReady,
			solve.Plan{Placements: []solve.Placement{{Pods: podsOf(3)}}},
			"False/NotReadyForProvisioning/the buffer is not ready for provisioning",
		},
		"not ready and empty": {
			func(b *v1beta1.CapacityBuffer) { notReady(b); b.Status.Replicas = nil },
			solve.Plan{},
			"False/NotReadyForProvisioning/the buffer is not ready for provisioning",
		},
		"the number of replicas is unknown": {
			func(b *v1beta1.CapacityBuffer) { b.Status.Replicas = nil }, solve.Plan{}, "False/BufferEmpty/the buffer has no virtual pods",
		},
		"empty": {inOrder(0), solve.Plan{}, "False/BufferEmpty/the buffer has no virtual pods"},
		"all on existing nodes": {
			nil,
			solve.Plan{Placements: []solve.Placement{{Pods: podsOf(1)}, {Pods: append(podsOf(3)[1:], real)}}},
			"True/FitsExistingCapacity/All 3 virtual pods fit on existing capacity",
		},
		"some on new nodes": {
			nil,
			solve.Plan{Placements: []solve.Placement{{Pods: podsOf(1)}}, NodeClaims: []solve.NodeClaim{{Pods: append(podsOf(3)[1:], real)}}},
			"False/RequiresNewCapacity/2/3 virtual pods required new capacity, 0 failed",
		},
		"some unschedulable": {
			nil,
			solve.Plan{NodeClaims: []solve.NodeClaim{{Pods: podsOf(1)}}, Unschedulable: []solve.UnschedulablePods{{Pods: podsOf(3)[1:]}}},
			"False/RequiresNewCapacity/1/3 virtual pods required new capacity, 2 failed",
		},
		"not in the plan":               {nil, solve.Plan{Placements: []solve.Placement{{Pods: []*model.Pod{real, other}}}}, ""},
		"some were not decided in time": {nil, solve.Plan{Placements: []solve.Placement{{Pods: podsOf(2)}}, Undecided: podsOf(3)[2:]}, ""},
		"some wait for a reservation":   {nil, solve.Plan{Placements: []solve.Placement{{Pods: podsOf(2)}}, Deferred: podsOf(3)[2:]}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := bufferOf("b", ofTemplate("web", 3), inOrder(3))
			if c.change != nil {
				c.change(b)
			}
			w := newHarness(t, b)
			w.buffers.Report(t.Context(), c.plan)
			w.wantCondition(b, placing, c.want)
			if c.want != "" {
				return
			}
			fakecluster.Change(w.Cluster, b, func(b *v1beta1.CapacityBuffer) {
				b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: placing, Status: "True", Reason: "AsBefore", Message: "kept"})
			})
			w.buffers.Report(t.Context(), c.plan)
			w.wantCondition(b, placing, "True/AsBefore/kept")
		})
	}
}

func TestAReportWritesOnlyWhatChanged(t *testing.T) {
	b := bufferOf("b", ofTemplate("web", 1), inOrder(1))
	w := newHarness(t, b)
	plan := solve.Plan{Placements: []solve.Placement{{Pods: podsOf(1)}}}
	w.buffers.Report(t.Context(), plan)
	version := fakecluster.Must(w.Cluster, b).ResourceVersion
	w.buffers.Report(t.Context(), plan)
	if got := fakecluster.Must(w.Cluster, b).ResourceVersion; got != version {
		t.Error("the same outcome was written again")
	}
}

func TestAReportSurvivesOtherWriters(t *testing.T) {
	b := bufferOf("b", ofTemplate("web", 1), inOrder(1))
	plan := solve.Plan{Placements: []solve.Placement{{Pods: podsOf(1)}}}
	const fits = "True/FitsExistingCapacity/All 1 virtual pods fit on existing capacity"
	fail := func(w *harness, times int, err error) {
		w.Fail = func(op string, _ runtime.Object) error {
			if op == "patch-status" && times > 0 {
				times--
				return err
			}
			return nil
		}
	}
	t.Run("with other writers", func(t *testing.T) {
		w := newHarness(t, b.DeepCopy())
		fail(w, 2, fakecluster.Conflict())
		w.buffers.Report(t.Context(), plan)
		w.wantCondition(b, placing, fits)
	})
	t.Run("a failure is only logged", func(t *testing.T) {
		w := newHarness(t, b.DeepCopy())
		fail(w, 1, errors.New("boom"))
		w.buffers.Report(t.Context(), plan)
		w.wantCondition(b, placing, "")
		if !strings.Contains(w.log.String(), "boom") {
			t.Errorf("nothing in the log:\n%s", w.log.String())
		}
		w.buffers.Report(t.Context(), plan)
		w.wantCondition(b, placing, fits)
	})
	t.Run("buffers that are gone are ignored", func(t *testing.T) {
		w := newHarness(t, b.DeepCopy())
		fail(w, 1, fakecluster.NotFound())
		w.buffers.Report(t.Context(), plan)
		if w.log.String() != "" {
			t.Errorf("logged:\n%s", w.log.String())
		}
	})
}
