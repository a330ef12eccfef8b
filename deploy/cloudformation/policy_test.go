package cloudformation_test

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/resourcetags"
)

// policies are the managed policies in the order of the specification: what comes before "Policy" in their names.
var policies = []string{"NodeLifecycle", "IAMIntegration", "EKSIntegration", "Interruption", "ZonalShift", "ResourceDiscovery"}

func TestStatementsAreThoseOfTheSpecification(t *testing.T) {
	text, err := os.ReadFile("testdata/statements.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			want = append(want, strings.TrimRight(line, "\n"))
		}
	}
	var got []string
	resources := stack(t, clusterName)
	for _, name := range policies {
		r := resources[name+"Policy"]
		if r.Type != "AWS::IAM::ManagedPolicy" || r.Properties["ManagedPolicyName"] != fmt.Sprintf("KarpenterController%sPolicy-%s", name, clusterName) {
			t.Errorf("policy %s is %v", name, r)
		}
		for _, s := range document(t, r.Properties["PolicyDocument"]) {
			got = append(got, outline(t, name, s)...)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statements (-specification +template):\n%s", diff)
	}
}

// outline writes a statement as testdata/statements.txt does.
func outline(t *testing.T, policy string, s statement) []string {
	t.Helper()
	if s.Effect != "Allow" {
		t.Errorf("%s has effect %q", s.Sid, s.Effect)
	}
	var resources []string
	for _, r := range s.Resource {
		resources = append(resources, r[strings.LastIndexByte(r, ':')+1:])
	}
	out := []string{policy + " " + s.Sid, "  " + strings.Join(s.Action, " "), "  " + strings.Join(resources, " ")}
	var conditions []string
	for operator, keys := range s.Condition {
		for key, values := range keys {
			conditions = append(conditions, fmt.Sprintf("  %s %s %s", operator, key, strings.Join(values, " ")))
		}
	}
	slices.Sort(conditions)
	return append(out, conditions...)
}

// request is one call as IAM judges it.
type request struct {
	action, resource string
	// context are the keys of the request's context.
	context map[string][]string
}

// allowed judges a request by statements that only allow.
func allowed(t *testing.T, statements []statement, r request) bool {
	t.Helper()
	return slices.ContainsFunc(statements, func(s statement) bool {
		return anyLike(s.Action, r.action) && anyLike(s.Resource, r.resource) && met(t, s.Condition, r.context)
	})
}

// anyLike reports whether some pattern matches the whole text.
func anyLike(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		// A slash is a character like any other here.
		ok, err := path.Match(strings.ReplaceAll(p, "/", "|"), strings.ReplaceAll(text, "/", "|"))
		return err == nil && ok
	})
}

// met reports whether every condition holds.
func met(t *testing.T, conditions map[string]map[string]words, context map[string][]string) bool {
	t.Helper()
	for operator, keys := range conditions {
		for key, wanted := range keys {
			values, there := context[key]
			equal := func(v string) bool { return slices.Contains(wanted, v) }
			var ok bool
			switch operator {
			case "StringEquals":
				ok = there && slices.ContainsFunc(values, equal)
			case "StringEqualsIfExists":
				ok = !there || slices.ContainsFunc(values, equal)
			case "StringLike":
				ok = there && slices.ContainsFunc(values, func(v string) bool { return anyLike(wanted, v) })
			case "ForAllValues:StringEquals":
				ok = !slices.ContainsFunc(values, func(v string) bool { return !equal(v) })
			default:
				t.Fatalf("operator %s is not known here", operator)
			}
			if !ok {
				return false
			}
		}
	}
	return true
}

// tagged returns the context of a request: tags that it gives, and tags of the resource.
func tagged(given, of map[string]string, more ...string) map[string][]string {
	out := map[string][]string{"aws:RequestedRegion": {region}}
	for key, value := range given {
		out["aws:RequestTag/"+key] = []string{value}
		out["aws:TagKeys"] = append(out["aws:TagKeys"], key)
	}
	for key, value := range of {
		out["aws:ResourceTag/"+key] = []string{value}
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = []string{more[i+1]}
	}
	return out
}

