package chart

import (
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// as is a client of a user with groups.
func (w *installed) as(user string, groups ...string) client.Client {
	w.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", w.kubeconfig)
	if err != nil {
		w.t.Fatal(err)
	}
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	out, err := client.New(config, client.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// mayWriteAll grants all writes of NodeClaims and Nodes to a subject: the policies have to hold alone.
func (w *installed) mayWriteAll(subjects ...rbacv1.Subject) {
	w.t.Helper()
	verbs := []string{"get", "list", "create", "update", "patch", "delete"}
	for _, o := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "write-all"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"karpenter.sh"}, Resources: []string{"nodeclaims", "nodeclaims/status", "nodepools/finalizers"}, Verbs: verbs},
			{APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"}, Verbs: verbs},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "write-all"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "write-all"}, Subjects: subjects,
		},
	} {
		if err := w.client.Create(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
}

func nodeClaim(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": map[string]any{"name": name, "labels": map[string]any{"karpenter.sh/nodepool": "default"}},
		"spec": map[string]any{
			"requirements": []any{}, "nodeClassRef": map[string]any{"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
		},
	}}
}

// write is a patch of an object; of its status if that is set.
type write struct {
	what, patch string
	status      bool
}

// reliedClaim and reliedNode are writes of what the controller relies on in NodeClaims and in Nodes.
var reliedClaim, reliedNode = []write{
	{"the provider ID", `{"status": {"providerID": "kwok://other"}}`, true},
	{"a condition", `{"status": {"conditions": [{"type": "Rebooting", "status": "True", "reason": "X", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`, true},
	{"an annotation", `{"metadata": {"annotations": {"karpenter.sh/nodeclaim-termination-timestamp": "2000-01-01T00:00:00Z"}}}`, false},
	{"an annotation that is there", `{"metadata": {"annotations": {"karpenter.sh/nodepool-hash": null}}}`, false},
	{"an annotation of a cloud", `{"metadata": {"annotations": {"compatibility.karpenter.k8s.aws/cluster-name-tagged": "true"}}}`, false},
	{"the pool", `{"metadata": {"labels": {"karpenter.sh/nodepool": "other"}}}`, false},
	{"the finalizer", `{"metadata": {"finalizers": []}}`, false},
}, []write{
	{"the pool", `{"metadata": {"labels": {"karpenter.sh/nodepool": "other"}}}`, false},
	{"a label", `{"metadata": {"labels": {"karpenter.sh/initialized": "true"}}}`, false},
	{"an annotation, by the status", `{"metadata": {"annotations": {"karpenter.sh/nodepool-hash": "1"}}}`, true},
	{"the finalizer", `{"metadata": {"finalizers": ["example.com/kept"]}}`, false},
}

// harmless are writes that others need.
var harmless = []write{
	{"do-not-disrupt", `{"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}`, false},
	{"another annotation", `{"metadata": {"annotations": {"example.com/note": "x"}}}`, false},
	{"another label", `{"metadata": {"labels": {"example.com/team": "x"}}}`, false},
	{"another finalizer", `{"metadata": {"finalizers": ["karpenter.sh/termination", "example.com/kept"]}}`, false},
}

func (w *installed) try(as client.Client, object client.Object, x write) error {
	patch := client.RawPatch(types.MergePatchType, []byte(x.patch))
	object = object.DeepCopyObject().(client.Object)
	if x.status {
		return as.Status().Patch(w.t.Context(), object, patch)
	}
	return as.Patch(w.t.Context(), object, patch)
}

// TestAdmissionPolicies tries, on a real API server, what the policies of the chart refuse and what not. All users have all permissions.
func TestAdmissionPolicies(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.install(named("settings.cloudProvider=kwok", "admissionPolicies.enabled=true"))
	const account = "system:serviceaccount:kube-system:karpenter"
	user := func(name string) rbacv1.Subject {
		return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
	}
	w.mayWriteAll(user("tenant"), user(account), user("system:node:one"), user("system:serviceaccount:kube-system:karpenter-other"))
	tenant, kubelet, ctrl := w.as("tenant", "system:authenticated"), w.as("system:node:one", "system:nodes"), w.as(account, "system:serviceaccounts")

	claim := nodeClaim("one")
	claim.SetFinalizers([]string{"karpenter.sh/termination"})
	claim.SetAnnotations(map[string]string{"karpenter.sh/nodepool-hash": "1"})
	w.await("the policies are enforced", func() string {
		if err := tenant.Create(t.Context(), claim.DeepCopy(), client.DryRunAll); !isRefused(err) {
			return "a NodeClaim with the annotations of the controller is admitted"
		}
		return ""
	})
	if err := ctrl.Create(t.Context(), claim); err != nil {
		t.Fatalf("the controller creates a NodeClaim: %v", err)
	}
	if err := tenant.Create(t.Context(), nodeClaim("of-a-tenant")); err != nil {
		t.Errorf("a NodeClaim of a user who may create them: %v", err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: map[string]string{"karpenter.sh/nodepool": "default", "karpenter.sh/capacity-type": "spot"}}}
	marked := node.DeepCopy()
	marked.Labels["karpenter.sh/registered"] = "true"
	if err := kubelet.Create(t.Context(), marked); !isRefused(err) {
		t.Errorf("a kubelet marks its Node as registered: %v", err)
	}
	if err := kubelet.Create(t.Context(), node); err != nil {
		t.Fatalf("a kubelet registers its Node: %v", err)
	}
	if err := w.try(ctrl, node, write{patch: `{"metadata": {"labels": {"karpenter.sh/registered": "true"}, "annotations": {"karpenter.sh/nodepool-hash": "0"}, "finalizers": ["karpenter.sh/termination"]}}`}); err != nil {
		t.Fatalf("the controller registers the Node: %v", err)
	}
	for _, other := range []client.Client{tenant, kubelet, w.as("system:serviceaccount:kube-system:karpenter-other")} {
		for _, x := range reliedClaim {
			if err := w.try(other, claim, x); !isRefused(err) {
				t.Errorf("others write %s of a NodeClaim: %v", x.what, err)
			}
		}
		for _, x := range reliedNode {
			if err := w.try(other, node, x); !isRefused(err) {
				t.Errorf("others write %s of a Node: %v", x.what, err)
			}
		}
		for _, x := range harmless {
			for _, object := range []client.Object{claim, node} {
				if err := w.try(other, object, x); err != nil {
					t.Errorf("others write %s of %s: %v", x.what, object.GetName(), err)
				}
			}
		}
	}
	heartbeat := write{"a heartbeat", `{"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}]}}`, true}
	if err := w.try(kubelet, node, heartbeat); err != nil {
		t.Errorf("a heartbeat of a kubelet: %v", err)
	}
	if err := w.try(kubelet, node, write{"a taint", `{"spec": {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]}}`, false}); err != nil {
		t.Errorf("a taint of a node controller: %v", err)
	}
	for _, x := range reliedClaim {
		for name, trusted := range map[string]client.Client{"the controller": ctrl, "a cluster administrator": w.client} {
			if err := w.try(trusted, claim, x); err != nil {
				t.Errorf("%s writes %s: %v", name, x.what, err)
			}
		}
	}
}

// isRefused reports whether a policy of the chart refused a write.
func isRefused(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "only the controller")
}

// TestAdmissionPoliciesAreOffByDefault: they are for clusters whose administrators are known.
func TestAdmissionPoliciesAreOffByDefault(t *testing.T) {
	isPolicy := func(o runtime.Object) bool { _, ok := o.(*admissionv1.ValidatingAdmissionPolicy); return ok }
	if slices.ContainsFunc(named("settings.clusterName=one").objects(t), isPolicy) {
		t.Error("a policy is rendered by default")
	}
	objects := named("settings.clusterName=one", "admissionPolicies.enabled=true", `admissionPolicies.allowedUsers={jane,o'neil}`, `admissionPolicies.allowedGroups={a"b}`).objects(t)
	for _, name := range []string{"nodeclaims.karpenter.sh", "nodes.karpenter.sh"} {
		conditions := the[*admissionv1.ValidatingAdmissionPolicy](t, objects, name).Spec.MatchConditions
		want := []string{`!(request.userInfo.username in ["system:serviceaccount:kube-system:karpenter","jane","o'neil"])`, `!request.userInfo.?groups.orValue([]).exists(g, g in ["a\"b"])`}
		if conditions[0].Expression != want[0] || conditions[1].Expression != want[1] {
			t.Errorf("%s: conditions %q", name, conditions)
		}
	}
}
