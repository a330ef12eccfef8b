package cloud_test

import (
	"testing"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// TestMeantKey: a label of another domain is suggested if it has the name of the key, otherwise one that is nearly equal to the key.
func TestMeantKey(t *testing.T) {
	c := cloud.Cloud{Labels: v1.LabelRules{WellKnown: map[string]bool{
		"node.kubernetes.io/instance-type": true, "topology.kubernetes.io/zone": true, "example.com/instance-cpu": true, "example.com/instance-family": true,
	}}}
	for key, want := range map[string]string{
		"example.com/instance-type":        "node.kubernetes.io/instance-type",
		"example.com/zone":                 "topology.kubernetes.io/zone",
		"example.com/instance-famly":       "example.com/instance-family",
		"node.kubernetes.io/instance-cpu":  "example.com/instance-cpu",
		"node.kubernetes.io/instance-type": "",
		"unrelated.example.org/zone":       "",
		"example.com/":                     "",
		"team":                             "",
	} {
		if got, ok := c.MeantKey(key); got != want || ok != (want != "") {
			t.Errorf("%s: meant %q, %t; want %q", key, got, ok, want)
		}
	}
}
