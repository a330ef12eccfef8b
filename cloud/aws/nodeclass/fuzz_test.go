package nodeclass_test

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kjson "sigs.k8s.io/json"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/test/generate"
)

// definitions are the definition of the class, and a judge that decides as the API server would.
var definitions = sync.OnceValues(func() (*apiextensionsv1.CustomResourceDefinition, *manifest.Reader) {
	all, err := awscrds.Definitions()
	if err != nil {
		panic(err)
	}
	judge, err := manifest.NewReader(all, awsv1.AddToScheme)
	if err != nil {
		panic(err)
	}
	at := slices.IndexFunc(all, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Spec.Names.Kind == "EC2NodeClass" })
	return all[at], judge
})

// classFrom writes a class; nil if the API server would not let it through.
func classFrom(t *testing.T, choices []byte, own string) *awsv1.EC2NodeClass {
	t.Helper()
	crd, judge := definitions()
	fixed := map[string]any{}
	// Terms of nonsense select nothing, and a class that selects nothing is never launched from.
	discovery := []any{map[string]any{"tags": map[string]any{"karpenter.sh/discovery": "test"}}}
	if len(choices) > 0 && choices[0]&1 == 1 {
		fixed["spec.subnetSelectorTerms"], fixed["spec.securityGroupSelectorTerms"] = discovery, discovery
	}
	if len(choices) > 0 && choices[0]&2 == 2 {
		families := []string{"al2023@latest", "bottlerocket@latest", "windows2022@latest", "al2023@v20240807"}
		fixed["spec.amiSelectorTerms"] = []any{map[string]any{"alias": families[int(choices[0]>>2)%len(families)]}}
	}
	content := generate.Object(generate.From(choices, own), crd, "default", fixed)
	if spec := content["spec"].(map[string]any); spec["instanceProfile"] == nil {
		spec["role"] = awstest.Role
	}
	if len(judge.Check(content)) > 0 {
		return nil
	}
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	class := &awsv1.EC2NodeClass{}
	if err := json.Unmarshal(text, class); err != nil {
		t.Fatalf("the schema lets through what cannot be read: %v\n%s", err, text)
	}
	return class
}

// FuzzClass takes classes that the API server would let through through their life: status, hash, a launch, drift, the end. Nothing
// panics, every status can be written, and what was just launched has not drifted.
func FuzzClass(f *testing.F) {
	f.Add([]byte{}, "")
	f.Add([]byte{3}, "x")
	f.Add([]byte{3, 7, 1, 0, 6, 1, 7, 2, 2, 3, 5, 0, 7, 6, 1, 7, 4, 2}, "#!/bin/sh")
	f.Add([]byte{7, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, "[settings")
	f.Add([]byte{11, 6, 7, 6, 7, 6, 7, 6, 7, 6, 7, 6, 7, 6, 7, 6, 7, 6, 7, 6, 7, 6, 7, 6, 7, 6, 7, 6, 7, 6, 7}, "MIME-Version: 1.0")
	f.Fuzz(func(t *testing.T, choices []byte, own string) {
		class := classFrom(t, choices, own)
		if class == nil {
			return
		}
		live(t, class)
	})
}

func live(t *testing.T, wanted *awsv1.EC2NodeClass) {
	w := newWorld(t)
	w.account.AddProfile(awstest.Profile{Name: "the-profile", Roles: []string{awstest.Role}})
	w.add(func(c *awsv1.EC2NodeClass) { c.Spec = wanted.Spec })
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	if err := w.client.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	for range 2 { // errors are ordinary here
		_, _, _ = w.reconcile()
		if _, err := w.hasher.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "default"}}); err != nil {
			t.Errorf("hash: %v", err)
		}
	}
	class := w.class()
	checkStatus(t, class)
	if again := class.DeepCopy(); again.Hash("x") != class.Hash("x") || class.Annotations[awsv1.AnnotationHash] != class.Hash(w.provider.Cluster.Facts().CABundle) {
		t.Error("the hash is not always the same")
	}
	if _, err := w.provider.InstanceTypes(t.Context(), pool); err != nil {
		t.Logf("instance types: %v", err)
	}
	launchFrom(w)
	if err := w.client.Delete(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	_, _ = w.controller.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "default"}})
}

// checkStatus checks that the API server would take the status.
func checkStatus(t *testing.T, class *awsv1.EC2NodeClass) {
	t.Helper()
	_, judge := definitions()
	text, err := json.Marshal(class)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &content); err != nil {
		t.Fatal(err)
	}
	content["apiVersion"], content["kind"] = awsv1.Group+"/v1", "EC2NodeClass"
	for _, found := range judge.Check(content) {
		t.Errorf("with its status: %s: %s\n%s", found.Field, found.Message, text)
	}
}

// launchFrom launches a claim. A class that is ready launches it, or says in a typed error why not; what it launches is not drifted.
func launchFrom(w *world) {
	t := w.t
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim", UID: "claim-uid", Labels: map[string]string{v1.NodePoolLabelKey: "pool", awsv1.LabelNodeClass: "default"}}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: v1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{v1.CapacityTypeOnDemand}}}
	created, err := w.provider.Create(t.Context(), claim)
	ready := show(w.class(), awsv1.ConditionTypeReady)
	if err != nil {
		var typed *cloud.CreateError
		if !cloud.IsNodeClassNotReady(err) && !cloud.IsInsufficientCapacity(err) && !errors.As(err, &typed) && ready == "True" {
			t.Logf("a class that is ready: %v", err)
		}
		return
	}
	if ready != "True" {
		t.Errorf("launched from a class that is not ready: %s", ready)
	}
	if reason, err := w.provider.IsDrifted(t.Context(), created); reason != "" || err != nil {
		t.Errorf("just launched, and drifted: %s, %v", reason, err)
	}
	if found, err := w.provider.List(t.Context()); err != nil || len(found) != 1 {
		t.Errorf("%d instances, %v", len(found), err)
	}
}
