package nodeclaim_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

func v1Condition(conditionType string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: "X", LastTransitionTime: metav1.Now()}
}

func taint(key, value string, effect corev1.TaintEffect) corev1.Taint {
	return corev1.Taint{Key: key, Value: value, Effect: effect}
}

func registered(w *fakecluster.Cluster, claim *v1.NodeClaim) string {
	return fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Registered")
}

func TestRegistration(t *testing.T) {
	t.Run("the Node takes over everything in one write", func(t *testing.T) {
		t.Attr("covers", "C016 C020 C021 C022 C023 C025 C026 C027 C028 C032")
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a")
		claim.Labels["team"] = "claims"
		claim.Annotations = map[string]string{"note": "x"}
		claim.Spec.Taints = []corev1.Taint{taint("dedicated", "gpu", "NoSchedule"), taint("present", "new", "NoSchedule")}
		claim.Spec.StartupTaints = []corev1.Taint{taint("starting", "", "NoExecute"), taint("dedicated", "again", "NoSchedule")}
		node := w.Node("a")
		node.Labels["team"] = "nodes"
		node.Labels["kept"] = "yes"
		node.Spec.Taints = append(node.Spec.Taints, taint("present", "old", "NoSchedule"))
		w.Add(claim, node)
		h := &health{}
		l := nodeclaim.NewLifecycle(w.Shared, h)
		w.Run(l, claim)
		w.Run(l, claim)

		got, gotClaim := fakecluster.Must(w, node), fakecluster.Must(w, claim)
		if c := fakecluster.Condition(gotClaim.Status.Conditions, "Registered"); c != "True/Registered/" || gotClaim.Status.NodeName != "a" {
			t.Errorf("Registered is %q on node %q", c, gotClaim.Status.NodeName)
		}
		wantTaints := []corev1.Taint{taint("present", "old", "NoSchedule"), taint("dedicated", "gpu", "NoSchedule"), taint("starting", "", "NoExecute")}
		if diff := cmp.Diff(wantTaints, got.Spec.Taints); diff != "" {
			t.Errorf("taints (-want +got):\n%s", diff)
		}
		for key, value := range map[string]string{"team": "claims", "kept": "yes", v1.NodeRegisteredLabelKey: "true", v1.NodePoolLabelKey: "pool"} {
			if got.Labels[key] != value {
				t.Errorf("label %s is %q, want %q", key, got.Labels[key], value)
			}
		}
		yes := true
		wantOwners := []metav1.OwnerReference{{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: "a", UID: claim.UID, BlockOwnerDeletion: &yes}}
		if diff := cmp.Diff(wantOwners, got.OwnerReferences); diff != "" {
			t.Errorf("owners (-want +got):\n%s", diff)
		}
		if got.Annotations["note"] != "x" || !controllerutil.ContainsFinalizer(got, v1.TerminationFinalizer) {
			t.Errorf("annotations %v, finalizers %v", got.Annotations, got.Finalizers)
		}
		if n := w.Count("karpenter_nodes_created_total", "nodepool=pool", "zone=zone-1"); n != 1 {
			t.Errorf("nodes_created_total %v, want 1", n)
		}
		if !slices.Equal(h.succeeded, []string{"a"}) || len(w.Events()) != 0 {
			t.Errorf("recorded %v, events %v", h.succeeded, w.Events())
		}
	})
	t.Run("no Node yet", func(t *testing.T) {
		t.Attr("covers", "C018")
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a")
		w.Add(claim)
		result := w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if got := registered(w, claim); got != "Unknown/NodeNotFound/Node not registered with cluster" {
			t.Error(got)
		}
		if result.RequeueAfter != 15*time.Minute {
			t.Errorf("wakes up after %v, want the registration timeout", result.RequeueAfter)
		}
	})
	t.Run("duplicates are refused, and forgiven when one remains", func(t *testing.T) {
		t.Attr("covers", "C019 W020")
		w := fakecluster.New(t)
		claim, first, second := w.LaunchedClaim("a"), w.Node("a"), w.Node("b")
		second.Spec.ProviderID = first.Spec.ProviderID
		w.Add(claim, first, second)
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		w.Run(l, claim)
		if got := registered(w, claim); got != "False/MultipleNodesFound/Invariant violated, matched multiple nodes" {
			t.Error(got)
		}
		w.Delete(second)
		w.Run(l, claim)
		if got := registered(w, claim); got != "True/Registered/" {
			t.Error(got)
		}
	})
	t.Run("a Node without the guarding taint registers with a warning", func(t *testing.T) {
		t.Attr("covers", "C024")
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a"), w.Node("a")
		node.Spec.Taints = nil
		w.Add(claim, node)
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		want := []string{"Warning UnregisteredTaintMissing a: Missing karpenter.sh/unregistered taint which prevents registration related race conditions on Karpenter-managed nodes"}
		if diff := cmp.Diff(want, w.Events()); diff != "" || registered(w, claim) != "True/Registered/" {
			t.Errorf("Registered %q, events (-want +got):\n%s", registered(w, claim), diff)
		}
	})
	for value, wantTaints := range map[string]int{"true": 0, "TRUE": 1, "false": 1} {
		t.Run("do-not-sync-taints "+value, func(t *testing.T) {
			t.Attr("covers", "C029 C030")
			w := fakecluster.New(t)
			claim, node := w.LaunchedClaim("a"), w.Node("a")
			claim.Spec.Taints = []corev1.Taint{taint("dedicated", "", "NoSchedule")}
			node.Labels[v1.NodeDoNotSyncTaintsLabelKey] = value
			w.Add(claim, node)
			w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
			if got := fakecluster.Must(w, node).Spec.Taints; len(got) != wantTaints {
				t.Errorf("taints %v, want %d", got, wantTaints)
			}
		})
	}
	t.Run("startup taints are not put back", func(t *testing.T) {
		t.Attr("covers", "C031")
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a"), w.Node("a")
		claim.Spec.StartupTaints = []corev1.Taint{taint("starting", "", "NoSchedule")}
		w.Add(claim, node)
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		w.Run(l, claim)
		fakecluster.Change(w, node, func(n *corev1.Node) { n.Spec.Taints = nil })
		w.Run(l, claim)
		if got := fakecluster.Must(w, node).Spec.Taints; len(got) != 0 {
			t.Errorf("taints %v", got)
		}
	})
	t.Run("empty provider ids never match", func(t *testing.T) {
		t.Attr("covers", "C033")
		w := fakecluster.New(t)
		w.Provider.CreateErr = errors.New("not yet")
		claim, node := w.Claim("a"), w.Node("a")
		node.Spec.ProviderID = ""
		w.Add(claim, node)
		_, _ = w.Try(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if got := registered(w, claim); !strings.HasPrefix(got, "Unknown/NodeNotFound/") {
			t.Error(got)
		}
	})
	t.Run("a Node takes no pods before its instance is stored", func(t *testing.T) {
		w := fakecluster.New(t)
		claim, node := w.Claim("a"), w.Node("a")
		w.Add(claim, node)
		w.Provider.OnCreate = func(*v1.NodeClaim) {
			w.Fail = fakecluster.Always("patch-status", claim, errors.New("connection refused"))
		}
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		for range 2 {
			if _, err := w.Try(l, claim); err == nil {
				t.Fatal("the lost write is not retried")
			}
			if got := fakecluster.Must(w, node); got.Labels[v1.NodeRegisteredLabelKey] != "" || len(got.Spec.Taints) != 1 {
				t.Errorf("the Node is open: label %q, taints %v", got.Labels[v1.NodeRegisteredLabelKey], got.Spec.Taints)
			}
		}
		w.Fail = nil
		w.Run(l, claim)
		w.Run(l, claim)
		if got := fakecluster.Must(w, node); got.Labels[v1.NodeRegisteredLabelKey] != "true" || len(got.Spec.Taints) != 0 {
			t.Errorf("once it is stored: label %q, taints %v", got.Labels[v1.NodeRegisteredLabelKey], got.Spec.Taints)
		}
	})
	t.Run("a conflict on the Node is retried quietly and counted once", func(t *testing.T) {
		t.Attr("covers", "C034")
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a"), w.Node("a")
		w.Add(claim, node)
		w.Fail = fakecluster.Always("patch", node, fakecluster.Conflict())
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		if result := w.Run(l, claim); result != requeue.Soon() {
			t.Errorf("result %+v", result)
		}
		w.Fail = nil
		w.Run(l, claim)
		if registered(w, claim) != "True/Registered/" || w.Count("karpenter_nodes_created_total") != 1 {
			t.Errorf("Registered %q, counted %v", registered(w, claim), w.Count("karpenter_nodes_created_total"))
		}
	})
	t.Run("a Node whose status changed in the meantime is registered with one request", func(t *testing.T) {
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a"), w.Node("a")
		node.Status.Conditions = nil // it is not initialized, which would be another request
		w.Add(claim, node)
		w.Cloud.Hooks = []cloud.RegistrationHook{&interfering{func() {
			fakecluster.Change(w, node, func(n *corev1.Node) { n.Status.NodeInfo.KubeletVersion = "v1.2.3" })
		}}}
		var requests []string
		w.Fail = func(op string, obj runtime.Object) error {
			if _, isNode := obj.(*corev1.Node); isNode {
				requests = append(requests, op)
			}
			return nil
		}
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if got := registered(w, claim); got != "True/Registered/" || !slices.Equal(requests, []string{"patch"}) {
			t.Errorf("Registered is %q after the requests %q", got, requests)
		}
	})
	t.Run("a Node whose taints changed in the meantime is registered at once", func(t *testing.T) {
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a"), w.Node("a")
		node.Spec.Taints = append(node.Spec.Taints, taint("starting", "", "NoExecute"))
		w.Add(claim, node)
		w.Cloud.Hooks = []cloud.RegistrationHook{&interfering{func() {
			fakecluster.Change(w, node, func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[:len(n.Spec.Taints)-1] })
		}}}
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if got := registered(w, claim); got != "True/Registered/" {
			t.Errorf("Registered is %q", got)
		}
		if taints := fakecluster.Must(w, node).Spec.Taints; len(taints) != 0 {
			t.Errorf("the taint that another client removed is back: %v", taints)
		}
	})
	t.Run("a Node that was replaced in the meantime is not written", func(t *testing.T) {
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a"), w.Node("a")
		w.Add(claim, node)
		w.Cloud.Hooks = []cloud.RegistrationHook{&interfering{func() {
			w.Delete(node)
			other := w.Node("a")
			other.UID = "another"
			w.Add(other)
		}}}
		if result := w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim); result != requeue.Soon() {
			t.Errorf("result %+v", result)
		}
		if labels := fakecluster.Must(w, node).Labels; labels[v1.NodeRegisteredLabelKey] != "" {
			t.Error("another Node of that name was registered")
		}
	})
	t.Run("a success that cannot be recorded is recorded later", func(t *testing.T) {
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a")
		w.Add(claim, w.Node("a"))
		h := &health{err: fakecluster.Conflict()}
		l := nodeclaim.NewLifecycle(w.Shared, h)
		if result := w.Run(l, claim); result != requeue.Soon() {
			t.Errorf("result %+v", result)
		}
		h.err = nil
		w.Run(l, claim)
		if !slices.Equal(h.succeeded, []string{"a"}) || w.Count("karpenter_nodes_created_total") != 1 {
			t.Errorf("recorded %v, counted %v", h.succeeded, w.Count("karpenter_nodes_created_total"))
		}
	})
	t.Run("a Node that is already going is not registered", func(t *testing.T) {
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a"), w.Node("a")
		node.Finalizers = []string{"example.com/other"}
		w.Add(claim, node)
		w.Delete(node)
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if got := registered(w, claim); !strings.HasPrefix(got, "Unknown/NodeNotFound/") {
			t.Error(got)
		}
	})
}

