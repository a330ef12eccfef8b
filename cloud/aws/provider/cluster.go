package provider

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/karpenter-anew/karpenter/internal/observe"
)

// LearnServiceCIDR reads the service CIDR of the cluster, once. Only AL2023 needs it.
func (p *Provider) LearnServiceCIDR(ctx context.Context) error {
	if p.Cluster.Facts().ServiceCIDR != "" {
		return nil
	}
	cluster, err := p.DescribeCluster(ctx)
	if err != nil {
		return err
	}
	network := cluster.KubernetesNetworkConfig
	if network == nil {
		return fmt.Errorf("cluster %q does not say its range of services", p.ClusterName)
	}
	cidr := aws.ToString(network.ServiceIpv4Cidr)
	if cidr == "" {
		cidr = aws.ToString(network.ServiceIpv6Cidr)
	}
	if cidr == "" {
		return fmt.Errorf("cluster %q does not say its range of services", p.ClusterName)
	}
	observe.Log(ctx).DebugContext(ctx, "discovered cluster CIDR", "cluster-cidr", cidr)
	p.Cluster.Change(func(f *Facts) { f.ServiceCIDR = cidr })
	return nil
}

// DescribeCluster is the cluster as EKS describes it.
func (p *Provider) DescribeCluster(ctx context.Context) (*ekstypes.Cluster, error) {
	answer, err := p.EKS.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(p.ClusterName)})
	if err != nil {
		return nil, fmt.Errorf("describing cluster %q: %w", p.ClusterName, err)
	}
	return answer.Cluster, nil
}
