package e2e

import (
	"fmt"
	"strings"
	"testing"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestAWSTags: everything that is created has its tags, a custom Name tag stays, and an instance without the tag of its cluster gets it.
func TestAWSTags(t *testing.T) {
	t.Attr("covers", "A361 A362")
	t.Parallel()
	w := begin(t)
	a := w.account("m5.large")
	w.controller(a.Flags()...)
	spot := func(p *v1.NodePool) { p.Spec.Template.Spec.Requirements[1] = in(v1.CapacityTypeLabelKey, "spot") }
	team := map[string]string{"team": "a"}
	named := awsClass("named", func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"team": "a", "Name": "mine"} })
	w.create(named, awsPool("named", []string{"m5.large"}, spot), awsPods("named", 1))
	w.create(awsClass("plain", func(c *awsv1.EC2NodeClass) { c.Spec.Tags = team }), awsPool("plain", []string{"m5.large"}, spot), awsPods("plain", 1))
	w.awaitCases(map[string]int32{"named": 1, "plain": 1})
	for name, want := range map[string]string{"named": "mine", "plain": ""} {
		var node ec2Node
		w.await("the instance of "+name+" has all tags", patience, func() string {
			nodes := w.nodesOf(a, name)
			if len(nodes) != 1 {
				return fmt.Sprintf("%d nodes", len(nodes))
			}
			node = nodes[0]
			tags := a.Account.Tags(node.instance.ID)
			if want == "" {
				want = node.Name
			}
			if tags["Name"] != want || !strings.HasPrefix(tags["karpenter.sh/nodeclaim"], name) || tags["eks:eks-cluster-name"] != awsCluster {
				return fmt.Sprint(tags)
			}
			return ""
		})
		for _, kind := range []string{"fleet", "volume", "network-interface", "spot-instances-request"} {
			if tags := node.instance.OtherTags[kind]; tags["team"] != "a" || tags["eks:eks-cluster-name"] != awsCluster || tags[v1.NodePoolLabelKey] != name {
				t.Errorf("the %s of %s has the tags %v", kind, name, tags)
			}
		}
	}
	for _, template := range a.Account.LaunchTemplates() {
		if template.Tags["team"] != "a" || template.Tags["eks:eks-cluster-name"] != awsCluster {
			t.Errorf("launch template %s has the tags %v", template.Name, template.Tags)
		}
	}
	for _, profile := range a.Account.Profiles() {
		if profile.Tags["team"] != "a" || profile.Tags["eks:eks-cluster-name"] != awsCluster {
			t.Errorf("instance profile %s has the tags %v", profile.Name, profile.Tags)
		}
	}
	// An instance of an earlier release has no tag of its cluster, and its claim no mark.
	id := w.nodesOf(a, "plain")[0].instance.ID
	a.Account.Untag(id, "eks:eks-cluster-name")
	for _, claim := range w.claims() {
		if strings.HasSuffix(claim.Status.ProviderID, id) {
			change(w, &claim, func(c *v1.NodeClaim) { delete(c.Annotations, "compatibility.karpenter.k8s.aws/cluster-name-tagged") })
		}
	}
	w.await("the instance has the tag of its cluster", patience, func() string {
		if tags := a.Account.Tags(id); tags["eks:eks-cluster-name"] != awsCluster {
			return fmt.Sprint(tags)
		}
		return ""
	})
}
