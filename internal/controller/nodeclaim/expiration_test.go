package nodeclaim_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

func TestExpiration(t *testing.T) {
	t.Attr("covers", "C140 C141 C142 C143 C144 C145 C148")
	hour := time.Hour
	for name, c := range map[string]struct {
		after   *time.Duration
		age     time.Duration
		claim   func(*v1.NodeClaim)
		expires bool
		wait    time.Duration
	}{
		"past its time": {after: &hour, age: time.Hour, expires: true, claim: func(c *v1.NodeClaim) {
			c.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
		}},
		"not yet":                   {after: &hour, age: 20 * time.Minute, wait: 40 * time.Minute},
		"never":                     {age: 10000 * time.Hour},
		"unmanaged":                 {after: &hour, age: 2 * time.Hour, claim: func(c *v1.NodeClaim) { c.Spec.NodeClassRef = fakecluster.Unmanaged() }},
		"a grace period is a label": {after: &hour, age: time.Hour, expires: true, claim: func(c *v1.NodeClaim) { c.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Minute} }},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			claim := w.LaunchedClaim("a")
			claim.Spec.ExpireAfter.Duration = c.after
			if c.claim != nil {
				c.claim(claim)
			}
			w.Add(claim)
			w.Time.Step(c.age)
			result := w.Run(nodeclaim.NewExpiration(w.Shared), claim)
			if expired := fakecluster.Must(w, claim).DeletionTimestamp != nil; expired != c.expires || result.RequeueAfter != c.wait {
				t.Errorf("expired %v, result %+v", expired, result)
			}
			mode := "graceful"
			if claim.Spec.TerminationGracePeriod != nil {
				mode = "eventual"
			}
			if n := w.Count("karpenter_nodeclaims_disrupted_total", "reason=expired", "nodepool=pool", "capacity_type=spot", "termination_mode="+mode); n != map[bool]float64{true: 1}[c.expires] {
				t.Errorf("counted %v", n)
			}
		})
	}
	t.Run("its pods are counted, and once", func(t *testing.T) {
		t.Attr("covers", "C146 C147")
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a")
		claim.Spec.ExpireAfter.Duration = &hour
		daemon, done := w.Pod("daemon", "a"), w.Pod("done", "a")
		daemon.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "d"}}
		done.Status.Phase = corev1.PodSucceeded
		w.Add(claim, w.RegisteredNode("a"), w.Pod("x", "a"), w.Pod("y", "a"), w.Pod("z", "elsewhere"), daemon, done)
		defer w.Freeze(claim)()
		w.Time.Step(2 * time.Hour)
		e := nodeclaim.NewExpiration(w.Shared)
		w.Run(e, claim)
		w.Run(e, claim) // from a cache that lags
		if pods, claims := w.Count("karpenter_pods_disruption_initiated_total", "reason=expired"), w.Count("karpenter_nodeclaims_disrupted_total"); pods != 2 || claims != 1 {
			t.Errorf("counted %v pods, %v claims", pods, claims)
		}
	})
}

