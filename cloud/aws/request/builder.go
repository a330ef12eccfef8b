// Package request builds the request of a launch: the overrides, the launch templates that they need, and the user data in these. It
// creates the launch templates of dry runs.
//
// Source: AWS provider specification, the launch decision; launch templates; dry runs.
package request

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/controlplane"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/aws/template"
)

// Catalog is what requests depend on of the instance types of a class.
type Catalog interface {
	// Types are all instance types under a class.
	Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*cloud.InstanceType, error)
	// Reserved is what nodes of a type keep from pods, in the JSON of a kubelet block; empty without expressions.
	Reserved(class *awsv1.EC2NodeClass, instanceType string) (string, error)
}

// Options are what a builder is made of.
type Options struct {
	Catalog   Catalog
	Cluster   *controlplane.Cluster
	Templates *template.Manager
	// Client reads node pools.
	Client client.Reader
	Region string
	// ReservesCapacity says that capacity reservations are used.
	ReservesCapacity bool
	Metrics          *telemetry.Metrics
}

// Builder builds requests. Make one with New.
type Builder struct {
	Options
	sizes sizes
}

// New returns a builder.
func New(o Options) *Builder { return &Builder{Options: o} }
