package chart

import (
	"context"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestChartsForAzureAreAccepted installs both charts into a real API server, in the order of the quick start, and checks what its rules and its
// permissions say then.
func TestChartsForAzureAreAccepted(t *testing.T) {
	t.Attr("covers", "Z022 Z023 Z184")
	t.Parallel()
	w := begin(t)
	w.apply((release{chart: crdChart, name: "karpenter-crd", namespace: "kube-system", set: []string{"cloudProvider=azure"}}).manifest(t))
	w.release = azureFile("quickstart.yaml")
	w.apply(w.release.manifest(t))
	for _, example := range []string{"nodeclass", "nodepool", "inflate"} {
		w.apply(read(t, "../../examples/azure/"+example+".yaml"))
	}

	pool := read(t, "../../examples/azure/nodepool.yaml")
	for _, tc := range []struct{ from, to, want string }{
		{"kubernetes.io/os", "kubernetes.azure.com/unknown", `label domain "kubernetes.azure.com" is restricted`},
		{"karpenter.azure.com/sku-family", "karpenter.azure.com/sku-hyperv-generation", `label domain "karpenter.azure.com" is restricted`},
		{"kubernetes.io/os", "agentpool", `label "agentpool" is restricted`},
	} {
		if !strings.Contains(pool, tc.from) {
			t.Fatalf("the example has no %s to replace", tc.from)
		}
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(strings.Replace(pool, tc.from, tc.to, 1)), &o.Object); err != nil {
			t.Fatal(err)
		}
		o.SetName("restricted")
		if err := w.client.Create(t.Context(), &o); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("a NodePool with %s: %v, want %q", tc.to, err, tc.want)
		}
	}
	lists, err := w.clients.Discovery().ServerResourcesForGroupVersion("karpenter.azure.com/v1beta1")
	if err != nil || len(lists.APIResources) != 2 || strings.Join(lists.APIResources[0].Categories, " ") != "karpenter nap" {
		t.Errorf("node classes are served as %+v, %v", lists, err)
	}
	w.wantAllowed(t.Context(), "karpenter-sa")
}

// wantAllowed asks the API server what the account of the controller may do.
func (w *installed) wantAllowed(ctx context.Context, account string) {
	w.t.Helper()
	for _, tc := range []struct {
		verb, group, resource, subresource, namespace, name string
		want                                                bool
	}{
		{"patch", "karpenter.azure.com", "aksnodeclasses", "status", "", "default", true},
		{"patch", "karpenter.azure.com", "aksnodeclasses", "", "", "default", true},
		{"delete", "karpenter.azure.com", "aksnodeclasses", "", "", "default", false},
		{"get", "", "configmaps", "", "kube-system", "upcoming-maintenance-window", true},
		{"get", "", "configmaps", "", "kube-system", "coredns", false},
		{"list", "", "configmaps", "", "kube-system", "", false},
		{"get", "", "services", "", "kube-system", "kube-dns", true},
		{"list", "cilium.io", "ciliumnetworkpolicies", "", "", "", true},
		{"list", "crd.projectcalico.org", "globalnetworkpolicies", "", "", "", true},
		{"list", "networking.k8s.io", "networkpolicies", "", "", "", true},
		{"delete", "networking.k8s.io", "networkpolicies", "", "default", "a", false},
		{"get", "", "secrets", "", "kube-system", "bootstrap-token-abcdef", false},
		{"get", "karpenter.k8s.aws", "ec2nodeclasses", "", "", "default", false},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:kube-system:" + account,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: tc.verb, Group: tc.group, Resource: tc.resource, Subresource: tc.subresource, Namespace: tc.namespace, Name: tc.name,
			},
		}}
		got, err := w.clients.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		if got.Status.Allowed != tc.want {
			w.t.Errorf("%s %s/%s %s: allowed is %v", tc.verb, tc.resource, tc.subresource, tc.name, got.Status.Allowed)
		}
	}
}

// TestCategoriesAndColumnsOfAzure checks what kubectl shows of the definitions that the chart of the CRDs installs.
func TestCategoriesAndColumnsOfAzure(t *testing.T) {
	t.Attr("covers", "Z184")
	objects := (release{chart: crdChart, name: "karpenter-crd", set: []string{"cloudProvider=azure"}}).objects(t)
	for name, want := range map[string]string{
		"nodepools.karpenter.sh": "karpenter nap", "nodeclaims.karpenter.sh": "karpenter nap", "nodeoverlays.karpenter.sh": "karpenter",
		"aksnodeclasses.karpenter.azure.com": "karpenter nap",
	} {
		crd := the[*apiextensionsv1.CustomResourceDefinition](t, objects, name)
		if got := strings.Join(crd.Spec.Names.Categories, " "); got != want {
			t.Errorf("%s has the categories %s, want %s", name, got, want)
		}
		for _, column := range crd.Spec.Versions[0].AdditionalPrinterColumns {
			if name == "nodeclaims.karpenter.sh" && (column.Name == "ID" || column.Name == "ImageID") {
				t.Errorf("NodeClaims have the column %s", column.Name)
			}
		}
	}
}

// TestNotesOfAzure checks what Helm prints after an installation.
func TestNotesOfAzure(t *testing.T) {
	const warning = "WARNING: serviceAccount.annotations has azure.workload.identity/client-id"
	annotated := `serviceAccount.annotations.azure\.workload\.identity/client-id=one`
	for name, tc := range map[string]struct {
		r    release
		want bool
	}{
		"the label is missing":   {onAKS(annotated), true},
		"the label is there":     {azureFile("quickstart.yaml"), false},
		"the label is not true":  {onAKS(annotated, `podLabels.azure\.workload\.identity/use=no`), true},
		"no workload identity":   {onAKS(), false},
		"quotes in --set":        {onAKS(`serviceAccount.annotations."azure.workload.identity/client-id"=one`), true},
		"another cloud provider": {named("settings.cloudProvider=kwok", annotated), false},
	} {
		text := tc.r.notes(t)
		if strings.Contains(text, warning) != tc.want {
			t.Errorf("%s: the notes are\n%s", name, text)
		}
		if strings.Contains(text, "cloudProvider=azure") != (name != "another cloud provider") {
			t.Errorf("%s: the notes are\n%s", name, text)
		}
	}
}
