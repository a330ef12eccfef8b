package disruption

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/writegate"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

func TestEmptiness(t *testing.T) {
	t.Attr("covers", "C330 C331 C338 C340")
	inBubble(t, "an empty node is removed after 15 seconds", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.pass(14 * time.Second)
		w.wantDeleted()
		w.wantUnmarked("a")
		w.pass(3 * time.Second)
		w.wantDeleted("a")
		if !disrupted(w.node("a")) {
			w.Error("the node is not tainted")
		}
		if c := condition.For(w.claim("a"), time.Now()).Get(v1.ConditionTypeDisruptionReason); c == nil || c.Reason != "Empty" || c.Message != "Empty" {
			w.Errorf("disruption reason is %v", c)
		}
		if n, _ := w.store.Snapshot().Nodes.Get("test://a"); !n.Deleting {
			w.Error("the snapshot does not mark the node as deleting")
		}
		w.wantEvent("DisruptionTerminating node/a: Disrupting Node: Empty")
		w.wantEvent("DisruptionTerminating nodeclaim/a: Disrupting NodeClaim: Empty")
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 1, "decision=delete", "reason=empty", "consolidation_type=empty")
		w.wantMetric("karpenter_voluntary_disruption_decisions_by_nodepool_total", 1, "nodepool=pool", "decision=delete")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1, "reason=empty", "nodepool=pool", "capacity_type=on-demand",
			"consolidation_policy=when_empty", "termination_mode=graceful")
		w.wantMetric("karpenter_voluntary_disruption_failed_validations_total", 0)
		w.pass(time.Minute)
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1)
		w.wantMetric("karpenter_voluntary_disruption_eligible_nodes", 0, "reason=empty")
	})
	inBubble(t, "no instance is terminated before all NodeClaims are deleted", func(w *harness) {
		w.deps.WriteGate = writegate.New(w.deps.Clock)
		var deletions atomic.Int32
		w.fail(func(op string, _ runtime.Object) error {
			if op == "delete" && w.deps.WriteGate.Delay("claim", w.deps.Clock.Now()) > 0 {
				deletions.Add(1)
			}
			return nil
		})
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.addNode("pool", "b")
		w.pass(20 * time.Second)
		w.wantDeleted("a", "b")
		if n := deletions.Load(); n != 2 || w.deps.WriteGate.Delay("claim", w.deps.Clock.Now()) != 0 {
			w.Errorf("%d deletions went first", n)
		}
	})
	inBubble(t, "several empty nodes are deleted by one command", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.addNode("pool", "b")
		w.pass(5 * time.Second)
		w.pass(15 * time.Second)
		w.wantDeleted("a", "b")
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 1)
	})
	inBubble(t, "a node that turns consolidatable is found within a second", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a", notConsolidatable)
		w.pass(61 * time.Second)
		w.wantDeleted()
		claim := w.claim("a")
		condition.For(claim, time.Now()).True(v1.ConditionTypeConsolidatable)
		if err := w.client.Update(w.Context(), claim); err != nil {
			w.Fatal(err)
		}
		stored := w.claim("a")
		changed := stored.DeepCopy()
		condition.For(changed, time.Now()).True(v1.ConditionTypeConsolidatable)
		if err := w.client.Status().Patch(w.Context(), changed, optimistic(stored)); err != nil {
			w.Fatal(err)
		}
		w.pass(16*time.Second + 100*time.Millisecond)
		w.wantDeleted("a")
	})
	inBubble(t, "the most expensive node is removed first", func(w *harness) {
		defer w.run()()
		w.provider.types = []*cloud.InstanceType{instanceType("small", 1), instanceType("large", 9)}
		w.pool("pool", budget("1"))
		w.addNode("pool", "a")
		w.addNode("pool", "b", func(m *nodeAndClaim) { m.node.Labels[corev1.LabelInstanceTypeStable] = "large" })
		w.pass(20 * time.Second)
		w.wantDeleted("b")
		w.wantLog("delete: nodepools=[pool]: [b] (savings: $9.00)")
	})
	inBubble(t, "a provider that cannot list instance types does not keep empty nodes", func(w *harness) {
		defer w.run()()
		w.provider.err = errors.New("throttled")
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.pass(20 * time.Second)
		w.wantDeleted("a")
	})
	for _, policy := range []v1.ConsolidationPolicy{
		v1.ConsolidationPolicyWhenEmpty, v1.ConsolidationPolicyWhenEmptyOrUnderutilized, v1.ConsolidationPolicyBalanced,
	} {
		inBubble(t, "policy "+string(policy)+" removes empty nodes", func(w *harness) {
			defer w.run()()
			w.pool("pool", budget("100%"), func(p *v1.NodePool) { p.Spec.Disruption.ConsolidationPolicy = policy })
			w.addNode("pool", "a")
			w.pass(20 * time.Second)
			w.wantDeleted("a")
		})
	}
}

