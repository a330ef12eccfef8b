package kwok

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

func TestJoinedNode(t *testing.T) {
	t.Attr("covers", "W021")
	w := newWorld(t, Options{})
	claim := w.claim(cloud.In(corev1.LabelInstanceTypeStable, "s-4x-amd64-linux"), cloud.In(corev1.LabelTopologyZone, "test-zone-b"),
		cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeSpot))
	claim.Spec.Taints = []corev1.Taint{{Key: "example.com/own", Effect: corev1.TaintEffectNoSchedule}}
	w.update(claim, func() {
		claim.Spec.Taints = []corev1.Taint{{Key: "example.com/own", Effect: corev1.TaintEffectNoSchedule}}
	})
	w.launch(claim)
	w.join(claim.Name)
	node, yes := w.theNode(), true
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: nodeName(claim),
			Labels: map[string]string{
				v1.NodePoolLabelKey: "pool", "karpenter.kwok.sh/kwoknodeclass": className,
				corev1.LabelInstanceTypeStable: "s-4x-amd64-linux", corev1.LabelTopologyZone: "test-zone-b",
				v1.CapacityTypeLabelKey: "spot", corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
				LabelInstanceFamily: "s", LabelInstanceSize: "4", LabelInstanceCPU: "4", LabelInstanceMemory: "16384",
				"eks-node-viewer/instance-price": "0.082026",
				corev1.LabelHostname:             claim.Name, "kwok.x-k8s.io/node": "fake", "kwok-partition": "a",
			},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: claim.Name, UID: claim.UID, BlockOwnerDeletion: &yes,
			}},
			CreationTimestamp: node.CreationTimestamp, ResourceVersion: node.ResourceVersion,
		},
		Spec: corev1.NodeSpec{
			ProviderID: "kwok://" + nodeName(claim),
			Taints:     []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}},
		},
		Status: corev1.NodeStatus{
			Phase:       corev1.NodePending,
			Capacity:    w.stored(claim.Name).Status.Capacity,
			Allocatable: w.stored(claim.Name).Status.Allocatable,
		},
	}
	if diff := cmp.Diff(want, node); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	if got := amounts(node.Status.Allocatable)["cpu"]; got != "3900m" {
		t.Errorf("allocatable cpu is %s", got)
	}
}

func TestRegistrationDelayCountsFromTheLaunch(t *testing.T) {
	w := newWorld(t, Options{})
	w.delay(90 * time.Second)
	claim := w.claim()
	w.clock.Step(time.Hour)
	w.launch(claim)
	if got := w.join(claim.Name).RequeueAfter; got != 90*time.Second {
		t.Errorf("comes back after %s", got)
	}
	w.clock.Step(60 * time.Second)
	if got := w.join(claim.Name).RequeueAfter; got != 30*time.Second || len(w.nodes()) != 0 {
		t.Errorf("comes back after %s, %d nodes", got, len(w.nodes()))
	}
	w.clock.Step(30 * time.Second)
	if got := w.join(claim.Name); got != (reconcile.Result{}) || len(w.nodes()) != 1 {
		t.Errorf("result is %+v, %d nodes", got, len(w.nodes()))
	}
}

func TestWhoGetsANode(t *testing.T) {
	tests := []struct {
		name   string
		change func(*world, *v1.NodeClaim)
		want   int
	}{
		{"a launched claim", func(*world, *v1.NodeClaim) {}, 1},
		{"not yet launched", func(w *world, c *v1.NodeClaim) {
			condition.For(c, w.clock.Now()).Unknown(v1.ConditionTypeLaunched, "LaunchFailed", "")
		}, 0},
		{"registered: a node that is gone by now is not replaced", func(w *world, c *v1.NodeClaim) {
			condition.For(c, w.clock.Now()).True(v1.ConditionTypeRegistered)
		}, 0},
		{"abandoned because of several nodes", func(w *world, c *v1.NodeClaim) {
			condition.For(c, w.clock.Now()).False(v1.ConditionTypeRegistered, "MultipleNodesFound", "")
		}, 1},
		{"provider id of another cloud", func(_ *world, c *v1.NodeClaim) { c.Status.ProviderID = "aws:///a/i-1" }, 0},
		{"no provider id", func(_ *world, c *v1.NodeClaim) { c.Status.ProviderID = "" }, 0},
		{"node class of another cloud", func(_ *world, c *v1.NodeClaim) { c.Spec.NodeClassRef.Group = "example.com" }, 0},
		{"node class deleted since", func(w *world, _ *v1.NodeClaim) {
			if err := w.client.Delete(w.t.Context(), &v1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: className}}); err != nil {
				w.t.Fatal(err)
			}
		}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, Options{})
			claim := w.launch(w.claim())
			w.update(claim, func() { tt.change(w, claim) })
			w.join(claim.Name)
			if got := len(w.nodes()); got != tt.want {
				t.Errorf("%d nodes", got)
			}
		})
	}
}

