package resourcetags_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud/aws/resourcetags"
)

func TestTags(t *testing.T) {
	user := map[string]string{"team": "a", "karpenter.sh/nodepool": "mine", "eks:eks-cluster-name": "mine", "kubernetes.io/cluster/c": "shared", "Name": "own"}
	want := map[string]string{
		"team": "a", "Name": "own", "kubernetes.io/cluster/c": "owned", "eks:eks-cluster-name": "c", "karpenter.k8s.aws/ec2nodeclass": "class", "karpenter.sh/nodepool": "pool",
	}
	if diff := cmp.Diff(want, resourcetags.LaunchTags(user, "c", "pool", "class")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	delete(want, "karpenter.sh/nodepool")
	delete(want, "Name")
	delete(want, "team")
	want["topology.kubernetes.io/region"] = "r"
	if diff := cmp.Diff(want, resourcetags.ProfileTags(nil, "c", "r", "class")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(user) != 5 || user["karpenter.sh/nodepool"] != "mine" {
		t.Errorf("the user's tags changed: %v", user)
	}
}

func TestCheckTags(t *testing.T) {
	for _, key := range []string{"karpenter.sh/nodepool", "eks:eks-cluster-name", "karpenter.k8s.aws/ec2nodeclass", "karpenter.sh/nodeclaim", "kubernetes.io/cluster/any-cluster_1"} {
		if err := resourcetags.CheckTags(map[string]string{"a": "b", key: "x"}); err == nil || !strings.Contains(err.Error(), `"`+key+`"`) || !strings.HasPrefix(err.Error(), "tags failed validation requirements") {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := resourcetags.CheckTags(map[string]string{"Name": "x", "kubernetes.io/cluster/": "x", "kubernetes.io/role": "x", "karpenter.sh/discovery": "x"}); err != nil {
		t.Error(err)
	}
	if err := resourcetags.CheckTags(map[string]string{"karpenter.sh/nodepool": "", "eks:eks-cluster-name": ""}); err == nil || !strings.HasSuffix(err.Error(), `"eks:eks-cluster-name", "karpenter.sh/nodepool"`) {
		t.Errorf("not all are told: %v", err)
	}
}

func TestProfiles(t *testing.T) {
	if got := resourcetags.ProfilePath("us-west-2", "c", "uid"); got != "/karpenter/us-west-2/c/uid/" {
		t.Errorf("path %s", got)
	}
	if got := resourcetags.ProfilePath("us-west-2", "c", ""); got != "/karpenter/us-west-2/c/" {
		t.Errorf("path %s", got)
	}
	for _, test := range []struct{ region, class, want string }{
		{"us-west-2", "default", "test-cluster_4067990795380418201"}, {"us-east-1", "my-class", "test-cluster_14879251412770458694"},
	} {
		if got, ok := resourcetags.LegacyProfileName("test-cluster", test.region, test.class); !ok || got != test.want {
			t.Errorf("%s, %t, want %s", got, ok, test.want)
		}
	}
	for _, cluster := range []string{"with space", strings.Repeat("c", 120)} {
		if name, ok := resourcetags.LegacyProfileName(cluster, "r", "c"); ok {
			t.Errorf("IAM takes %q", name)
		}
	}
	a, b := resourcetags.ProfileName("c", "r", "class", "1"), resourcetags.ProfileName("c", "r", "class", "2")
	if a == b || !strings.HasPrefix(a, "c_") {
		t.Errorf("names %s and %s", a, b)
	}
	for role, want := range map[string]string{"role": "role", "path/to/role": "role", "/role": "role", "": ""} {
		if got := resourcetags.RoleName(role); got != want {
			t.Errorf("%q: %q", role, got)
		}
	}
}