func TestPodsThatArriveSaveTheirNode(t *testing.T) {
	t.Attr("covers", "C341 C496")
	inBubble(t, "a pod that is bound within the 15 seconds keeps its node and no other", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.addNode("pool", "b")
		w.pass(10 * time.Second)
		w.pod("a", "web")
		w.pass(time.Minute)
		w.wantDeleted("b")
		w.wantUnmarked("a")
		w.wantMetric("karpenter_voluntary_disruption_failed_validations_total", 1, "consolidation_type=empty")
	})
	inBubble(t, "a command without any valid node is dropped", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.pass(10 * time.Second)
		w.pod("a", "web")
		w.pass(time.Minute)
		w.wantDeleted()
		w.wantUnmarked("a")
		w.wantMetric("karpenter_voluntary_disruption_failed_validations_total", 1, "consolidation_type=empty")
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 0)
		w.wantLog("abandoning disruption attempt")
	})
	inBubble(t, "a do-not-disrupt pod that appears drops its node", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.pass(10 * time.Second)
		w.pod("a", "agent", ofDaemonSet, protected)
		w.pass(time.Minute)
		w.wantDeleted()
	})
	inBubble(t, "a nomination that appears drops its node", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.pass(10 * time.Second)
		w.store.Nominate(time.Now().Add(time.Hour), "test://a")
		w.pass(time.Minute)
		w.wantDeleted()
		w.wantMetric("karpenter_voluntary_disruption_failed_validations_total", 1, "consolidation_type=empty")
	})
	inBubble(t, "a virtual pod that is placed on the node keeps it, and no other", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.addNode("pool", "b")
		w.pass(10 * time.Second)
		w.store.Buffers.SetHeadroom(map[string]cluster.Headroom{"test://a": {"shop/buffer": 1}})
		w.pass(time.Minute)
		w.wantDeleted("b")
		w.wantUnmarked("a")
	})
	inBubble(t, "budgets that shrink drop nodes", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.addNode("pool", "b")
		w.pass(10 * time.Second)
		w.replaceBudgets("pool", budget("1"))
		w.pass(30 * time.Second)
		w.wantDeleted("a")
		w.wantMetric("karpenter_voluntary_disruption_failed_validations_total", 1, "consolidation_type=empty")
	})
}

func notConsolidatable(m *nodeAndClaim) {
	condition.For(m.claim, time.Now()).Clear(v1.ConditionTypeConsolidatable)
}

