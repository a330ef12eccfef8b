// Package controlplane has the facts about the control plane of the cluster that nodes need to join it.
//
// Source: AWS provider specification, client set-up.
package controlplane

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// EKS is the call about the cluster.
type EKS interface {
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
}

// Cluster is how nodes reach the cluster. It is discovered at the start, and parts of it are refreshed. Make one with New.
type Cluster struct {
	// Name is the name of the cluster.
	Name string
	eks  EKS

	mu sync.RWMutex
	// facts are replaced as a whole.
	facts Facts
}

// New returns a cluster of which nothing is known but its name.
func New(name string, api EKS) *Cluster { return &Cluster{Name: name, eks: api} }

// Facts are the known facts about the cluster.
type Facts struct {
	// Endpoint and CABundle (base64) are for the kubelets.
	Endpoint, CABundle string
	// DNS is the DNS address; empty when unknown. ServiceCIDR is the service CIDR; empty when unknown.
	DNS, ServiceCIDR string
	// Version is that of Kubernetes, for instance 1.34.
	Version string
}

// Facts returns the current facts.
func (c *Cluster) Facts() Facts {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.facts
}

// Change updates the facts.
func (c *Cluster) Change(change func(*Facts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.facts)
}

// LearnServiceCIDR reads the service CIDR of the cluster, once. Only AL2023 needs it.
func (c *Cluster) LearnServiceCIDR(ctx context.Context) error {
	if c.Facts().ServiceCIDR != "" {
		return nil
	}
	cluster, err := c.Describe(ctx)
	if err != nil {
		return err
	}
	network := cluster.KubernetesNetworkConfig
	if network == nil {
		return fmt.Errorf("cluster %q does not say its range of services", c.Name)
	}
	cidr := aws.ToString(network.ServiceIpv4Cidr)
	if cidr == "" {
		cidr = aws.ToString(network.ServiceIpv6Cidr)
	}
	if cidr == "" {
		return fmt.Errorf("cluster %q does not say its range of services", c.Name)
	}
	observe.Log(ctx).DebugContext(ctx, "discovered cluster CIDR", awsfield.ClusterCIDR(cidr))
	c.Change(func(f *Facts) { f.ServiceCIDR = cidr })
	return nil
}

// Describe returns the cluster as EKS describes it.
func (c *Cluster) Describe(ctx context.Context) (*ekstypes.Cluster, error) {
	answer, err := c.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(c.Name)})
	if err != nil {
		return nil, fmt.Errorf("describing cluster %q: %w", c.Name, err)
	}
	if answer == nil || answer.Cluster == nil {
		return nil, fmt.Errorf("describing cluster %q: the answer has no cluster", c.Name)
	}
	return answer.Cluster, nil
}
