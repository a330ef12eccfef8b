package cloudformation_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// clusterConfig is the part of eksctl's configuration that refers to the stack. Unknown keys elsewhere are eksctl's to judge.
type clusterConfig struct {
	Metadata struct {
		Name string            `yaml:"name"`
		Tags map[string]string `yaml:"tags"`
	} `yaml:"metadata"`
	IAM struct {
		PodIdentityAssociations []struct {
			Namespace          string   `yaml:"namespace"`
			ServiceAccountName string   `yaml:"serviceAccountName"`
			PolicyARNs         []string `yaml:"permissionPolicyARNs"`
		} `yaml:"podIdentityAssociations"`
	} `yaml:"iam"`
	AccessConfig struct {
		AccessEntries []struct {
			PrincipalARN string `yaml:"principalARN"`
			Type         string `yaml:"type"`
		} `yaml:"accessEntries"`
	} `yaml:"accessConfig"`
}

// TestTheClusterOfTheQuickStartUsesTheStack: the controller gets every policy of the stack, nodes with its role may join, and the
// node classes of the examples find what eksctl makes.
func TestTheClusterOfTheQuickStartUsesTheStack(t *testing.T) {
	text, err := os.ReadFile("../eksctl/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config clusterConfig
	filled := strings.NewReplacer("NAME", clusterName, "REGION", region, "ACCOUNT", account).Replace(string(text))
	if err := yaml.Unmarshal([]byte(filled), &config); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range stack(t, clusterName) {
		if r.Type == "AWS::IAM::ManagedPolicy" {
			want = append(want, "arn:aws:iam::"+account+":policy/"+r.Properties["ManagedPolicyName"].(string))
		}
	}
	if config.Metadata.Name != clusterName || config.Metadata.Tags["karpenter.sh/discovery"] != clusterName {
		t.Errorf("the cluster is %+v", config.Metadata)
	}
	if len(config.IAM.PodIdentityAssociations) != 1 || len(config.AccessConfig.AccessEntries) != 1 {
		t.Fatalf("%+v", config)
	}
	got := config.IAM.PodIdentityAssociations[0]
	slices.Sort(want)
	slices.Sort(got.PolicyARNs)
	if len(want) != 6 || !slices.Equal(got.PolicyARNs, want) {
		t.Errorf("policies are %q, want %q", got.PolicyARNs, want)
	}
	if got.Namespace != "kube-system" || got.ServiceAccountName != "karpenter" {
		t.Errorf("they are given to %s/%s", got.Namespace, got.ServiceAccountName)
	}
	if entry := config.AccessConfig.AccessEntries[0]; entry.PrincipalARN != roleARN || entry.Type != "EC2_LINUX" {
		t.Errorf("%+v may join", entry)
	}
}
