package provisioning

import (
	"errors"
	"slices"
	"testing"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

// fixed is a static pool with a claim that has no instance yet, as its controller creates it.
func (w *harness) fixed(name string) *v1.NodeClaim {
	w.Helper()
	pool := readyPool(name, func(p *v1.NodePool) { p.Spec.Replicas = new(int64(1)) })
	w.Add(pool)
	claim := w.p.Translator.StaticNodeClaim(pool, nil)
	claim.Name = name + "-1"
	w.store.Created(claim, w.Time.Now())
	return claim
}

func TestPodsWaitForLaunchingStaticNodes(t *testing.T) {
	w := newHarness(t, readyPool("default"))
	w.fixed("fixed")
	w.see(pendingPod("a"), pendingPod("b"))
	w.decide()
	if got := len(w.claims()); got != 0 {
		t.Errorf("%d NodeClaims, want none: the node of the static pool suffices", got)
	}
	for _, pod := range []string{"a", "b"} {
		if want := "Normal Nominated " + pod + ": Pod should schedule on: nodeclaim/fixed-1"; !slices.Contains(w.Events(), want) {
			t.Errorf("no event %q among %q", want, w.Events())
		}
	}
	// It has four cores: two are used, and one of three more pods does not fit.
	w.see(pendingPod("c"), pendingPod("d"), pendingPod("e"))
	w.decide()
	if got := len(w.claims()); got != 1 {
		t.Errorf("%d NodeClaims for what is too much for it, want 1", got)
	}
	if n, _ := w.store.Snapshot().Nodes.Get("nodeclaim/fixed-1"); len(n.Allocatable) > 0 && n.Allocatable[0] != 0 {
		t.Error("the snapshot was changed")
	}
}

func TestNodeClaimsOfUnknownCapacityAreNotUsed(t *testing.T) {
	for name, change := range map[string]func(*harness){
		"the cloud does not answer": func(w *harness) { w.p.Cloud.Provider = failing{w.Provider, "fixed"} },
		"the pool is gone":          func(w *harness) { w.Delete(readyPool("fixed")) },
		"the pool is of another installation": func(w *harness) {
			fakecluster.Change(w.Cluster, readyPool("fixed"), func(p *v1.NodePool) { p.Spec.Template.Spec.NodeClassRef = fakecluster.Unmanaged() })
		},
		"the pool is dynamic, and the claim was created by hand": func(w *harness) {
			fakecluster.Change(w.Cluster, readyPool("fixed"), func(p *v1.NodePool) { p.Spec.Replicas = nil })
		},
		"nothing is on offer": func(w *harness) {
			sold := *w.Provider.Types[0]
			sold.Offerings = nil
			w.Provider.Types = []*cloud.InstanceType{&sold}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t)
			w.fixed("fixed")
			change(w)
			w.see(pendingPod("a"))
			w.decide()
			if got := w.eventsOf("Nominated"); len(got) > 0 && slices.Contains(got, "Normal Nominated a: Pod should schedule on: nodeclaim/fixed-1") {
				t.Errorf("events %q", got)
			}
		})
	}
	t.Run("a pool that cannot be read ends the pass", func(t *testing.T) {
		w := newHarness(t)
		w.fixed("fixed")
		w.see(pendingPod("a"))
		w.Fail = fakecluster.Always("list", &v1.NodePoolList{}, errors.New("boom"))
		if err := w.p.pass(w.Context()); err == nil {
			t.Error("no error")
		}
	})
}