// hook returns the configured result and counts its calls.
type hook struct {
	name   string
	result cloud.HookResult
	err    error
	label  string
	calls  int
}

func (h *hook) Name() string { return h.name }

func (h *hook) Registered(_ context.Context, claim *v1.NodeClaim) (cloud.HookResult, error) {
	h.calls++
	if h.label != "" {
		claim.Labels[h.label] = "yes"
	}
	return h.result, h.err
}

// interfering is a hook during which another client writes.
type interfering struct{ write func() }

func (*interfering) Name() string { return "interfering" }

func (i *interfering) Registered(context.Context, *v1.NodeClaim) (cloud.HookResult, error) {
	i.write()
	return cloud.HookResult{}, nil
}

func TestRegistrationHooks(t *testing.T) {
	t.Attr("covers", "C035 C036 C037 C038 C039 C040 C042 C044")
	pendingIn := func(name string, d time.Duration) *hook {
		return &hook{name: name, result: cloud.HookResult{RequeueAfter: d}}
	}
	for name, c := range map[string]struct {
		hooks     []*hook
		condition string
		after     time.Duration
		again     bool
		err       string
	}{
		"no hooks":                  {condition: "True/Registered/"},
		"one satisfied hook":        {hooks: []*hook{{name: "a"}}, condition: "True/Registered/"},
		"one pending":               {hooks: []*hook{pendingIn("a", time.Second)}, condition: "Unknown/RegistrationHookPending/a", after: time.Second},
		"one of two pending":        {hooks: []*hook{{name: "a"}, pendingIn("b", time.Minute)}, condition: "Unknown/RegistrationHookPending/b", after: time.Minute},
		"all pending":               {hooks: []*hook{pendingIn("a", time.Minute), pendingIn("b", time.Second)}, condition: "Unknown/RegistrationHookPending/a, b", after: time.Second},
		"a hook asks for back-off":  {hooks: []*hook{{name: "a", result: cloud.HookResult{Requeue: true}}}, condition: "Unknown/RegistrationHookPending/a", again: true},
		"a hook fails":              {hooks: []*hook{{name: "a", err: errors.New("boom")}}, condition: "Unknown/RegistrationHookPending/a", err: `registration hook "a" failed, boom`},
		"a failure beside a result": {hooks: []*hook{{name: "a", err: errors.New("boom")}, pendingIn("b", time.Second)}, condition: "Unknown/RegistrationHookPending/a, b", err: `registration hook "a" failed, boom`},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			claim, node := w.LaunchedClaim("a"), w.Node("a")
			claim.Labels["team"] = "x"
			claim.Spec.Taints = []corev1.Taint{taint("dedicated", "", "NoSchedule")}
			w.Add(claim, node)
			for _, h := range c.hooks {
				w.Cloud.Hooks = append(w.Cloud.Hooks, h)
			}
			result, err := w.Try(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
			if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if err == nil && (c.again != (result == requeue.Soon()) || !c.again && result.RequeueAfter != c.after) {
				t.Errorf("result %+v, want after %v, again %v", result, c.after, c.again)
			}
			if got := registered(w, claim); got != c.condition {
				t.Errorf("Registered %q, want %q", got, c.condition)
			}
			got := fakecluster.Must(w, node)
			pending := !strings.HasPrefix(c.condition, "True")
			if guarded := slices.Contains(got.Spec.Taints, v1.UnregisteredNoExecuteTaint()); guarded != pending {
				t.Errorf("the unregistered taint is there: %v, pending: %v", guarded, pending)
			}
			if got.Labels["team"] != "x" || len(got.OwnerReferences) != 1 || len(got.Finalizers) != 1 || !slices.Contains(got.Spec.Taints, claim.Spec.Taints[0]) {
				t.Errorf("the Node is not synced: %+v", got)
			}
			for _, h := range c.hooks {
				if h.calls != 1 {
					t.Errorf("hook %s was called %d times", h.name, h.calls)
				}
			}
		})
	}
	t.Run("the last hook finishes, and its labels arrive everywhere", func(t *testing.T) {
		t.Attr("covers", "C043 C045")
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a"), w.Node("a")
		w.Add(claim, node)
		first, last := &hook{name: "first", label: "first"}, &hook{name: "last", label: "last", result: cloud.HookResult{RequeueAfter: time.Second}}
		w.Cloud.Hooks = []cloud.RegistrationHook{first, last}
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		w.Run(l, claim)
		last.result = cloud.HookResult{}
		w.Run(l, claim)
		gotClaim, gotNode := fakecluster.Must(w, claim), fakecluster.Must(w, node)
		for _, label := range []string{"first", "last"} {
			if gotClaim.Labels[label] != "yes" || gotNode.Labels[label] != "yes" {
				t.Errorf("label %s: claim %q, node %q", label, gotClaim.Labels[label], gotNode.Labels[label])
			}
		}
		if registered(w, claim) != "True/Registered/" {
			t.Error(registered(w, claim))
		}
	})
}

// meeting is a hook that completes once the second hook was called too.
type meeting struct {
	name          string
	arrive, await chan struct{}
}

func (m meeting) Name() string { return m.name }

func (m meeting) Registered(context.Context, *v1.NodeClaim) (cloud.HookResult, error) {
	close(m.arrive)
	<-m.await
	return cloud.HookResult{RequeueAfter: time.Second}, nil
}

// TestHooksRunInParallel: called one after the other, the first hook would never return.
func TestHooksRunInParallel(t *testing.T) {
	t.Attr("covers", "C041")
	synctest.Test(t, func(t *testing.T) {
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a")
		w.Add(claim, w.Node("a"))
		here, there := make(chan struct{}), make(chan struct{})
		w.Cloud.Hooks = []cloud.RegistrationHook{meeting{"a", here, there}, meeting{"b", there, here}}
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if got := registered(w, claim); got != "Unknown/RegistrationHookPending/a, b" {
			t.Error(got)
		}
	})
}
