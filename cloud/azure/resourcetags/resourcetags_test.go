package resourcetags_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
)

// owner is a NodeClaim of the pool default, or of none.
func owner(pool string) resourcetags.Owner {
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "default-abcde", Labels: map[string]string{"karpenter.sh/nodepool": pool}}}
	return resourcetags.Owner{Cluster: "test-cluster", NodeClaim: claim}
}

// managed are the tags that Karpenter needs, with more.
func managed(more map[string]string) map[string]string {
	out := map[string]string{"compute.aks.billing": "linux", "karpenter.azure.com_cluster": "test-cluster", "karpenter.sh_nodepool": "default"}
	maps.Copy(out, more)
	return out
}

type tags = map[string]string

// TestTags holds merged tags against the specification.
//
// Source: Azure provider specification, conformance vectors.
func TestTags(t *testing.T) {
	t.Attr("covers", "Z101")
	for _, test := range []struct {
		name            string
		settings, class tags
		want            tags
	}{
		{"no tags of users", nil, nil, managed(nil)},
		{"the class wins over the settings", tags{"team": "a", "x": "y"}, tags{"team": "b"}, managed(tags{"team": "b", "x": "y"})},
		{"users cannot replace the cluster", nil, tags{"karpenter.azure.com/cluster": "evil"}, managed(nil)},
		{"nor any other tag", tags{"karpenter.sh_nodepool": "evil"}, tags{"compute.aks.billing": "evil", "karpenter.sh/nodepool": "evil"}, managed(nil)},
		{"slashes become underscores", tags{"a_b": "1"}, tags{"a/b": "2", "c/d/e": "3"}, managed(tags{"a_b": "2", "c_d_e": "3"})},
		{"two keys that become one", nil, tags{"a/b": "1", "a_b": "2"}, managed(tags{"a_b": "2"})},
		{"the class wins in another case", tags{"Team": "a", "x": "y"}, tags{"team": "b"}, managed(tags{"team": "b", "x": "y"})},
		{"cases in one class", nil, tags{"Team": "a", "TEAM": "b", "team": "c"}, managed(tags{"team": "c"})},
		{"cases and slashes", tags{"A_b": "1"}, tags{"a/B": "2"}, managed(tags{"a_B": "2"})},
		{"tags of Karpenter in another case", tags{"Karpenter.sh_NodePool": "evil", "Compute.AKS.Billing": "evil"}, tags{"KARPENTER.azure.com/Cluster": "evil"}, managed(nil)},
		{"the tag of AKSMachines", tags{"karpenter.azure.com_aksmachine_nodeclaim": "evil"}, tags{"Karpenter.azure.com/AKSMachine_NodeClaim": "evil"}, managed(nil)},
	} {
		if diff := cmp.Diff(test.want, resourcetags.OfVM(test.settings, test.class, owner("default"))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.name, diff)
		}
		test.want["karpenter.azure.com_aksmachine_nodeclaim"] = "default-abcde"
		class := maps.Clone(test.class)
		if class == nil {
			class = tags{}
		}
		class["karpenter.azure.com/aksmachine_nodeclaim"] = "evil"
		if diff := cmp.Diff(test.want, resourcetags.OfAKSMachine(test.settings, class, owner("default"))); diff != "" {
			t.Errorf("%s, AKSMachine (-want +got)\n%s", test.name, diff)
		}
	}
	want := managed(nil)
	delete(want, "karpenter.sh_nodepool")
	if diff := cmp.Diff(want, resourcetags.OfVM(nil, tags{"karpenter.sh/nodepool": "evil"}, owner(""))); diff != "" {
		t.Errorf("without a pool (-want +got)\n%s", diff)
	}
}

// TestInPlaceHash pins hashes that existing clusters have stored.
//
// Source: Azure provider specification, conformance vectors.
func TestInPlaceHash(t *testing.T) {
	const kubelet = "/subscriptions/1/resourceGroups/mc/providers/Microsoft.ManagedIdentity/userAssignedIdentities/kubelet"
	for _, test := range []struct {
		name string
		of   resourcetags.InPlace
		want string
	}{
		{"tags", resourcetags.InPlace{Tags: managed(nil)}, "3897900378"},
		{"tags and an empty list", resourcetags.InPlace{Tags: managed(nil), Identities: []string{}}, "3897900378"},
		{"tags and an identity", resourcetags.InPlace{Tags: managed(nil), Identities: []string{kubelet}}, "1288121369"},
		{"another tag", resourcetags.InPlace{Tags: managed(tags{"team": "a"})}, "2181810214"},
		{"nothing", resourcetags.InPlace{}, "1415952421"},
		{"empty lists", resourcetags.InPlace{Tags: tags{}, Identities: []string{}}, "1415952421"},
	} {
		if got := test.of.Hash(); got != test.want {
			t.Errorf("%s: Hash() = %s, want %s", test.name, got, test.want)
		}
	}
	one, other := resourcetags.InPlace{Identities: []string{"a", "b"}}, resourcetags.InPlace{Identities: []string{"b", "a"}}
	if one.Hash() != other.Hash() {
		t.Error("the order of identities counts")
	}
}
