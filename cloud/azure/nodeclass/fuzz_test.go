package nodeclass_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	azurecrds "github.com/karpenter-anew/karpenter/api/azure/crds"
	"github.com/karpenter-anew/karpenter/api/azure/v1alpha2"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/cloud/azure/discovery"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/image"
	"github.com/karpenter-anew/karpenter/cloud/azure/nodeclass"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/test/generate"
)

// definitions are the definition of the class, and a judge that decides as the API server would.
var definitions = sync.OnceValues(func() (*apiextensionsv1.CustomResourceDefinition, *manifest.Reader) {
	all, err := azurecrds.Definitions()
	if err != nil {
		panic(err)
	}
	judge, err := manifest.NewReader(all, v1beta1.AddToScheme, v1alpha2.AddToScheme)
	if err != nil {
		panic(err)
	}
	at := slices.IndexFunc(all, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Spec.Names.Kind == "AKSNodeClass" })
	return all[at], judge
})

// classFrom writes a class; nil if the API server would refuse it.
func classFrom(t *testing.T, choices []byte, own string) *v1beta1.AKSNodeClass {
	t.Helper()
	crd, judge := definitions()
	fixed := map[string]any{}
	if len(choices) > 0 && choices[0]&1 == 1 { // most strings are no subnet, and then nothing else of a class is reached
		fixed["spec.vnetSubnetID"] = clusterSubnet
	}
	if len(choices) > 0 && choices[0]&2 == 2 {
		fixed["spec.localDNS"] = localDNS([]string{"Preferred", "Required", "Disabled"}[choices[0]%3])
	}
	content := generate.Object(generate.From(choices, own), crd, "default", fixed)
	content["apiVersion"] = v1beta1.SchemeGroupVersion.String()
	if len(judge.Check(content)) > 0 {
		return nil
	}
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	class := &v1beta1.AKSNodeClass{}
	if err := json.Unmarshal(text, class); err != nil {
		t.Fatalf("the schema lets through what cannot be read: %v\n%s", err, text)
	}
	return class
}

// localDNS is what a class must say of LocalDNS: the schema requires two zones in each list, which are hardly ever generated.
func localDNS(mode string) map[string]any {
	zone := func(name, destination string) map[string]any {
		return map[string]any{
			"zone": name, "queryLogging": "Error", "protocol": "PreferUDP", "forwardDestination": destination, "forwardPolicy": "Sequential",
			"maxConcurrent": int64(0), "cacheDuration": "1h0m30s", "serveStaleDuration": "30m", "serveStale": "Verify",
		}
	}
	return map[string]any{
		"mode": mode, "vnetDNSOverrides": []any{zone(".", "VnetDNS"), zone("cluster.local", "ClusterCoreDNS")},
		"kubeDNSOverrides": []any{zone(".", "ClusterCoreDNS"), zone("cluster.local", "ClusterCoreDNS")},
	}
}

// admitted checks that the API server would take an object that was read and written.
func admitted(t *testing.T, what string, class *v1beta1.AKSNodeClass) {
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
	content["apiVersion"], content["kind"] = v1beta1.SchemeGroupVersion.String(), "AKSNodeClass"
	for _, found := range judge.Check(content) {
		t.Errorf("%s: %s: %s\n%s", what, found.Field, found.Message, text)
	}
}

// published are the images that AKS publishes for a class, in community or shared galleries.
func published(class *v1beta1.AKSNodeClass, shared bool) ([]v1beta1.NodeImage, error) {
	if class.FIPS() && !shared {
		return nil, discovery.ErrSharedRequired
	}
	of, err := family.Of(class, class.Status.KubernetesVersion)
	if err != nil {
		return nil, err
	}
	return image.List(of.Definitions(class.FIPS(), class.TrustedLaunch(), shared), func(d family.Definition) (image.ID, bool) {
		return image.CommunityID(of, d.Name, "202604.1.0"), true
	}), nil
}

// FuzzClass takes classes that the API server would let through through the life of their status. Nothing panics, every class can be written
// again with its status, its hash is always the same, and it becomes ready unless a condition says why not.
func FuzzClass(f *testing.F) {
	f.Add([]byte{}, "")
	f.Add([]byte{3}, "x")
	f.Add([]byte(strings.Repeat("\x07\x03\x05\x06\x01", 30)), "Ubuntu2204")
	f.Add([]byte(strings.Repeat("\x05\x06\x07\x02\x06\x05\x09", 30)), "50Mi")
	f.Add([]byte(strings.Repeat("\x07\x06", 120)), "1024 65535")
	f.Add([]byte(strings.Repeat("\x0b\x06\x07", 90)), "100ms")
	f.Fuzz(func(t *testing.T, choices []byte, own string) {
		wanted := classFrom(t, choices, own)
		if wanted == nil {
			return
		}
		admitted(t, "read and written", wanted)
		if wanted.Hash() != wanted.DeepCopy().Hash() {
			t.Error("the hash is not always the same")
		}
		w := newWorld(t, func(o *nodeclass.Options) { o.DiskEncryptionSet = "" })
		w.edit(func(c *v1beta1.AKSNodeClass) { c.Spec = wanted.Spec })
		before := w.class().Hash() // that of what is stored: an empty list is another one than none, which Go writes instead
		for _, shared := range []bool{false, true} {
			w.images, w.imagesErr = nil, nil
			if _, _, err := w.reconcile(); err != nil { // the version comes first
				t.Logf("without images: %v", err)
			}
			w.images, w.imagesErr = published(w.class(), shared)
			if w.imagesErr != nil && !errors.Is(w.imagesErr, discovery.ErrSharedRequired) {
				t.Fatalf("images: %v", w.imagesErr)
			}
			class, _, err := w.reconcile()
			admitted(t, "with its status", class)
			because := slices.ContainsFunc(class.Status.Conditions, func(c metav1.Condition) bool {
				return c.Status == metav1.ConditionFalse && c.Reason != "" && c.Message != ""
			})
			if ready := condition.Status(class, v1beta1.ConditionTypeReady); ready != metav1.ConditionTrue && !because && err == nil {
				t.Errorf("the class is %s, and nothing says why: %+v", ready, class.Status)
			}
		}
		if _, err := nodeclass.NewHasher(w.options).Reconcile(t.Context(), request()); err != nil || w.class().Annotations["karpenter.azure.com/aksnodeclass-hash"] != before {
			t.Errorf("the hash is %v, want %s, %v", w.class().Annotations, before, err)
		}
	})
}