// TestAThousandExpireTogether: a worker that waited after each would take a quarter of an hour.
func TestAThousandExpireTogether(t *testing.T) {
	t.Attr("covers", "W011")
	synctest.Test(t, func(t *testing.T) {
		w := fakecluster.New(t)
		hour := time.Hour
		var claims []*v1.NodeClaim
		for i := range 1000 {
			claim := w.LaunchedClaim(fmt.Sprint("c", i))
			claim.Spec.ExpireAfter.Duration = &hour
			w.Add(claim)
			claims = append(claims, claim)
		}
		w.Time.Step(time.Hour)
		start := time.Now()
		e := nodeclaim.NewExpiration(w.Shared)
		for _, claim := range claims {
			if result := w.Run(e, claim); result != (reconcile.Result{}) {
				t.Fatalf("result %+v", result)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("they took %v", took)
		}
		if n := w.Count("karpenter_nodeclaims_disrupted_total", "reason=expired"); n != 1000 {
			t.Errorf("%v went", n)
		}
	})
}

func TestGarbage(t *testing.T) {
	t.Attr("covers", "C149 C150 C152 C153 C154 C155")
	notReady := func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }
	for name, c := range map[string]struct {
		node      func(*corev1.Node)
		noNode    bool
		change    func(*fakecluster.Cluster, *v1.NodeClaim)
		instance  string // gone (default), terminating, there
		collected bool
	}{
		"instance gone, Node not ready": {node: notReady, collected: true},
		"instance gone, Node ready":     {},
		"instance gone, no Node":        {noNode: true, collected: true},
		"instance there, no Node":       {noNode: true, instance: "there"},
		"instance terminating":          {node: notReady, instance: "terminating", collected: true},
		"not registered": {noNode: true, change: func(w *fakecluster.Cluster, c *v1.NodeClaim) {
			condition.For(c, w.Time.Now()).Unknown(v1.ConditionTypeRegistered, "X", "")
		}},
		"unmanaged": {noNode: true, change: func(_ *fakecluster.Cluster, c *v1.NodeClaim) { c.Spec.NodeClassRef = fakecluster.Unmanaged() }},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			claim, node := w.LaunchedClaim("a", v1.ConditionTypeRegistered), w.RegisteredNode("a")
			if c.change != nil {
				c.change(w, claim)
			}
			if c.node != nil {
				c.node(node)
			}
			w.Add(claim)
			if !c.noNode {
				w.Add(node, w.Pod("x", "a"))
			}
			switch c.instance {
			case "":
				w.Provider.Finish("test://a")
			case "terminating":
				if err := w.Provider.Delete(w.Context(), claim); err != nil {
					t.Fatal(err)
				}
			}
			result := w.Run(nodeclaim.NewGarbage(w.Shared), claim)
			if got := fakecluster.Must(w, claim).DeletionTimestamp != nil; got != c.collected {
				t.Errorf("collected: %v, want %v", got, c.collected)
			}
			want := map[bool]float64{true: 1}[c.collected]
			if n := w.Count("karpenter_nodeclaims_disrupted_total", "reason=garbage_collected"); n != want {
				t.Errorf("counted %v", n)
			}
			if n := w.Count("karpenter_pods_disruption_initiated_total"); !c.noNode && n != want {
				t.Errorf("counted %v pods", n)
			}
			if result != requeue.After(2*time.Minute) {
				t.Errorf("result %+v", result)
			}
		})
	}
	t.Run("a hundred in one pass", func(t *testing.T) {
		t.Attr("covers", "C151")
		w := fakecluster.New(t)
		var claims []*v1.NodeClaim
		for i := range 100 {
			claim := w.LaunchedClaim(fmt.Sprint("c", i), v1.ConditionTypeRegistered)
			w.Provider.Finish(claim.Status.ProviderID)
			w.Add(claim)
			claims = append(claims, claim)
		}
		w.Run(nodeclaim.NewGarbage(w.Shared), claims[0])
		if slices.ContainsFunc(claims, func(c *v1.NodeClaim) bool { return fakecluster.Must(w, c).DeletionTimestamp == nil }) {
			t.Error("some are left")
		}
	})
	t.Run("a failed lookup of the Node spares the claim", func(t *testing.T) {
		t.Attr("covers", "W034")
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a", v1.ConditionTypeRegistered)
		w.Add(claim)
		w.Provider.Finish("test://a")
		lookups := 0
		w.Fail = func(_ string, obj runtime.Object) error {
			if _, ok := obj.(*corev1.NodeList); !ok {
				return nil
			}
			if lookups++; lookups == 1 {
				return fakecluster.Conflict()
			}
			return nil
		}
		if _, err := w.Try(nodeclaim.NewGarbage(w.Shared), claim); err == nil {
			t.Error("the failure was swallowed")
		}
		if fakecluster.Must(w, claim).DeletionTimestamp != nil {
			t.Error("the claim was deleted")
		}
	})
	t.Run("a failed list of instances deletes nothing", func(t *testing.T) {
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a", v1.ConditionTypeRegistered)
		w.Add(claim)
		w.Provider.Finish("test://a")
		w.Provider.ListErr = fakecluster.Conflict()
		if _, err := w.Try(nodeclaim.NewGarbage(w.Shared), claim); err == nil || fakecluster.Must(w, claim).DeletionTimestamp != nil {
			t.Errorf("error %v", err)
		}
	})
}

