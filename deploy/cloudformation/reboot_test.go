package cloudformation_test

import (
	"os"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/aws/resourcetags"
)

// TestThePolicyForRebootsThatThePageHas judges the policy that docs/installation.md has for clusters whose nodes are rebooted. The
// policies of the template do not allow reboots.
func TestThePolicyForRebootsThatThePageHas(t *testing.T) {
	t.Attr("covers", "N405")
	text, err := os.ReadFile("../../docs/installation.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```json\n{\n  \"Version\"")
	block, _, ended := strings.Cut(block, "```")
	if !found || !ended {
		t.Fatal("the page has no policy")
	}
	block = strings.NewReplacer("REGION", region, "ACCOUNT", account, "NAME", clusterName).Replace("{\n  \"Version\"" + block)
	statements := document(t, block)
	mine, foreign := resourcetags.LaunchTags(nil, clusterName, "pool", "class"), resourcetags.LaunchTags(nil, "other", "pool", "class")
	const target = "arn:aws:ec2:eu-west-1:012345678901:instance/i-1"
	for name, c := range map[string]struct {
		request
		want bool
	}{
		"its instance":              {request{"ec2:RebootInstances", target, tagged(nil, mine)}, true},
		"a foreign instance":        {request{"ec2:RebootInstances", target, tagged(nil, foreign)}, false},
		"an instance without tags":  {request{"ec2:RebootInstances", target, tagged(nil, nil)}, false},
		"one in another region":     {request{"ec2:RebootInstances", strings.Replace(target, region, "us-east-1", 1), tagged(nil, mine)}, false},
		"stopping instead":          {request{"ec2:StopInstances", target, tagged(nil, mine)}, false},
		"terminating it is no part": {request{"ec2:TerminateInstances", target, tagged(nil, mine)}, false},
	} {
		if got := allowed(t, statements, c.request); got != c.want {
			t.Errorf("%s: %s is allowed: %v", name, c.action, got)
		}
		if c.action == "ec2:RebootInstances" && allowed(t, controllerPolicies(t), c.request) {
			t.Errorf("%s: the template allows the reboot", name)
		}
	}
}
