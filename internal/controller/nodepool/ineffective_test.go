package nodepool_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodepool"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/translate"
	"github.com/karpenter-anew/karpenter/test/logcapture"
)

// validation is the controller over a cluster.
func validation(w *fakecluster.Cluster) *nodepool.Validation {
	return nodepool.NewValidation(w.Shared, translate.New(w.Shared.Cloud.Labels), options.FeatureGates{})
}

// instanceType is a type of one architecture that is on offer in one zone.
func instanceType(name, arch, zone string) *cloud.InstanceType {
	in := func(key string, values ...string) v1.NodeSelectorRequirementWithMinValues {
		return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: "In", Values: values}
	}
	return &cloud.InstanceType{
		Name: name,
		Requirements: []v1.NodeSelectorRequirementWithMinValues{
			in(corev1.LabelInstanceTypeStable, name), in(corev1.LabelArchStable, arch), in(corev1.LabelTopologyZone, zone), in(v1.CapacityTypeLabelKey, "spot"),
		},
		Capacity: fakecluster.Resources("cpu", "4"),
		Offerings: []cloud.Offering{{
			Requirements: []v1.NodeSelectorRequirementWithMinValues{in(corev1.LabelTopologyZone, zone), in(v1.CapacityTypeLabelKey, "spot")}, Price: 1, Available: true,
		}},
	}
}

// TestIneffectiveNodePools: what has no effect, but is allowed, is a condition and an event; readiness does not depend on it.
func TestIneffectiveNodePools(t *testing.T) {
	require := func(key string, values ...string) func(*v1.NodePool) {
		return func(p *v1.NodePool) {
			p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: "In", Values: values})
		}
	}
	limit := func(resource string) func(*v1.NodePool) {
		return func(p *v1.NodePool) { p.Spec.Limits = v1.Limits(fakecluster.Resources(resource, "10")) }
	}
	for name, c := range map[string]struct {
		pool      []func(*v1.NodePool)
		condition string
		want      string // of the condition
		event     string
	}{
		"types exist": {pool: []func(*v1.NodePool){require(corev1.LabelTopologyZone, "zone-a")}, condition: "InstanceTypesFound"},
		"a zone that does not exist": {
			pool:      []func(*v1.NodePool){require(corev1.LabelTopologyZone, "zone-c")},
			condition: "InstanceTypesFound",
			want:      "False/NoCompatibleInstanceTypes/nodepool requirements filtered out all available instance types: no instance type or NodePool has topology.kubernetes.io/zone zone-c; known values: zone-a, zone-b",
			event:     "NoCompatibleInstanceTypes pool: nodepool requirements filtered out all",
		},
		"requirements that no type meets together": {
			pool:      []func(*v1.NodePool){require(corev1.LabelTopologyZone, "zone-a"), require(corev1.LabelArchStable, "arm64")},
			condition: "InstanceTypesFound",
			want: "False/NoCompatibleInstanceTypes/nodepool requirements filtered out all available instance types: " +
				"there would be instance types without kubernetes.io/arch In [arm64], or without topology.kubernetes.io/zone In [zone-a]",
			event: "NoCompatibleInstanceTypes",
		},
		"a budget with five stars too few": {
			pool: []func(*v1.NodePool){func(p *v1.NodePool) {
				p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "1"}, {Nodes: "0", Schedule: new("@dailyfoo"), Duration: &metav1.Duration{Duration: time.Hour}}}
			}},
			condition: "BudgetsValid",
			want:      `False/InvalidBudget/spec.disruption.budgets[1] of nodepool "pool": schedule "@dailyfoo": want five cron fields`,
			event:     "InvalidBudget pool: spec.disruption.budgets[1]",
		},
		"replicas without the feature gate": {
			pool:      []func(*v1.NodePool){func(p *v1.NodePool) { p.Spec.Replicas = new(int64(3)) }},
			condition: "ReplicasKept",
			want:      "False/StaticCapacityDisabled/spec.replicas is set, and the feature gate StaticCapacity is off",
			event:     "StaticCapacityDisabled pool: spec.replicas is set",
		},
		"a key that nearly is a known one": {
			pool:  []func(*v1.NodePool){require("node.kubernetes.io/instance-typ", "small")},
			event: `UnknownRequirementKey pool: Requirement on the label "node.kubernetes.io/instance-typ" is not about instance types: nodes get it as a custom label; did you mean "node.kubernetes.io/instance-type"?`,
		},
		"a limit on a resource that nearly is a known one": {
			pool:  []func(*v1.NodePool){limit("cpus")},
			event: `UnknownLimit pool: No instance type has the resource "cpus" of spec.limits: this limit keeps no node from being launched, did you mean "cpu"?`,
		},
		"limits on a resource of the types, and on nodes": {pool: []func(*v1.NodePool){limit("cpu"), limit("nodes")}},
		"a key of the user": {pool: []func(*v1.NodePool){require("example.com/team", "a")}},
	} {
		t.Run(name, func(t *testing.T) {
			pool := fakecluster.Pool()
			for _, change := range c.pool {
				change(pool)
			}
			w := fakecluster.New(t, pool, fakecluster.Class())
			w.Provider.Types = []*cloud.InstanceType{instanceType("small", "amd64", "zone-a"), instanceType("other", "arm64", "zone-b")}
			w.Run(nodepool.NewReadiness(w.Shared), pool)
			w.Run(validation(w), pool)
			conditions := fakecluster.Must(w, pool).Status.Conditions
			if got := fakecluster.Condition(conditions, c.condition); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("condition %s: %q, want %q", c.condition, got, c.want)
			}
			if got := fakecluster.Condition(conditions, "ValidationSucceeded"); got != "True/ValidationSucceeded/" {
				t.Errorf("ValidationSucceeded: %q", got)
			}
			events := w.Events()
			if c.event == "" && len(events) > 0 || c.event != "" && !slices.ContainsFunc(events, func(e string) bool { return strings.HasPrefix(e, "Warning "+c.event) }) {
				t.Errorf("events %q, want %q", events, c.event)
			}
			corrected := fakecluster.Must(w, pool)
			corrected.Spec.Template.Spec.Requirements, corrected.Spec.Disruption.Budgets, corrected.Spec.Replicas = nil, nil, nil
			if err := w.Client.Update(t.Context(), corrected); err != nil {
				t.Fatal(err)
			}
			w.Run(validation(w), pool)
			if got := fakecluster.Condition(fakecluster.Must(w, pool).Status.Conditions, c.condition); c.condition != "" && got != "" {
				t.Errorf("condition of a NodePool that was corrected: %q", got)
			}
		})
	}
}

