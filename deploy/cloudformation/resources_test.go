package cloudformation_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestResources(t *testing.T) {
	want := []string{"KarpenterNodeRole", "KarpenterInterruptionQueue", "KarpenterInterruptionQueuePolicy", "ScheduledChangeRule", "SpotInterruptionRule", "RebalanceRule", "InstanceStateChangeRule", "CapacityReservationInterruptionRule"}
	for _, name := range policies {
		want = append(want, name+"Policy")
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(stack(t, clusterName)))); diff != "" {
		t.Errorf("resources (-specification +template):\n%s", diff)
	}
}

func TestRoleOfNodes(t *testing.T) {
	role := stack(t, clusterName)["KarpenterNodeRole"]
	if role.Type != "AWS::IAM::Role" || role.Properties["RoleName"] != "KarpenterNodeRole-one" {
		t.Errorf("the role is %s %v", role.Type, role.Properties["RoleName"])
	}
	trust := document(t, role.Properties["AssumeRolePolicyDocument"])
	if len(trust) != 1 || trust[0].Effect != "Allow" || trust[0].Action[0] != "sts:AssumeRole" || string(trust[0].Principal) != `{"Service":"ec2.amazonaws.com"}` {
		t.Errorf("it trusts %+v", trust)
	}
	want := []any{
		"arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy", "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy",
		"arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly", "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore",
	}
	if diff := cmp.Diff(want, role.Properties["ManagedPolicyArns"]); diff != "" {
		t.Errorf("its policies (-specification +template):\n%s", diff)
	}
}

func TestQueueTakesEventsAndOnlyEncrypted(t *testing.T) {
	resources := stack(t, clusterName)
	queue := resources["KarpenterInterruptionQueue"]
	want := map[string]any{"QueueName": clusterName, "MessageRetentionPeriod": 300, "SqsManagedSseEnabled": true}
	if diff := cmp.Diff(want, queue.Properties); diff != "" || queue.Type != "AWS::SQS::Queue" {
		t.Errorf("the queue is a %s (-specification +template):\n%s", queue.Type, diff)
	}
	policy := resources["KarpenterInterruptionQueuePolicy"]
	document0 := policy.Properties["PolicyDocument"].(map[string]any)
	if policy.Type != "AWS::SQS::QueuePolicy" || document0["Id"] != "EC2InterruptionPolicy" || !cmp.Equal(policy.Properties["Queues"], []any{"https://queue"}) {
		t.Errorf("the policy of the queue is a %s, %v for %v", policy.Type, document0["Id"], policy.Properties["Queues"])
	}
	statements := document(t, document0)
	if len(statements) != 2 {
		t.Fatalf("%d statements, want 2", len(statements))
	}
	allow, deny := statements[0], statements[1]
	if allow.Effect != "Allow" || allow.Action[0] != "sqs:SendMessage" || allow.Resource[0] != queueARN ||
		!cmp.Equal(allow.Condition, map[string]map[string]words{"StringEquals": {"aws:SourceAccount": {"012345678901"}}}) ||
		string(allow.Principal) != `{"Service":["events.amazonaws.com","sqs.amazonaws.com"]}` {
		t.Errorf("who may send: %+v", allow)
	}
	if deny.Sid != "DenyHTTP" || deny.Effect != "Deny" || deny.Action[0] != "sqs:*" || deny.Resource[0] != queueARN || string(deny.Principal) != `"*"` ||
		!cmp.Equal(deny.Condition, map[string]map[string]words{"Bool": {"aws:SecureTransport": {"false"}}}) {
		t.Errorf("what is refused: %+v", deny)
	}
}

// TestRulesSendWhatTheControllerReads: each kind of message of the specification has its rule.
func TestRulesSendWhatTheControllerReads(t *testing.T) {
	resources := stack(t, clusterName)
	for name, want := range map[string][2]string{
		"ScheduledChangeRule":                 {"aws.health", "AWS Health Event"},
		"SpotInterruptionRule":                {"aws.ec2", "EC2 Spot Instance Interruption Warning"},
		"RebalanceRule":                       {"aws.ec2", "EC2 Instance Rebalance Recommendation"},
		"InstanceStateChangeRule":             {"aws.ec2", "EC2 Instance State-change Notification"},
		"CapacityReservationInterruptionRule": {"aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"},
	} {
		rule := resources[name]
		expected := map[string]any{
			"EventPattern": map[string]any{"source": []any{want[0]}, "detail-type": []any{want[1]}},
			"Targets":      []any{map[string]any{"Id": "KarpenterInterruptionQueueTarget", "Arn": queueARN}},
		}
		if diff := cmp.Diff(expected, rule.Properties); diff != "" || rule.Type != "AWS::Events::Rule" {
			t.Errorf("%s is a %s (-specification +template):\n%s", name, rule.Type, diff)
		}
	}
}

// TestLongestClusterNameFits: IAM takes 64 characters of a role's name, 128 of a policy's, and 6144 of a policy's text without
// its blanks.
func TestLongestClusterNameFits(t *testing.T) {
	text, err := os.ReadFile("karpenter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Parameters struct {
			ClusterName struct {
				MaxLength int `yaml:"MaxLength"`
			} `yaml:"ClusterName"`
		} `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	longest := strings.Repeat("x", template.Parameters.ClusterName.MaxLength)
	for name, r := range stack(t, longest) {
		if role, ok := r.Properties["RoleName"].(string); ok && len(role) != 64 {
			t.Errorf("%s has a name of %d characters, want the 64 that fit", name, len(role))
		}
		if policy, ok := r.Properties["ManagedPolicyName"].(string); ok && len(policy) > 128 {
			t.Errorf("%s has a name of %d characters", name, len(policy))
		}
		if body, ok := r.Properties["PolicyDocument"].(string); ok {
			dense := strings.Map(func(c rune) rune {
				if unicode.IsSpace(c) {
					return -1
				}
				return c
			}, body)
			if len(dense) > 6144 {
				t.Errorf("%s has %d characters", name, len(dense))
			}
		}
	}
}
