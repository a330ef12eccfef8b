package nodeclaim_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

func TestConsistency(t *testing.T) {
	t.Attr("covers", "C159 C160 C161 C162")
	const good, bad = "True/ConsistentStateFound/", "False/ConsistencyCheckFailed/Consistency Check Failed"
	for name, c := range map[string]struct {
		capacity      corev1.ResourceList
		uninitialized bool
		unmanaged     bool
		deleting      bool
		noNode        bool
		want          string
		events        []string
	}{
		"exactly ninety percent": {capacity: fakecluster.Resources("cpu", "1800m", "memory", "4Gi"), want: good},
		"clearly less": {capacity: fakecluster.Resources("cpu", "1", "memory", "1Gi"), want: bad, events: []string{
			"Warning FailedConsistencyCheck a: expected 2 of resource cpu, but found 1 (50.0% of expected)",
			"Warning FailedConsistencyCheck a: expected 4Gi of resource memory, but found 1Gi (25.0% of expected)",
		}},
		"uninitialized claims are not judged": {capacity: fakecluster.Resources(), uninitialized: true, want: good},
		"deleting claims are not judged":      {capacity: fakecluster.Resources(), deleting: true},
		"unmanaged claims are not checked":    {capacity: fakecluster.Resources(), unmanaged: true},
		"claims without Node are not checked": {noNode: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			claim, node := w.LaunchedClaim("a", v1.ConditionTypeRegistered), w.RegisteredNode("a")
			if !c.uninitialized {
				claim = w.LaunchedClaim("a", v1.ConditionTypeRegistered, v1.ConditionTypeInitialized)
			}
			claim.Spec.Resources.Requests = fakecluster.Resources("cpu", "1", "memory", "1Gi", "example.com/unexpected", "1")
			node.Status.Capacity = c.capacity
			if c.unmanaged {
				claim.Spec.NodeClassRef = fakecluster.Unmanaged()
			}
			w.Add(claim)
			if !c.noNode {
				w.Add(node)
			}
			if c.deleting {
				w.Delete(claim)
			}
			w.Run(nodeclaim.NewConsistency(w.Shared), claim)
			if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "ConsistentStateFound"); got != c.want {
				t.Errorf("ConsistentStateFound %q, want %q", got, c.want)
			}
			if !slices.Equal(w.Events(), c.events) {
				t.Errorf("events %q", w.Events())
			}
		})
	}
	t.Run("at most every ten minutes", func(t *testing.T) {
		t.Attr("covers", "C163")
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a", v1.ConditionTypeRegistered, v1.ConditionTypeInitialized), w.RegisteredNode("a")
		w.Add(claim, node)
		c := nodeclaim.NewConsistency(w.Shared)
		w.Run(c, claim)
		fakecluster.Change(w, node, func(n *corev1.Node) { n.Status.Capacity = fakecluster.Resources("cpu", "1") })
		w.Time.Step(4 * time.Minute)
		if result := w.Run(c, claim); result != requeue.After(6*time.Minute) || len(w.Events()) != 0 {
			t.Errorf("result %+v, events %v", result, w.Events())
		}
		w.Time.Step(6 * time.Minute)
		w.Run(c, claim)
		if len(w.Events()) != 1 {
			t.Errorf("events %v", w.Events())
		}
	})
	t.Run("a conflict does not start the period", func(t *testing.T) {
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a", v1.ConditionTypeRegistered)
		w.Add(claim, w.RegisteredNode("a"))
		w.Fail = fakecluster.Always("patch-status", claim, fakecluster.Conflict())
		c := nodeclaim.NewConsistency(w.Shared)
		if result := w.Run(c, claim); result != requeue.Soon() {
			t.Errorf("result %+v", result)
		}
		w.Fail = nil
		w.Run(c, claim)
		if fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "ConsistentStateFound") == "" {
			t.Error("not written")
		}
	})
}

func TestHydration(t *testing.T) {
	t.Attr("covers", "C094 C095 C096")
	for name, managed := range map[string]bool{"managed": true, "unmanaged": false} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			claim, node := w.LaunchedClaim("a"), w.Node("a")
			delete(claim.Labels, fakecluster.ClassLabel)
			if !managed {
				claim.Spec.NodeClassRef = fakecluster.Unmanaged()
			}
			w.Add(claim, node)
			w.Run(nodeclaim.NewHydration(w.Shared), claim)
			w.Run(nodeclaim.NewNodeHydration(w.Shared), node)
			want := map[bool]string{true: "default"}[managed]
			if c, n := fakecluster.Must(w, claim).Labels[fakecluster.ClassLabel], fakecluster.Must(w, node).Labels[fakecluster.ClassLabel]; c != want || n != want {
				t.Errorf("claim %q, node %q, want %q", c, n, want)
			}
		})
	}
	t.Run("a Node with several claims is left alone", func(t *testing.T) {
		w := fakecluster.New(t)
		first, second, node := w.LaunchedClaim("a"), w.LaunchedClaim("b"), w.Node("a")
		second.Status.ProviderID = first.Status.ProviderID
		w.Add(first, second, node)
		w.Run(nodeclaim.NewNodeHydration(w.Shared), node)
		if _, labelled := fakecluster.Must(w, node).Labels[fakecluster.ClassLabel]; labelled {
			t.Error("it was labelled")
		}
	})
}
