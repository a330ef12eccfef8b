package azure

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	azurediscovery "github.com/karpenter-anew/karpenter/cloud/azure/discovery"
	"github.com/karpenter-anew/karpenter/cloud/azure/garbage"
	"github.com/karpenter-anew/karpenter/cloud/azure/inplaceupdate"
	"github.com/karpenter-anew/karpenter/cloud/azure/network"
	"github.com/karpenter-anew/karpenter/cloud/azure/nodeclass"
	"github.com/karpenter-anew/karpenter/cloud/azure/provider"
	"github.com/karpenter-anew/karpenter/cloud/azure/session"
	"github.com/karpenter-anew/karpenter/cloud/periodictask"
)

// Intervals of the periodic tasks.
const (
	refreshEvery    = 12 * time.Hour
	priceRetryMax   = time.Hour
	quotaEvery      = 10 * time.Minute
	interfacesEvery = 5 * time.Minute
	classWorkers    = 10
)

// controllerSet registers the controllers of the provider.
type controllerSet struct {
	assembly *provider.Assembly
	session  *session.Session
	settings Settings
	client   client.Client
	manages  func(*v1.NodeClassReference) bool
}

// register finds out the rest about the cluster, from its API server, and adds controllers and tasks.
func (e *controllerSet) register(m manager.Manager) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := e.completeCluster(ctx, m); err != nil {
		return err
	}
	served, err := discovery.NewDiscoveryClientForConfig(m.GetConfig())
	if err != nil {
		return fmt.Errorf("asking the API server for its version: %w", err)
	}
	version := func(context.Context) (string, error) {
		info, err := served.ServerVersion()
		if err != nil {
			return "", err
		}
		return info.GitVersion, nil
	}
	o := e.nodeClassOptions(m.GetAPIReader(), version)
	if err := nodeclass.NewStatus(o).Register(m, classWorkers); err != nil {
		return err
	}
	if err := nodeclass.NewHasher(o).Register(m, classWorkers); err != nil {
		return err
	}
	if err := e.inPlaceUpdate().Register(m); err != nil {
		return err
	}
	if err := m.Add(e.assembly.Provider.Launcher.Background); err != nil {
		return fmt.Errorf("adding the background of launches: %w", err)
	}
	if err := m.Add(e.assembly.AKSMachines); err != nil {
		return fmt.Errorf("adding the background of AKSMachines: %w", err)
	}
	for _, task := range e.tasks() {
		if err := m.Add(task); err != nil {
			return fmt.Errorf("adding %q: %w", task.Name, err)
		}
	}
	return nil
}

// completeCluster reads what nodes need to know of the cluster and only its API server says.
func (e *controllerSet) completeCluster(ctx context.Context, m manager.Manager) error {
	config := rest.CopyConfig(m.GetConfig())
	if err := rest.LoadTLSFiles(config); err != nil {
		return fmt.Errorf("reading the certificate authority of the API server: %w", err)
	}
	cluster := e.assembly.Cluster
	cluster.CABundle = base64.StdEncoding.EncodeToString(config.CAData)
	var err error
	if cluster.DNSServiceIP, err = network.DNSServiceIP(ctx, m.GetAPIReader(), e.settings.Session.Settings.DNSServiceIP); err != nil {
		return fmt.Errorf("finding the address of the DNS service: %w", err)
	}
	return nil
}

// nodeClassOptions are what the controllers of node classes are made of. The reader is not cached.
func (e *controllerSet) nodeClassOptions(live client.Reader, version func(context.Context) (string, error)) nodeclass.Options {
	s, at := e.settings.Session.Settings, e.settings.Session.Environment
	images := azurediscovery.ImageOptions{Clock: e.settings.Clock, Community: &azurediscovery.Community{Client: e.session.CommunityImages, Location: at.Location}}
	if s.UseSIG {
		images.SharedSubscription = s.SIGSubscriptionID
		images.Shared = &azurediscovery.Shared{Client: e.session.ResourceManager, Subscription: at.SubscriptionID, Location: at.Location, APIVersion: s.AKSMachinesAPIVersion}
	}
	return nodeclass.Options{
		Client: e.client, Reader: live, Recorder: e.settings.Telemetry.Recorder, Clock: e.settings.Clock, Version: version,
		Images:      azurediscovery.NewImages(images),
		Resources:   &azurediscovery.Resources{Subnets: e.session.Subnets, DiskEncryptionSets: e.session.DiskEncryptionSets},
		FullSubnets: e.assembly.FullSubnets, Changed: e.assembly.FullSubnets.Changed,
		Namespace: at.SystemNamespace, NodeResourceGroup: s.NodeResourceGroup, Subnet: s.VNETSubnetID, DiskEncryptionSet: s.NodeOSDiskDiskEncryptionSetID,
		NetworkPlugin: s.NetworkPlugin, NetworkPolicy: s.NetworkPolicy, LocalDNSVersion: s.LocalDNSMinKubernetesVersion,
	}
}

// inPlaceUpdate makes the controller that updates instances in place.
func (e *controllerSet) inPlaceUpdate() *inplaceupdate.Controller {
	s := e.settings.Session.Settings
	return inplaceupdate.New(inplaceupdate.Options{
		Client: e.client, Clock: e.settings.Clock, VMs: inplaceupdate.VMs{Instances: e.assembly.Instances},
		AKSMachines: inplaceupdate.VMs{Instances: e.assembly.AKSMachines.Client},
		Cluster:     e.settings.ClusterName, Tags: s.AdditionalTags, Identities: s.NodeIdentities, Manages: e.manages,
	})
}

// tasks returns the periodic tasks.
func (e *controllerSet) tasks() []periodictask.Task {
	types := e.assembly.Provider.Catalog
	interfaces := &garbage.NetworkInterfaces{Instances: e.assembly.Instances, Client: e.client}
	readQuota := func(ctx context.Context) error {
		return types.Quota.Read(ctx, e.session.Usages, e.settings.Session.Environment.Location)
	}
	out := []periodictask.Task{
		{Name: "instancetype", Every: periodictask.Always(refreshEvery), Run: types.Inventory.RefreshSKUs},
		{Name: "pricing", Every: periodictask.Always(refreshEvery), RetryMax: priceRetryMax, Run: types.Inventory.RefreshPrices},
		{Name: "quota", Every: periodictask.Always(quotaEvery), Run: readQuota},
		{Name: "networkinterface.garbagecollection", Every: periodictask.Always(interfacesEvery), Run: interfaces.Collect},
		{Name: "launch.resumption", Every: periodictask.Always(-1), Run: e.resumeLaunches},
	}
	for i := range out {
		out[i].Clock = e.settings.Clock
	}
	return out
}

// resumeLaunches goes on with the launches of earlier processes: of NodeClaims with an instance that has not become a node yet.
func (e *controllerSet) resumeLaunches(ctx context.Context) error {
	var claims v1.NodeClaimList
	if err := e.client.List(ctx, &claims); err != nil {
		return fmt.Errorf("listing nodeclaims: %w", err)
	}
	var errs []error
	for i := range claims.Items {
		claim := &claims.Items[i]
		registered := condition.Status(claim, v1.ConditionTypeRegistered) == metav1.ConditionTrue
		if claim.Status.ProviderID == "" || registered || !claim.DeletionTimestamp.IsZero() || !e.manages(claim.Spec.NodeClassRef) {
			continue
		}
		if err := e.assembly.Provider.Launcher.Resume(ctx, claim); err != nil {
			errs = append(errs, fmt.Errorf("following the launch of nodeclaim %q: %w", claim.Name, err))
		}
	}
	return errors.Join(errs...)
}
