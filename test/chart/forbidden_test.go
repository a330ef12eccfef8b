package chart

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// forbidden are permissions that no role of the chart may have, by API group and resource: with them, who takes over the controller would take
// over the cluster. Some verbs of some are harmless.
var forbidden = []struct {
	group, resource string
	allowed         []string
}{
	{group: "", resource: "secrets"},
	{group: "", resource: "pods", allowed: []string{"get", "list", "watch", "delete", "patch"}},
	{group: "", resource: "pods/exec"},
	{group: "", resource: "pods/attach"},
	{group: "", resource: "pods/portforward"},
	{group: "", resource: "pods/ephemeralcontainers"},
	{group: "", resource: "nodes/proxy"},
	{group: "", resource: "serviceaccounts"},
	{group: "", resource: "serviceaccounts/token"},
	{group: "", resource: "users"},
	{group: "", resource: "groups"},
	{group: "apps", resource: "deployments", allowed: []string{"get", "list", "watch"}},
	{group: "apps", resource: "daemonsets", allowed: []string{"get", "list", "watch"}},
	{group: "apps", resource: "replicasets", allowed: []string{"get", "list", "watch"}},
	{group: "apps", resource: "statefulsets", allowed: []string{"get", "list", "watch"}},
	{group: "admissionregistration.k8s.io", resource: "validatingadmissionpolicies", allowed: []string{"get"}},
	{group: "admissionregistration.k8s.io", resource: "validatingadmissionpolicybindings", allowed: []string{"get"}},
}

// TestTheControllerIsGrantedNothingThatIsForbidden checks the roles of the chart, with every feature and by default.
func TestTheControllerIsGrantedNothingThatIsForbidden(t *testing.T) {
	for name, r := range map[string]release{
		"aws": named("settings.clusterName=one"), "azure": onAKS(), "kwok": named("settings.cloudProvider=kwok"),
		"every feature on aws": everyFeature("aws", "settings.clusterName=test"), "every feature on kwok": everyFeature("kwok"),
		"shadow": named("settings.clusterName=one", "settings.shadow=true"),
	} {
		for _, o := range r.objects(t) {
			switch role := o.(type) {
			case *rbacv1.ClusterRole:
				for _, problem := range tooMuch(role.Rules, true) {
					t.Errorf("%s: ClusterRole %s: %s", name, role.Name, problem)
				}
			case *rbacv1.Role:
				for _, problem := range tooMuch(role.Rules, false) {
					t.Errorf("%s: Role %s: %s", name, role.Name, problem)
				}
			}
		}
	}
}

// tooMuch is what is wrong with the rules of a role. ConfigMaps, whose contents are those of workloads, are only in roles of namespaces, by name.
func tooMuch(rules []rbacv1.PolicyRule, everywhere bool) []string {
	var out []string
	for _, rule := range rules {
		all := slices.Concat(rule.Verbs, rule.APIGroups, rule.Resources, rule.NonResourceURLs)
		if slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, "*") }) {
			out = append(out, "a wildcard among "+strings.Join(all, " "))
		}
		for _, verb := range []string{"impersonate", "escalate", "bind", "deletecollection"} {
			if slices.Contains(rule.Verbs, verb) {
				out = append(out, "the verb "+verb)
			}
		}
		if slices.Contains(rule.APIGroups, rbacv1.GroupName) {
			out = append(out, "roles and bindings")
		}
		if slices.Contains(rule.Resources, "configmaps") && (everywhere || len(rule.ResourceNames) == 0) {
			out = append(out, "ConfigMaps that are not named")
		}
		for _, f := range forbidden {
			if !slices.Contains(rule.APIGroups, f.group) || !slices.Contains(rule.Resources, f.resource) {
				continue
			}
			for _, verb := range rule.Verbs {
				if !slices.Contains(f.allowed, verb) {
					out = append(out, verb+" of "+f.resource)
				}
			}
		}
	}
	return out
}

// TestForbiddenRulesAreNoticed checks the test above.
func TestForbiddenRulesAreNoticed(t *testing.T) {
	for want, rule := range map[string]rbacv1.PolicyRule{
		"a wildcard among * apps deployments":  {Verbs: []string{"*"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}},
		"get of secrets":                       {Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
		"create of pods":                       {Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"pods"}},
		"ConfigMaps that are not named":        {Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
		"roles and bindings":                   {Verbs: []string{"get"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}},
		"the verb impersonate":                 {Verbs: []string{"impersonate"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"uids"}},
		"a wildcard among get /metrics/*":      {Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics/*"}},
		"patch of validatingadmissionpolicies": {Verbs: []string{"patch"}, APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingadmissionpolicies"}},
	} {
		if got := tooMuch([]rbacv1.PolicyRule{rule}, false); !slices.Contains(got, want) {
			t.Errorf("%+v: %q, want %q", rule, got, want)
		}
	}
}