// TestTheControllerMayWriteOnlyItsOwnObjects judges calls with the tags that the controller really gives.
func TestTheControllerMayWriteOnlyItsOwnObjects(t *testing.T) {
	ec2 := func(kind string) string { return "arn:aws:ec2:eu-west-1:012345678901:" + kind + "/x" }
	const profile = "arn:aws:iam::012345678901:instance-profile/karpenter/eu-west-1/one/uid/name"
	user := map[string]string{"team": "infra"}
	launch := resourcetags.LaunchTags(user, clusterName, "pool", "class")
	foreign := resourcetags.LaunchTags(user, "other", "pool", "class")
	mine := resourcetags.ProfileTags(user, clusterName, region, "class")
	elsewhere := resourcetags.ProfileTags(user, clusterName, "us-east-1", "class")
	statements := controllerPolicies(t)
	for _, tc := range []struct {
		name             string
		action, resource string
		context          map[string][]string
		want             bool
	}{
		{"launch an instance with its tags", "ec2:RunInstances", ec2("instance"), tagged(launch, nil), true},
		{"launch an instance without tags", "ec2:RunInstances", ec2("instance"), tagged(nil, nil), false},
		{"launch an instance for another cluster", "ec2:CreateFleet", ec2("instance"), tagged(foreign, nil), false},
		{"ask for a fleet", "ec2:CreateFleet", ec2("fleet"), tagged(launch, nil), true},
		{"ask for spot", "ec2:RunInstances", ec2("spot-instances-request"), tagged(launch, nil), true},
		{"use an image", "ec2:RunInstances", "arn:aws:ec2:eu-west-1::image/ami-1", tagged(launch, nil), true},
		{"use a subnet that another account shares", "ec2:CreateFleet", "arn:aws:ec2:eu-west-1:999999999999:subnet/subnet-1", tagged(launch, nil), true},
		{"use an image in another region", "ec2:RunInstances", "arn:aws:ec2:us-east-1::image/ami-1", tagged(launch, nil), false},
		{"use its launch template", "ec2:CreateFleet", ec2("launch-template"), tagged(nil, launch), true},
		{"use a foreign launch template", "ec2:CreateFleet", ec2("launch-template"), tagged(nil, foreign), false},
		{"make a launch template", "ec2:CreateLaunchTemplate", ec2("launch-template"), tagged(launch, nil), true},
		{"tag while launching", "ec2:CreateTags", ec2("volume"), tagged(launch, nil, "ec2:CreateAction", "CreateFleet"), true},
		{"tag a volume later", "ec2:CreateTags", ec2("volume"), tagged(launch, nil), false},
		{"name its instance", "ec2:CreateTags", ec2("instance"), tagged(map[string]string{awsv1.TagNodeClaim: "a", "Name": "b", awsv1.TagClusterName: clusterName}, launch), true},
		{"name its instance without the cluster", "ec2:CreateTags", ec2("instance"), tagged(map[string]string{"Name": "b"}, launch), true},
		{"claim an instance for another cluster", "ec2:CreateTags", ec2("instance"), tagged(map[string]string{awsv1.TagClusterName: "other"}, launch), false},
		{"put other tags on its instance", "ec2:CreateTags", ec2("instance"), tagged(map[string]string{"team": "x"}, launch), false},
		{"name a foreign instance", "ec2:CreateTags", ec2("instance"), tagged(map[string]string{"Name": "b"}, foreign), false},
		{"end its instance", "ec2:TerminateInstances", ec2("instance"), tagged(nil, launch), true},
		{"end a foreign instance", "ec2:TerminateInstances", ec2("instance"), tagged(nil, foreign), false},
		{"end an instance without tags", "ec2:TerminateInstances", ec2("instance"), tagged(nil, nil), false},
		{"delete its launch template", "ec2:DeleteLaunchTemplate", ec2("launch-template"), tagged(nil, launch), true},
		{"delete a volume", "ec2:DeleteVolume", ec2("volume"), tagged(nil, launch), false},
		{"pass the role of nodes to EC2", "iam:PassRole", roleARN, tagged(nil, nil, "iam:PassedToService", "ec2.amazonaws.com"), true},
		{"pass the role of nodes to Lambda", "iam:PassRole", roleARN, tagged(nil, nil, "iam:PassedToService", "lambda.amazonaws.com"), false},
		{"pass another role", "iam:PassRole", "arn:aws:iam::012345678901:role/admin", tagged(nil, nil, "iam:PassedToService", "ec2.amazonaws.com"), false},
		{"make an instance profile", "iam:CreateInstanceProfile", profile, tagged(mine, nil), true},
		{"make an instance profile for another region", "iam:CreateInstanceProfile", profile, tagged(elsewhere, nil), false},
		{"tag its instance profile", "iam:TagInstanceProfile", profile, tagged(mine, mine), true},
		{"take over an instance profile", "iam:TagInstanceProfile", profile, tagged(mine, nil), false},
		{"give its instance profile a role", "iam:AddRoleToInstanceProfile", profile, tagged(nil, mine), true},
		{"give a foreign instance profile a role", "iam:AddRoleToInstanceProfile", profile, tagged(nil, elsewhere), false},
		{"delete its instance profile", "iam:DeleteInstanceProfile", profile, tagged(nil, mine), true},
		{"delete a foreign instance profile", "iam:DeleteInstanceProfile", profile, tagged(nil, nil), false},
		{"read an instance profile", "iam:GetInstanceProfile", profile, tagged(nil, nil), true},
		{"describe subnets here", "ec2:DescribeSubnets", "*", tagged(nil, nil), true},
		{"describe subnets elsewhere", "ec2:DescribeSubnets", "*", map[string][]string{"aws:RequestedRegion": {"us-east-1"}}, false},
		{"read a public parameter", "ssm:GetParameter", "arn:aws:ssm:eu-west-1::parameter/aws/service/eks/x", tagged(nil, nil), true},
		{"read a parameter of the account", "ssm:GetParameter", "arn:aws:ssm:eu-west-1:012345678901:parameter/secret", tagged(nil, nil), false},
		{"describe the cluster", "eks:DescribeCluster", clusterARN, tagged(nil, nil), true},
		{"describe another cluster", "eks:DescribeCluster", clusterARN + "2", tagged(nil, nil), false},
		{"read its queue", "sqs:ReceiveMessage", queueARN, tagged(nil, nil), true},
		{"write to its queue", "sqs:SendMessage", queueARN, tagged(nil, nil), false},
		{"look at shifts of the cluster", "arc-zonal-shift:GetManagedResource", "x", tagged(nil, nil, "arc-zonal-shift:ResourceIdentifier", clusterARN), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := allowed(t, statements, request{tc.action, tc.resource, tc.context}); got != tc.want {
				t.Errorf("%s on %s is allowed: %v, want %v", tc.action, tc.resource, got, tc.want)
			}
		})
	}
}
