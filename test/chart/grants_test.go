package chart

import (
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// grant is one permission: a verb on a resource, in a namespace or in all, for some objects or for all.
type grant struct {
	call
	names []string
}

// covers reports whether the grant allows a call.
func (g grant) covers(c call) bool {
	return g.verb == c.verb && g.group == c.group && g.resource == c.resource && (g.namespace == "" || g.namespace == c.namespace) &&
		(len(g.names) == 0 || slices.Contains(g.names, c.name))
}

// grants are the permissions of the controller's roles. The role for administrators is not bound to it.
func grants(objects []runtime.Object) []grant {
	var out []grant
	add := func(namespace string, rules []rbacv1.PolicyRule) {
		for _, rule := range rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						out = append(out, grant{call{verb: verb, group: group, resource: resource, namespace: namespace}, rule.ResourceNames})
					}
				}
			}
		}
	}
	for _, o := range objects {
		switch role := o.(type) {
		case *rbacv1.ClusterRole:
			if role.Labels["rbac.authorization.k8s.io/aggregate-to-admin"] == "" && !strings.HasSuffix(role.Name, "-approver") {
				add("", role.Rules)
			}
		case *rbacv1.Role:
			add(role.Namespace, role.Rules)
		}
	}
	return out
}

// explained reads testdata/unused-grants.txt: grants that one run does not show, and why they are there.
func explained(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/unused-grants.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, found := strings.Cut(strings.TrimSpace(line), ": ")
		if !found {
			t.Fatalf("unused-grants.txt: %q has no reason", line)
		}
		out[name] = reason
	}
	return out
}

// checkUse fails the test for grants that were not used and are not explained.
func checkUse(t *testing.T, granted []grant, seen *recorder) {
	t.Helper()
	reasons := explained(t)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	used := func(g grant) bool {
		for c := range seen.allowed {
			if g.covers(c) {
				return true
			}
		}
		return false
	}
	for _, g := range granted {
		name := g.String()
		if used(g) || reasons[name] != "" {
			continue
		}
		// A subject that may watch all of a kind may read them in any other way: a watch begins with the existing objects, or with a list.
		watch := g
		watch.verb = "watch"
		if (g.verb == "get" || g.verb == "list") && used(watch) {
			continue
		}
		t.Errorf("%q is granted and was not used; take it away, or explain it in unused-grants.txt", name)
	}
}

// TestExplanationsAreOfGrants: what is explained is granted in some cloud.
func TestExplanationsAreOfGrants(t *testing.T) {
	unknown := explained(t)
	for _, r := range []release{everyFeature("kwok"), everyFeature("aws", "settings.clusterName=test"), onAKS()} {
		for _, g := range grants(r.objects(t)) {
			delete(unknown, g.String())
		}
	}
	for name := range unknown {
		t.Errorf("unused-grants.txt explains %q, which is not granted", name)
	}
}

// TestOnlySimulatedNodesAreRebootedByTheirStatus checks the permission with which the simulated cloud gives Nodes another boot ID.
func TestOnlySimulatedNodesAreRebootedByTheirStatus(t *testing.T) {
	t.Attr("covers", "N404")
	for provider, want := range map[string]bool{"aws": false, "azure": false, "kwok": true} {
		all := grants(onAKS("settings.cloudProvider=" + provider).objects(t))
		got := slices.ContainsFunc(all, func(g grant) bool { return g.covers(call{verb: "patch", resource: "nodes/status"}) })
		if got != want {
			t.Errorf("%s: patching nodes/status is granted: %v", provider, got)
		}
	}
}

// TestPodsArePatchedOnlyForTheirDeletionCosts checks the permission that the feature gate needs.
func TestPodsArePatchedOnlyForTheirDeletionCosts(t *testing.T) {
	t.Attr("covers", "N402")
	for _, provider := range []string{"aws", "azure", "kwok"} {
		for gate, want := range map[string]bool{"false": false, "true": true} {
			all := grants(onAKS("settings.cloudProvider="+provider, "settings.featureGates.podDeletionCostManagement="+gate).objects(t))
			got := slices.ContainsFunc(all, func(g grant) bool { return g.covers(call{verb: "patch", resource: "pods"}) })
			if got != want {
				t.Errorf("%s, PodDeletionCostManagement %s: patching pods is granted: %v", provider, gate, got)
			}
		}
	}
}

// TestStatusOfPodsIsPatchedOnlyForNominations checks the permission that the feature gate needs.
func TestStatusOfPodsIsPatchedOnlyForNominations(t *testing.T) {
	t.Attr("covers", "N488")
	for _, provider := range []string{"aws", "azure", "kwok"} {
		for gate, want := range map[string]bool{"false": false, "true": true} {
			all := grants(onAKS("settings.cloudProvider="+provider, "settings.featureGates.nominatedNodeName="+gate).objects(t))
			got := slices.ContainsFunc(all, func(g grant) bool { return g.covers(call{verb: "patch", resource: "pods/status"}) })
			if got != want {
				t.Errorf("%s, NominatedNodeName %s: patching pods/status is granted: %v", provider, gate, got)
			}
		}
	}
}

