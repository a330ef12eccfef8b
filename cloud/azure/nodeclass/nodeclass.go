// Package nodeclass keeps the status of AKSNodeClasses: the version of Kubernetes and the images of new nodes, and whether the subnet, the
// disk encryption set and LocalDNS of a class can be used. It keeps the hash of classes, and holds a deleted class until its NodeClaims are gone.
//
// Source: Azure provider specification, node class controllers; when images change.
package nodeclass

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/subnet"
	"github.com/karpenter-anew/karpenter/cloud/nodeclass"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// Images lists the newest images of a class; discovery.Images is one.
type Images interface {
	Of(context.Context, *v1beta1.AKSNodeClass) ([]v1beta1.NodeImage, error)
}

// Resources reads the resources that classes refer to. Errors are those of the Azure SDK.
type Resources interface {
	// Subnet reads a subnet, and returns how many of its addresses are free, or subnet.UnknownFree.
	Subnet(context.Context, subnet.ID) (free int, _ error)
	// DiskEncryptionSet reads a disk encryption set by its ARM id.
	DiskEncryptionSet(_ context.Context, id string) error
}

// FullSubnets knows in which subnets launches found too few addresses; network.FullSubnets is one.
type FullSubnets interface {
	// Check reports whether the subnet of a class is full, how many addresses a node takes, and until when no node is launched. Azure counts so many
	// addresses as free, or subnet.UnknownFree.
	Check(_ *v1beta1.AKSNodeClass, free int) (addresses int, until time.Time, full bool)
}

// Options are what the controllers are made of.
type Options struct {
	Client client.Client
	// Reader reads objects that are not worth a watch.
	Reader   client.Reader
	Recorder *observe.Recorder
	Clock    clock.PassiveClock
	// Version asks the API server for its version, such as v1.34.1.
	Version   func(context.Context) (string, error)
	Images    Images
	Resources Resources
	// FullSubnets are those of launches, Changed has a class when its subnet is full, or is not any more.
	FullSubnets FullSubnets
	Changed     <-chan event.GenericEvent
	// Namespace is that of the controller, where AKS says when nodes may get newer images; empty if they may at any time.
	Namespace string
	// NodeResourceGroup and Subnet are those of the cluster.
	NodeResourceGroup, Subnet string
	// DiskEncryptionSet is the ARM id of the disk encryption set of disks; empty for none.
	DiskEncryptionSet string
	// NetworkPlugin and NetworkPolicy are those of the cluster, with the words of AKS.
	NetworkPlugin, NetworkPolicy string
	// LocalDNSVersion is the version of Kubernetes from which on classes that prefer LocalDNS get it; empty for 1.36.
	LocalDNSVersion string
}

// Controller has the steps that keep the status of a class.
type Controller struct {
	Options
	version serverVersion
}

// NewStatus makes the controller of the status of classes.
func NewStatus(o Options) *nodeclass.Status[*v1beta1.AKSNodeClass] {
	type step = nodeclass.Step[*v1beta1.AKSNodeClass]
	c := &Controller{Options: o}
	return &nodeclass.Status[*v1beta1.AKSNodeClass]{
		Kind: kind(), Client: o.Client, Recorder: o.Recorder, Now: o.Clock.Now, Finalizer: label.TerminationFinalizer,
		Changed: o.Changed,
		// Images follow the version, and LocalDNS follows both.
		Steps: []step{
			{Name: "the kubernetes version", Run: c.kubernetesVersion},
			{Name: "images", Run: c.images},
			{Name: "the subnet", Run: c.subnet},
			{Name: "what nodes are configured with", Run: c.validate},
			{Name: "LocalDNS", Run: c.localDNS},
		},
	}
}

// NewHasher makes the controller that keeps the hash of classes.
func NewHasher(o Options) *nodeclass.Hasher[*v1beta1.AKSNodeClass] {
	return &nodeclass.Hasher[*v1beta1.AKSNodeClass]{
		Kind: kind(), Client: o.Client, HashAnnotation: label.AnnotationHash, VersionAnnotation: label.AnnotationHashVersion,
		Version: v1beta1.HashVersion, Hash: (*v1beta1.AKSNodeClass).Hash,
	}
}

func kind() nodeclass.Kind[*v1beta1.AKSNodeClass] {
	return nodeclass.Kind[*v1beta1.AKSNodeClass]{
		Group: v1beta1.Group, Name: "AKSNodeClass", New: func() *v1beta1.AKSNodeClass { return &v1beta1.AKSNodeClass{} },
	}
}

// Requeue intervals.
const (
	versionAgain    = 15 * time.Minute
	imagesAgain     = 5 * time.Minute
	subnetAgain     = 3 * time.Minute
	missingAgain    = time.Minute
	fullAgain       = time.Minute
	encryptionAgain = time.Hour
	localDNSAgain   = 5 * time.Minute
)
