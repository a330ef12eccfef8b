package controlplane_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/karpenter-anew/karpenter/cloud/aws/controlplane"
)

// scant is an EKS that leaves out what it likes.
type scant struct{ answer *eks.DescribeClusterOutput }

func (s scant) DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error) {
	return s.answer, nil
}

func TestScantAnswers(t *testing.T) {
	for name, answer := range map[string]*eks.DescribeClusterOutput{
		"nothing": nil, "no cluster": {}, "no network": {Cluster: &ekstypes.Cluster{}},
		"no range": {Cluster: &ekstypes.Cluster{KubernetesNetworkConfig: &ekstypes.KubernetesNetworkConfigResponse{}}},
	} {
		if err := controlplane.New("test", scant{answer}).LearnServiceCIDR(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
