// Package ebs simulates the driver for EBS volumes in a cluster whose nodes are instances of the AWS test server. On each node it
// registers the driver, publishes the number of volumes that can be attached and the zone, and removes the startup taint. It provisions
// volumes for claims of its storage classes in the zone that the scheduler chose, and deletes released volumes.
//
// It does not simulate attaching: volumes have no data, and simulated pods do not need it.
//
// Source: public documentation of the EBS CSI driver and of EC2.
package ebs

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

const (
	// Name is the name of the driver and of the provisioner of its storage classes.
	Name = "ebs.csi.aws.com"
	// NotReady is the key of the startup taint that the driver removes.
	NotReady = Name + "/agent-not-ready"
	// ZoneLabel is the zone label of its nodes and volumes.
	ZoneLabel = awsv1.LabelEBSZone

	// pace is the polling interval.
	pace = 200 * time.Millisecond
)

// Options configure the driver.
type Options struct {
	Account *awstest.Account
	// Client is the client of the control plane, with administrator access.
	Client client.Client
	// Clock is the clock of the account; nil for the real one.
	Clock clock.WithTicker
}

// Driver is the driver. Make one with New, and call Run.
type Driver struct {
	o Options
}

// New makes a driver.
func New(o Options) *Driver {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Driver{o}
}

// Run serves nodes and claims until ctx ends. It retries failures in the next pass.
func (d *Driver) Run(ctx context.Context) {
	ticker := d.o.Clock.NewTicker(pace)
	defer ticker.Stop()
	for {
		if seen, err := d.look(ctx); err == nil {
			d.serveNodes(ctx, &seen)
			d.serveClaims(ctx, &seen)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// view is the state that one pass of the driver reads.
type view struct {
	nodes   corev1.NodeList
	drivers storagev1.CSINodeList
	classes storagev1.StorageClassList
	claims  corev1.PersistentVolumeClaimList
	volumes corev1.PersistentVolumeList
}

func (d *Driver) look(ctx context.Context) (view, error) {
	var v view
	for _, list := range []client.ObjectList{&v.volumes, &v.claims, &v.classes, &v.drivers, &v.nodes} {
		if err := d.o.Client.List(ctx, list); err != nil {
			return view{}, err
		}
	}
	return v, nil
}