func TestNodesThatAreLeftAlone(t *testing.T) {
	t.Attr("covers", "C270 C339 C375")
	blocked := func(w *harness, cause string) {
		w.wantEvent("DisruptionBlocked node/a: " + cause)
		w.wantEvent("DisruptionBlocked nodeclaim/a: " + cause)
	}
	nothing := func(*harness) {}
	nodeWith := func(changes ...func(*nodeAndClaim)) func(*harness) {
		return func(w *harness) { w.addNode("pool", "a", changes...) }
	}
	podWith := func(changes ...func(*corev1.Pod)) func(*harness) {
		return func(w *harness) {
			w.addNode("pool", "a")
			w.pod("a", "agent", changes...)
		}
	}
	for _, tt := range []struct {
		name string
		set  func(*harness)
		pool func(*v1.NodePool)
		then func(*harness)
	}{
		{name: "with pods", set: podWith(), then: func(w *harness) { w.wantNoEvent("DisruptionBlocked") }},
		{name: "not consolidatable", set: nodeWith(notConsolidatable), then: nothing},
		{
			name: "nominated", then: func(w *harness) { blocked(w, "Node is nominated for a pending pod") },
			set: func(w *harness) {
				w.addNode("pool", "a")
				w.store.Nominate(time.Now().Add(time.Hour), "test://a")
			},
		},
		{
			name: "do-not-disrupt on the node",
			set:  nodeWith(func(m *nodeAndClaim) { m.node.Annotations[v1.DoNotDisruptAnnotationKey] = "true" }),
			then: func(w *harness) {
				blocked(w, `Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation`)
			},
		},
		{
			name: "uninitialized",
			set:  nodeWith(func(m *nodeAndClaim) { delete(m.node.Labels, v1.NodeInitializedLabelKey) }),
			then: func(w *harness) { blocked(w, "Node isn't initialized") },
		},
		{
			name: "NodeClaim without node", set: nodeWith(func(m *nodeAndClaim) { m.node = nil }),
			then: func(w *harness) {
				w.wantEvent("DisruptionBlocked nodeclaim/a: Nodeclaim does not have an associated node")
			},
		},
		{
			name: "unmanaged", set: nodeWith(func(m *nodeAndClaim) { m.claim = nil }),
			then: func(w *harness) { w.wantNoEvent("DisruptionBlocked") },
		},
		{
			name: "of another installation",
			set:  nodeWith(func(m *nodeAndClaim) { m.claim.Spec.NodeClassRef.Kind = "OtherNodeClass" }),
			then: func(w *harness) { w.wantNoEvent("DisruptionBlocked") },
		},
		{
			name: "of a pool that does not exist",
			set:  func(w *harness) { w.addNode("gone", "a") },
			then: func(w *harness) { blocked(w, "NodePool not found (NodePool=gone)") },
		},
		{
			name: "of a static pool", set: nodeWith(), pool: func(p *v1.NodePool) { p.Spec.Replicas = new(int64(1)) }, then: nothing,
		},
		{
			name: "consolidateAfter Never", set: nodeWith(), pool: func(p *v1.NodePool) { p.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{} },
			then: func(w *harness) {
				w.wantEvent(`Unconsolidatable nodeclaim/a: NodePool "pool" has consolidation disabled`)
			},
		},
		{
			name: "do-not-disrupt DaemonSet pod", set: podWith(ofDaemonSet, protected),
			then: func(w *harness) { blocked(w, `Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/agent)`) },
		},
		{
			name: "with a pod that is protected, which users are told although the node is not empty", set: podWith(protected),
			then: func(w *harness) { blocked(w, `Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/agent)`) },
		},
		{
			name: "budget that blocks a DaemonSet pod",
			set: func(w *harness) {
				w.pdb("first")
				podWith(ofDaemonSet)(w)
			},
			then: func(w *harness) { blocked(w, "Pdb prevents pod evictions (PodDisruptionBudget=[default/first])") },
		},
		{
			name: "several budgets on a DaemonSet pod",
			set: func(w *harness) {
				w.pdb("first")
				w.pdb("second")
				podWith(ofDaemonSet)(w)
			},
			then: func(w *harness) {
				blocked(w, "Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[default/first default/second])")
			},
		},
	} {
		inBubble(t, tt.name, func(w *harness) {
			defer w.run()()
			change := tt.pool
			if change == nil {
				change = func(*v1.NodePool) {}
			}
			w.pool("pool", budget("100%"), change)
			tt.set(w)
			w.pass(time.Minute)
			w.wantDeleted()
			tt.then(w)
		})
	}
	inBubble(t, "an ended nomination triggers a pass without waiting for the next periodic one", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.addNode("pool", "b")
		// Neither is a time at which a periodic pass runs.
		w.store.Nominate(time.Now().Add(33*time.Second), "test://a")
		w.store.Nominate(time.Now().Add(36*time.Second), "test://b")
		w.pass(33*time.Second + problem.ValidationDelay - time.Millisecond)
		w.wantDeleted()
		w.pass(2 * time.Millisecond)
		w.wantDeleted("a")
		w.pass(3 * time.Second)
		w.wantDeleted("a", "b")
	})
	inBubble(t, "an elapsed annotation and an ended nomination do not protect any more", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.pod("a", "agent", ofDaemonSet, func(p *corev1.Pod) {
			p.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "2m"}
			p.Status.StartTime = new(metav1.Now())
		})
		w.store.Nominate(time.Now().Add(time.Minute), "test://a")
		w.pass(119 * time.Second)
		w.wantDeleted()
		w.pass(30 * time.Second)
		w.wantDeleted("a")
	})
}

func TestCapacityBuffersKeepNodes(t *testing.T) {
	t.Attr("covers", "C495 L348")
	inBubble(t, "a node with only virtual pods stays until the buffer is gone", func(w *harness) {
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.addNode("pool", "b")
		w.store.Buffers.SetHeadroom(map[string]cluster.Headroom{"test://a": {"shop/buffer": 2}, "test://b": {"shop/buffer": 0}})
		w.pass(time.Hour)
		w.wantDeleted("b")
		w.wantUnmarked("a")
		w.wantEvent(`Unconsolidatable node/a: Node "a" has buffer pods`)
		w.wantEvent(`Unconsolidatable nodeclaim/a: Node "a" has buffer pods`)
		w.store.Buffers.Drop("shop/buffer")
		w.pass(time.Minute)
		w.wantDeleted("a", "b")
	})
	inBubble(t, "no node is removed before the headroom of nodes is known", func(w *harness) {
		w.store.Buffers.Expect()
		defer w.run()()
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.pass(time.Hour)
		w.wantDeleted()
		w.store.Buffers.SetHeadroom(nil)
		w.pass(time.Minute)
		w.wantDeleted("a")
	})
}

// pdb is a budget that selects the pod "agent" and allows no disruption.
func (w *harness) pdb(name string) {
	w.create(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}},
	})
}