func TestInstanceGarbage(t *testing.T) {
	t.Attr("covers", "C156 W015")
	instance := func(w *fakecluster.Cluster, name string, age time.Duration) *v1.NodeClaim {
		out := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(w.Time.Now().Add(-age))}}
		out.Status.ProviderID = "test://" + name
		return out
	}
	// unnamed adds a claim, and an instance that has its UID and no name.
	unnamed := func(w *fakecluster.Cluster, claim *v1.NodeClaim) {
		i := instance(w, "a", time.Hour)
		i.Name, i.UID = "", claim.UID
		w.Provider.Put(i)
		w.Add(claim)
	}
	for name, c := range map[string]struct {
		setUp func(*fakecluster.Cluster)
		ended bool
	}{
		"no NodeClaim and old enough": {func(w *fakecluster.Cluster) { w.Provider.Put(instance(w, "a", 30*time.Second)) }, true},
		"no NodeClaim but young":      {func(w *fakecluster.Cluster) { w.Provider.Put(instance(w, "a", 29*time.Second)) }, false},
		"it has a claim":              {func(w *fakecluster.Cluster) { w.Add(w.LaunchedClaim("a")); w.Time.Step(time.Hour) }, false},
		"its claim is unmanaged": {func(w *fakecluster.Cluster) {
			claim := w.LaunchedClaim("a")
			claim.Spec.NodeClassRef = fakecluster.Unmanaged()
			w.Add(claim)
			w.Time.Step(time.Hour)
		}, true},
		"its claim is still being launched": {func(w *fakecluster.Cluster) {
			w.Provider.Put(instance(w, "a", time.Hour))
			w.Add(w.Claim("a"))
		}, false},
		"its claim is still being launched, and the instance has no name yet": {func(w *fakecluster.Cluster) { unnamed(w, w.Claim("c")) }, false},
		"its claim was launched again":                                        {func(w *fakecluster.Cluster) { unnamed(w, w.LaunchedClaim("c")) }, true},
		"its age is not known": {func(w *fakecluster.Cluster) {
			unknown := instance(w, "a", 0)
			unknown.CreationTimestamp = metav1.Time{}
			w.Provider.Put(unknown)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			c.setUp(w)
			node := w.Node("a")
			w.Add(node)
			result := w.Run(nodeclaim.NewInstanceGarbage(w.Shared, nodeclaim.NewLifecycle(w.Shared, &health{})), node)
			_, nodeThere := fakecluster.Get(w, node)
			if ended := !w.Provider.Has("test://a"); ended != c.ended || nodeThere == c.ended {
				t.Errorf("ended: %v, Node there: %v, want %v", ended, nodeThere, c.ended)
			}
			if result != requeue.After(10*time.Second) {
				t.Errorf("result %+v", result)
			}
		})
	}
	t.Run("an instance of unknown age is dated by its first sight", func(t *testing.T) {
		w := fakecluster.New(t)
		unknown := instance(w, "a", 0)
		unknown.CreationTimestamp = metav1.Time{}
		w.Provider.Put(unknown)
		g := nodeclaim.NewInstanceGarbage(w.Shared, nodeclaim.NewLifecycle(w.Shared, &health{}))
		w.Run(g, unknown)
		w.Time.Step(30 * time.Second)
		w.Run(g, unknown)
		if w.Provider.Has("test://a") {
			t.Error("it still runs")
		}
	})
	t.Run("the cache alone is no reason", func(t *testing.T) {
		w, live := fakecluster.New(t), fakecluster.New(t)
		w.Provider.Put(instance(w, "a", time.Hour))
		live.Add(live.LaunchedClaim("a"))
		w.Shared.Live = live.Client
		w.Run(nodeclaim.NewInstanceGarbage(w.Shared, nodeclaim.NewLifecycle(w.Shared, &health{})), w.Claim("a"))
		if !w.Provider.Has("test://a") {
			t.Error("it was ended although its claim exists")
		}
	})
	t.Run("twenty quick passes, then slow ones; failures do not count", func(t *testing.T) {
		w := fakecluster.New(t)
		g := nodeclaim.NewInstanceGarbage(w.Shared, nodeclaim.NewLifecycle(w.Shared, &health{}))
		w.Provider.ListErr = fakecluster.Conflict()
		if _, err := w.Try(g, w.Claim("a")); err == nil {
			t.Error("the failure was swallowed")
		}
		w.Provider.ListErr = nil
		var got []reconcile.Result
		for range 22 {
			got = append(got, w.Run(g, w.Claim("a")))
		}
		want := append(slices.Repeat([]reconcile.Result{requeue.After(10 * time.Second)}, 20), slices.Repeat([]reconcile.Result{requeue.After(2 * time.Minute)}, 2)...)
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
}