// TestOperationsPoliciesAreWatchedOnlyWithTheirFeatureGate checks the permissions that it needs, and those to show that it is off.
func TestOperationsPoliciesAreWatchedOnlyWithTheirFeatureGate(t *testing.T) {
	for _, provider := range []string{"aws", "azure", "kwok"} {
		for gate, on := range map[string]bool{"false": false, "true": true} {
			all := grants(onAKS("settings.cloudProvider="+provider, "settings.featureGates.operationsPolicy="+gate).objects(t))
			for c, want := range map[call]bool{
				{verb: "list", resource: "operationspolicies"}: true, {verb: "patch", resource: "operationspolicies/status"}: true,
				{verb: "list", resource: "disruptionplans"}: true, {verb: "patch", resource: "disruptionplans/status"}: true,
				{verb: "watch", resource: "operationspolicies"}: on, {verb: "watch", resource: "disruptionplans"}: on,
				{verb: "create", resource: "disruptionplans"}: on, {verb: "delete", resource: "disruptionplans"}: on,
			} {
				c.group = "ops.karpenter.sh"
				if got := slices.ContainsFunc(all, func(g grant) bool { return g.covers(c) }); got != want {
					t.Errorf("%s, OperationsPolicy %s: %s of %s is granted: %v", provider, gate, c.verb, c.resource, got)
				}
			}
		}
	}
}

// TestStatusOfObjectsIsWrittenWithoutTheirFeatureGate: it says that they are not applied.
func TestStatusOfObjectsIsWrittenWithoutTheirFeatureGate(t *testing.T) {
	for _, provider := range []string{"aws", "azure", "kwok"} {
		all := grants(onAKS("settings.cloudProvider="+provider, "settings.featureGates.nodeOverlay=false", "settings.featureGates.capacityBuffer=false").objects(t))
		for _, c := range []call{
			{verb: "list", group: "karpenter.sh", resource: "nodeoverlays"},
			{verb: "patch", group: "karpenter.sh", resource: "nodeoverlays/status"},
			{verb: "list", group: "autoscaling.x-k8s.io", resource: "capacitybuffers"},
			{verb: "patch", group: "autoscaling.x-k8s.io", resource: "capacitybuffers/status"},
		} {
			if !slices.ContainsFunc(all, func(g grant) bool { return g.covers(c) }) {
				t.Errorf("%s: %s of %s is not granted", provider, c.verb, c.resource)
			}
		}
	}
}

// TestOptionalFeaturesMayReadWhatTheyNeed checks the permissions that flags and feature gates need: default topology spread, vertical pod
// autoscalers, and buffers of Deployments.
func TestOptionalFeaturesMayReadWhatTheyNeed(t *testing.T) {
	t.Attr("covers", "N398 N400 N403 N460")
	for _, provider := range []string{"aws", "azure", "kwok"} {
		for gate, watched := range map[string]bool{"false": false, "true": true} {
			all := grants(onAKS("settings.cloudProvider="+provider, "settings.featureGates.capacityBuffer="+gate).objects(t))
			for c, want := range map[call]bool{
				{verb: "list", resource: "services"}: true, {verb: "watch", resource: "services"}: true,
				{verb: "list", group: "scheduling.k8s.io", resource: "podgroups"}: true, {verb: "watch", group: "scheduling.k8s.io", resource: "podgroups"}: true,
				{verb: "list", group: "autoscaling.k8s.io", resource: "verticalpodautoscalers"}: true,
				{verb: "get", group: "apps", resource: "deployments"}:                           true, {verb: "watch", group: "apps", resource: "deployments"}: watched,
			} {
				if got := slices.ContainsFunc(all, func(g grant) bool { return g.covers(c) }); got != want {
					t.Errorf("%s, CapacityBuffer %s: %+v is granted: %v", provider, gate, c, got)
				}
			}
		}
	}
}

// TestDevicesAreReadOnlyWhereTheyArePlanned: informers of a kind that may not be listed would never be ready.
func TestDevicesAreReadOnlyWhereTheyArePlanned(t *testing.T) {
	t.Attr("covers", "N544")
	for _, provider := range []string{"aws", "azure", "kwok"} {
		for ignored, want := range map[string]bool{"true": false, "false": true} {
			all := grants(onAKS("settings.cloudProvider="+provider, "settings.ignoreDRARequests="+ignored).objects(t))
			for _, resource := range []string{"resourceclaims", "resourceslices", "deviceclasses", "devicetaintrules"} {
				for _, verb := range []string{"list", "watch"} {
					c := call{verb: verb, group: "resource.k8s.io", resource: resource}
					if got := slices.ContainsFunc(all, func(g grant) bool { return g.covers(c) }); got != want {
						t.Errorf("%s, claims ignored %s: %+v is granted: %v", provider, ignored, c, got)
					}
				}
			}
		}
	}
}

// TestAdministratorsOfANamespaceLaunchNothing checks what role aggregation grants: no status, which belongs to the controller, and no
// writes of what launches nodes beyond the quota of a namespace.
func TestAdministratorsOfANamespaceLaunchNothing(t *testing.T) {
	for _, provider := range []string{"aws", "azure", "kwok"} {
		r := onAKS("settings.cloudProvider=" + provider)
		read := map[string]bool{}
		for _, o := range r.objects(t) {
			role, ok := o.(*rbacv1.ClusterRole)
			if !ok || role.Labels["rbac.authorization.k8s.io/aggregate-to-admin"] == "" {
				continue
			}
			for _, rule := range role.Rules {
				for _, resource := range rule.Resources {
					if strings.Contains(resource, "/") {
						t.Errorf("%s: %v of %s", provider, rule.Verbs, resource)
					}
					if resource != "capacitybuffers" && resource != "nodeoverlays" {
						continue
					}
					read[resource] = true
					if !slices.Equal(rule.Verbs, []string{"get", "list", "watch"}) {
						t.Errorf("%s: %v of %s", provider, rule.Verbs, resource)
					}
				}
			}
		}
		if len(read) != 2 {
			t.Errorf("%s: only %v can be read", provider, read)
		}
	}
}