func TestClaimThatIsGoneGetsNoNode(t *testing.T) {
	t.Attr("covers", "W021")
	w := newWorld(t, Options{})
	deleting := w.launch(w.claim())
	if err := w.client.Delete(t.Context(), deleting); err != nil {
		t.Fatal(err)
	}
	w.join(deleting.Name)
	w.join("never-was")
	if got := len(w.nodes()); got != 0 {
		t.Errorf("%d nodes", got)
	}
}

// The cache may still have a claim that is being deleted, or one that was deleted and recreated under its name.
func TestStaleCacheDoesNotMakeOrphans(t *testing.T) {
	for name, change := range map[string]func(*v1.NodeClaim){
		"deleting":         func(c *v1.NodeClaim) { now := metav1.Now(); c.DeletionTimestamp = &now },
		"another claim":    func(c *v1.NodeClaim) { c.UID = "another" },
		"registered":       func(c *v1.NodeClaim) { condition.For(c, time.Now()).True(v1.ConditionTypeRegistered) },
		"gone altogether":  nil,
		"launch withdrawn": func(c *v1.NodeClaim) { c.Status.ProviderID = "" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			claim := w.launch(w.claim())
			w.joiner.live = w.intercepted(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if change == nil {
						return c.Get(ctx, client.ObjectKey{Name: "none"}, o)
					}
					err := c.Get(ctx, key, o, opts...)
					change(o.(*v1.NodeClaim))
					return err
				},
			})
			w.join(claim.Name)
			if got := len(w.nodes()); got != 0 {
				t.Errorf("%d nodes", got)
			}
		})
	}
}

// TestJoinSurvivesCrashes: after a crash at any step, the next run completes exactly one Node.
func TestJoinSurvivesCrashes(t *testing.T) {
	crash := errors.New("killed")
	for name, killer := range map[string]interceptor.Funcs{
		"before the node": {
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return crash },
		},
		"after the node": {
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if err := c.Create(ctx, o, opts...); err != nil {
					return err
				}
				return crash
			},
		},
		"between the node and its resources": {
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				o.(*corev1.Node).Status = corev1.NodeStatus{}
				if err := c.Create(ctx, o, opts...); err != nil {
					return err
				}
				return crash
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			claim := w.launch(w.claim())
			dying := &joiner{client: w.intercepted(killer), live: w.client, clock: w.clock, manages: w.cloud.Manages}
			_, err := dying.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: claim.Name}})
			if !errors.Is(err, crash) {
				t.Fatalf("got %v", err)
			}
			w.join(claim.Name)
			w.join(claim.Name)
			node := w.theNode()
			if diff := cmp.Diff(amounts(claim.Status.Allocatable), amounts(node.Status.Allocatable)); diff != "" {
				t.Errorf("allocatable (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(amounts(claim.Status.Capacity), amounts(node.Status.Capacity)); diff != "" {
				t.Errorf("capacity (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJoinLeavesTheKubeletsWorkAlone(t *testing.T) {
	w := newWorld(t, Options{})
	claim := w.running()
	node := w.theNode()
	w.update(node, func() {
		node.Status.Phase = corev1.NodeRunning
		node.Status.Capacity["example.com/device"] = resourceOf("3")
		node.Status.Allocatable[corev1.ResourcePods] = resourceOf("5")
		delete(node.Status.Allocatable, corev1.ResourceMemory)
	})
	w.join(claim.Name)
	got := w.theNode()
	if got.Status.Phase != corev1.NodeRunning || amounts(got.Status.Capacity)["example.com/device"] != "3" ||
		amounts(got.Status.Allocatable)["pods"] != "5" {
		t.Errorf("status is %+v", got.Status)
	}
	if want := amounts(claim.Status.Allocatable)["memory"]; amounts(got.Status.Allocatable)["memory"] != want {
		t.Errorf("missing memory was not restored: %v", amounts(got.Status.Allocatable))
	}
}

func TestNodeThatVanishesBeforeRegistrationJoinsAgain(t *testing.T) {
	w := newWorld(t, Options{})
	claim := w.running()
	first := w.theNode()
	if err := w.client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	w.join(claim.Name)
	if again := w.theNode(); again.Name != first.Name {
		t.Errorf("joined as %q, was %q", again.Name, first.Name)
	}
}