// TestNodeLimitBelowReplicas: nodes that limits.nodes keeps a static NodePool from launching are missing for as long as it is below replicas.
func TestNodeLimitBelowReplicas(t *testing.T) {
	static := func(replicas int64, limits ...string) *v1.NodePool {
		pool := fakecluster.Pool()
		pool.Spec.Replicas, pool.Spec.Limits = &replicas, v1.Limits(fakecluster.Resources(limits...))
		return pool
	}
	const below = "False/NodeLimitBelowReplicas/spec.replicas is 5, and spec.limits.nodes is 3: no nodes are launched beyond 3; raise limits.nodes to 5 or more, or lower replicas"
	for name, c := range map[string]struct {
		pool *v1.NodePool
		gate bool
		want string
	}{
		"below":                {static(5, "nodes", "3"), true, below},
		"below, with no nodes": {static(1, "nodes", "0"), true, "False/NodeLimitBelowReplicas/spec.replicas is 1, and spec.limits.nodes is 0: "},
		"equal":                {static(3, "nodes", "3"), true, ""},
		"no limit":             {static(3), true, ""},
		"no replicas":          {static(0, "nodes", "0"), true, ""},
		"the gate is off":      {static(5, "nodes", "3"), false, "False/StaticCapacityDisabled/"},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t, c.pool, fakecluster.Class())
			w.Run(nodepool.NewReadiness(w.Shared), c.pool)
			v := nodepool.NewValidation(w.Shared, translate.New(w.Shared.Cloud.Labels), options.FeatureGates{StaticCapacity: c.gate})
			w.Run(v, c.pool)
			conditions := fakecluster.Must(w, c.pool).Status.Conditions
			if got := fakecluster.Condition(conditions, "ReplicasKept"); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("condition %q, want %q", got, c.want)
			}
			if got := fakecluster.Condition(conditions, "Ready"); got != "True/Ready/" {
				t.Errorf("Ready: %s", got)
			}
			reason := strings.SplitN(c.want+"//", "/", 3)[1]
			if got := w.Events(); c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], "Warning "+reason+" pool: spec.replicas is ")) {
				t.Errorf("events %q", got)
			}
			corrected := fakecluster.Must(w, c.pool)
			corrected.Spec.Limits = nil
			if err := w.Client.Update(t.Context(), corrected); err != nil {
				t.Fatal(err)
			}
			w.Run(v, c.pool)
			if got := fakecluster.Condition(fakecluster.Must(w, c.pool).Status.Conditions, "ReplicasKept"); c.gate && got != "" {
				t.Errorf("condition without the limit: %q", got)
			}
		})
	}
}

// TestProblemsAreLoggedOnce: a line is written once the condition is saved, and not again for the same problem.
func TestProblemsAreLoggedOnce(t *testing.T) {
	pool := fakecluster.Pool()
	pool.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "0", Schedule: new("@dailyfoo"), Duration: &metav1.Duration{Duration: time.Hour}}}
	w := fakecluster.New(t, pool, fakecluster.Class())
	var out logcapture.Buffer
	ctx := log.IntoContext(w.Context(), logr.FromSlogHandler(slog.NewTextHandler(&out, nil)))
	pass := func(want int) {
		t.Helper()
		if _, err := validation(w).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pool)}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "has no effect as it is"); got != want {
			t.Errorf("%d lines, want %d:\n%s", got, want, out.String())
		}
	}
	w.Fail = fakecluster.Always("patch-status", &v1.NodePool{}, fakecluster.Conflict())
	pass(0)
	pass(0)
	w.Fail = nil
	pass(1)
	pass(1)
	edit := func(change func(*v1.NodePool)) {
		t.Helper()
		edited := fakecluster.Must(w, pool)
		edited.Generation++
		change(edited)
		if err := w.Client.Update(t.Context(), edited); err != nil {
			t.Fatal(err)
		}
	}
	edit(func(p *v1.NodePool) { p.Spec.Weight = new(int32(7)) })
	pass(1)
	edit(func(p *v1.NodePool) { p.Spec.Disruption.Budgets[0].Schedule = new("@weeklyfoo") })
	pass(2)
	edit(func(p *v1.NodePool) {
		p.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: v1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{"spot", "sport"}}}
	})
	pass(2)
	pass(2)
	if got := strings.Count(out.String(), "unknown values beside known ones"); got != 1 {
		t.Errorf("%d lines about unknown values, want one:\n%s", got, out.String())
	}
}
