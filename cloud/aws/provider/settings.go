package provider

import (
	"context"
	"sync"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/discovery"
	"github.com/karpenter-anew/karpenter/cloud/aws/fleet"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/aws/inventory"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/aws/template"
	"github.com/karpenter-anew/karpenter/cloud/aws/zonalshift"
)

// Settings are the settings of the installation.
type Settings struct {
	ClusterName, Region string
	// ReservedENIs and VMMemoryOverheadPercent correct EC2's descriptions of instance types.
	ReservedENIs            int64
	VMMemoryOverheadPercent float64
	// ReservesCapacity says that capacity reservations are used.
	ReservesCapacity bool
	// StrictMinValues says that minValues are not relaxed at launch.
	StrictMinValues bool
	// EvaluatesExpressions says that expressions in kubelet blocks are evaluated; otherwise they are ignored.
	EvaluatesExpressions bool
	// UsesOverlays says that users may write prices for instance types.
	UsesOverlays bool
}

// Cluster is how nodes reach the cluster. It is discovered at the start, and parts of it are refreshed.
type Cluster struct {
	mu sync.RWMutex
	// facts are replaced as a whole.
	facts Facts
}

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

// EC2 are all calls to EC2.
type EC2 interface {
	discovery.EC2
	inventory.EC2
	template.EC2
	instance.EC2
	fleet.EC2
	RunInstances(context.Context, *ec2.RunInstancesInput, ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error)
}

// EKS is the call about the cluster.
type EKS interface {
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
}

// Options are what a provider is made of.
type Options struct {
	Settings
	// Cluster may be set later, but before the first launch.
	Cluster    *Cluster
	EC2        EC2
	EKS        EKS
	Parameters discovery.Parameters
	// Prices is nil where there is no way to the price list.
	Prices inventory.PriceList
	// Client reads node classes and pools.
	Client client.Client
	Clock  clock.WithTicker
	// Shifts are the zones with an active zonal shift; nil for none.
	Shifts *zonalshift.Watch
	// OfferingSources are further sources of offerings, in order.
	OfferingSources []instancetype.OfferingSource
	// Metrics may be nil.
	Metrics *telemetry.Metrics
}

// relaxed reports whether a claim's minValues were relaxed.
func relaxed(claim *v1.NodeClaim) bool {
	return claim.Annotations[v1.NodeClaimMinValuesRelaxedAnnotationKey] == "true"
}
