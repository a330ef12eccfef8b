// Package cloudformation_test checks the template for an AWS account: that it matches the specification, and that its
// policies allow the controller's calls on its resources, and none on other resources.
package cloudformation_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// What the stack of these tests is made with.
const (
	clusterName = "one"
	region      = "eu-west-1"
	account     = "012345678901"
	clusterARN  = "arn:aws:eks:eu-west-1:012345678901:cluster/one"
	queueARN    = "arn:aws:sqs:eu-west-1:012345678901:one"
	roleARN     = "arn:aws:iam::012345678901:role/KarpenterNodeRole-one"
)

// resource is one resource of the template, with references resolved.
type resource struct {
	Type       string
	Properties map[string]any
}

// stack reads the template as CloudFormation does for a cluster of this name.
func stack(t *testing.T, cluster string) map[string]resource {
	t.Helper()
	text, err := os.ReadFile("karpenter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Parameters map[string]yaml.Node `yaml:"Parameters"`
		Resources  map[string]struct {
			Type       string    `yaml:"Type"`
			Properties yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	if len(template.Parameters) != 1 || template.Parameters["ClusterName"].Kind == 0 {
		t.Errorf("parameters are %v, want ClusterName alone", template.Parameters)
	}
	known := map[string]string{
		"ClusterName": cluster, "AWS::Region": region, "AWS::AccountId": account, "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com",
		"KarpenterNodeRole.Arn": roleARN, "KarpenterInterruptionQueue.Arn": queueARN, "KarpenterInterruptionQueue": "https://queue",
	}
	out := map[string]resource{}
	for name, r := range template.Resources {
		value, err := resolve(&r.Properties, known)
		if err != nil {
			t.Fatalf("resource %s: %v", name, err)
		}
		out[name] = resource{Type: r.Type, Properties: value.(map[string]any)}
	}
	return out
}

// resolve turns a node into plain values and replaces references.
func resolve(node *yaml.Node, known map[string]string) (any, error) {
	switch node.Tag {
	case "!Ref", "!GetAtt":
		value, ok := known[node.Value]
		if !ok {
			return nil, fmt.Errorf("line %d: %s %s refers to nothing", node.Line, node.Tag, node.Value)
		}
		return value, nil
	case "!Sub":
		text := node.Value
		for name, value := range known {
			text = strings.ReplaceAll(text, "${"+name+"}", value)
		}
		if strings.Contains(text, "${") {
			return nil, fmt.Errorf("line %d: a reference to nothing is left in %s", node.Line, text)
		}
		return text, nil
	}
	switch node.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i < len(node.Content); i += 2 {
			value, err := resolve(node.Content[i+1], known)
			if err != nil {
				return nil, err
			}
			out[node.Content[i].Value] = value
		}
		return out, nil
	case yaml.SequenceNode:
		var out []any
		for _, item := range node.Content {
			value, err := resolve(item, known)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	}
	var out any
	return out, node.Decode(&out)
}

// words are a text or a list of texts, as in policies.
type words []string

// UnmarshalJSON reads either form.
func (w *words) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*w = words{one}
		return nil
	}
	var truth bool
	if json.Unmarshal(text, &truth) == nil {
		*w = words{fmt.Sprint(truth)}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(w))
}

// statement is one statement of a policy.
type statement struct {
	Sid, Effect string
	Action      words
	Resource    words
	Condition   map[string]map[string]words
	Principal   json.RawMessage
}

// document reads a policy document, which is JSON in a text or a map.
func document(t *testing.T, value any) []statement {
	t.Helper()
	text, isText := value.(string)
	if !isText {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	}
	var out struct {
		Version, ID string
		Statement   []statement
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if out.Version != "2012-10-17" {
		t.Errorf("the version of a policy is %q", out.Version)
	}
	return out.Statement
}

// controllerPolicies are the statements of all managed policies together: what the role of the controller may do.
func controllerPolicies(t *testing.T) []statement {
	t.Helper()
	var out []statement
	for _, r := range stack(t, clusterName) {
		if r.Type == "AWS::IAM::ManagedPolicy" {
			out = append(out, document(t, r.Properties["PolicyDocument"])...)
		}
	}
	return out
}
