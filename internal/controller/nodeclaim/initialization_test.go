package nodeclaim_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
)

func TestInitialization(t *testing.T) {
	t.Attr("covers", "C047 C048 C049 C051 C052 C053 C054 C055 C056 C058")
	const done = "True/Initialized/"
	notReady := func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }
	tainted := func(t corev1.Taint) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, t) }
	}
	startup := func(c *v1.NodeClaim) {
		c.Spec.StartupTaints = []corev1.Taint{taint("starting", "up", "NoSchedule")}
	}
	gpu := func(quantity string) func(*v1.NodeClaim) {
		return func(c *v1.NodeClaim) {
			c.Spec.Resources.Requests = fakecluster.Resources("example.com/gpu", quantity)
		}
	}
	for name, c := range map[string]struct {
		claim func(*v1.NodeClaim)
		node  func(*corev1.Node)
		want  string
	}{
		"a ready Node":                     {want: done},
		"not ready":                        {node: notReady, want: "Unknown/NodeNotReady/Node status is NotReady"},
		"a requested resource is missing":  {claim: gpu("1"), want: `Unknown/ResourceNotRegistered/Resource "example.com/gpu" was requested but not registered`},
		"a zero request is not waited for": {claim: gpu("0"), want: done},
		"a startup taint is left":          {claim: startup, node: tainted(taint("starting", "other", "NoSchedule")), want: `Unknown/StartupTaintsExist/StartupTaint "starting=up:NoSchedule" still exists`},
		"the startup taint is gone":        {claim: startup, want: done},
		"an ephemeral taint is left":       {node: tainted(taint(corev1.TaintNodeNotReady, "", "NoExecute")), want: `Unknown/KnownEphemeralTaintsExist/KnownEphemeralTaint "node.kubernetes.io/not-ready:NoExecute" still exists`},
		"uninitialized by the cloud":       {node: tainted(taint("node.cloudprovider.kubernetes.io/uninitialized", "true", "NoSchedule")), want: `Unknown/KnownEphemeralTaintsExist/KnownEphemeralTaint "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule" still exists`},
		"a readiness gate":                 {node: tainted(taint("readiness.k8s.io/cni", "", "PreferNoSchedule")), want: `Unknown/KnownEphemeralTaintsExist/KnownEphemeralTaint "readiness.k8s.io/cni:PreferNoSchedule" still exists`},
		"another taint does not matter":    {node: tainted(taint(corev1.TaintNodeUnreachable, "", "NoExecute")), want: done},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			claim, node := w.LaunchedClaim("a", v1.ConditionTypeRegistered), w.RegisteredNode("a")
			if c.claim != nil {
				c.claim(claim)
			}
			if c.node != nil {
				c.node(node)
			}
			w.Add(claim, node)
			result := w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
			if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Initialized"); got != c.want {
				t.Errorf("Initialized %q, want %q", got, c.want)
			}
			if labelled := fakecluster.Must(w, node).Labels[v1.NodeInitializedLabelKey] == "true"; labelled != (c.want == done) {
				t.Errorf("labelled: %v", labelled)
			}
			if result.RequeueAfter != 0 {
				t.Errorf("wakes up after %v; events should", result.RequeueAfter)
			}
		})
	}
	t.Run("does nothing while the node is rebooted", func(t *testing.T) {
		t.Attr("covers", "N062")
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a", v1.ConditionTypeRegistered), w.RegisteredNode("a")
		set := condition.For(claim, w.Time.Now())
		set.TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonIssued, "")
		set.Unknown(v1.ConditionTypeInitialized, "Rebooting", "node is rebooting")
		w.Add(claim, node)
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		w.Run(l, claim)
		if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Initialized"); got != "Unknown/Rebooting/node is rebooting" {
			t.Errorf("Initialized %q while it reboots", got)
		}
		fakecluster.Change(w, claim, func(c *v1.NodeClaim) {
			condition.For(c, w.Time.Now()).False(v1.ConditionTypeRebooting, v1.RebootReasonSucceeded, "")
		})
		w.Run(l, claim)
		if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Initialized"); got != done {
			t.Errorf("Initialized %q after the reboot", got)
		}
	})
	t.Run("labels a Node that a reboot has just taken the label of", func(t *testing.T) {
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a", v1.ConditionTypeRegistered), w.RegisteredNode("a")
		node.Labels[v1.NodeInitializedLabelKey] = "true"
		w.Add(claim, node)
		current := w.Freeze(node)
		fakecluster.Change(w, node, func(n *corev1.Node) { delete(n.Labels, v1.NodeInitializedLabelKey) })
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		current()
		if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Initialized"); got != done {
			t.Errorf("Initialized %q", got)
		}
		if label := fakecluster.Must(w, node).Labels[v1.NodeInitializedLabelKey]; label != "true" {
			t.Error("the NodeClaim is initialized, and its Node has no label that says so")
		}
	})
	t.Run("restores a label that another client has removed", func(t *testing.T) {
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a", v1.ConditionTypeRegistered, v1.ConditionTypeInitialized), w.RegisteredNode("a")
		w.Add(claim, node)
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if label := fakecluster.Must(w, node).Labels[v1.NodeInitializedLabelKey]; label != "true" {
			t.Error("an initialized Node without the label that says so")
		}
	})
	t.Run("leaves a Node alone that a reboot has taken the label of, where the cache has an old NodeClaim", func(t *testing.T) {
		w := fakecluster.New(t)
		claim, node := w.LaunchedClaim("a", v1.ConditionTypeRegistered, v1.ConditionTypeInitialized), w.RegisteredNode("a")
		w.Add(claim, node)
		current := w.Freeze(claim)
		fakecluster.Change(w, claim, func(c *v1.NodeClaim) {
			set := condition.For(c, w.Time.Now())
			set.TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonIssued, "")
			set.Unknown(v1.ConditionTypeInitialized, "Rebooting", "node is rebooting")
		})
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		current()
		if label, ok := fakecluster.Must(w, node).Labels[v1.NodeInitializedLabelKey]; ok {
			t.Errorf("the label is %q while the Node reboots", label)
		}
	})
	t.Run("waits for registration", func(t *testing.T) {
		t.Attr("covers", "C046")
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a")
		w.Add(claim)
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Initialized"); got != "Unknown/AwaitingReconciliation/object is awaiting reconciliation" {
			t.Error(got)
		}
	})
	t.Run("completes when the resource shows up, from launch to ready", func(t *testing.T) {
		t.Attr("covers", "C050")
		w := fakecluster.New(t)
		claim, node := w.Claim("a"), w.Node("a")
		gpu("1")(claim)
		w.Add(claim, node)
		l := nodeclaim.NewLifecycle(w.Shared, &health{})
		w.Run(l, claim)
		fakecluster.Change(w, node, func(n *corev1.Node) {
			n.Status.Allocatable["example.com/gpu"] = fakecluster.Resources("x", "1")["x"]
		})
		w.Time.Step(time.Minute)
		w.Run(l, claim)
		if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Ready"); got != "True/Ready/" {
			t.Errorf("Ready %q", got)
		}
	})
	t.Run("a lost Node", func(t *testing.T) {
		t.Attr("covers", "C047")
		w := fakecluster.New(t)
		claim := w.LaunchedClaim("a", v1.ConditionTypeRegistered)
		w.Add(claim)
		w.Run(nodeclaim.NewLifecycle(w.Shared, &health{}), claim)
		if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Initialized"); got != "Unknown/NodeNotFound/Node not registered with cluster" {
			t.Error(got)
		}
	})
}
