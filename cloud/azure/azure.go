// Package azure assembles the provider for Azure Kubernetes Service: session, clients, facts about the cluster, the provider itself, and its
// controllers. The parts are small packages in the folders below.
//
// Source: Azure provider specification, start-up order; garbage collection and the other controllers.
package azure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/inventory"
	"github.com/karpenter-anew/karpenter/cloud/azure/provider"
	"github.com/karpenter-anew/karpenter/cloud/azure/retail"
	"github.com/karpenter-anew/karpenter/cloud/azure/session"
	"github.com/karpenter-anew/karpenter/cloud/azure/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// startTimeout limits the calls to Azure at startup.
const startTimeout = 2 * time.Minute

// Settings are the settings of the installation.
type Settings struct {
	// Session says where and how Azure is called; its clock is the one below.
	Session session.Options
	// ClusterName and ClusterEndpoint, a URL, are needed.
	ClusterName, ClusterEndpoint string
	// VMMemoryOverheadPercent is the fraction of memory that the hypervisor is assumed to use.
	VMMemoryOverheadPercent float64
	// Telemetry publishes metrics and events; nil in tests.
	Telemetry *observe.Telemetry
	// Clock is that of controllers: the deadlines and conditions that the provider writes are read by them.
	Clock clock.WithTicker
}

// errNoCluster is what a cloud without a cluster answers.
var errNoCluster = errors.New("the provider azure needs a cluster: instance types are those of a subscription and a node class")

// Unopened is the cloud without a subscription: its name, kinds and labels. It launches nothing.
func Unopened() cloud.Cloud {
	out := provider.Describe()
	out.Provider = cloud.Unopened{Err: errNoCluster}
	return out
}

// New opens the cloud. It finds a credential, makes sure that it gets a token, and lists the SKUs of the location; whatever of this fails
// ends the start. The client reads from a cache that does not run yet.
func New(c client.Client, s Settings) (cloud.Cloud, error) {
	s.Session.Clock = s.Clock
	credential, err := session.NewCredential(&s.Session)
	if err != nil {
		return cloud.Cloud{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return open(ctx, c, s, credential)
}

// open opens the cloud that a credential leads to.
func open(ctx context.Context, c client.Client, s Settings, credential azcore.TokenCredential) (cloud.Cloud, error) {
	e, out, err := assemble(ctx, c, s, credential)
	if err != nil {
		return cloud.Cloud{}, err
	}
	out.Register = func(m manager.Manager) error { return e.register(m) }
	return out, nil
}

// assemble makes the cloud, and what registers its controllers.
func assemble(ctx context.Context, c client.Client, s Settings, credential azcore.TokenCredential) (*controllerSet, cloud.Cloud, error) {
	s.Session.Clock = s.Clock
	if s.Telemetry == nil {
		s.Telemetry = &observe.Telemetry{Registry: prometheus.NewRegistry()}
	}
	if err := session.Check(ctx, credential, &s.Session.Environment); err != nil {
		return nil, cloud.Cloud{}, err
	}
	azure, err := session.New(credential, s.Session)
	if err != nil {
		return nil, cloud.Cloud{}, err
	}
	parts, err := provider.Assemble(ctx, provider.AssemblyOptions{
		Session: azure, Environment: s.Session.Environment, Settings: s.Session.Settings, ClusterName: s.ClusterName, ClusterEndpoint: s.ClusterEndpoint,
		VMMemoryOverheadPercent: s.VMMemoryOverheadPercent, PriceList: priceList(azure, &s), Client: c, Clock: s.Clock,
		Metrics: telemetry.NewMetrics(s.Telemetry.Registry), Random: rand.IntN,
		// Recorder and metrics are there when the first controller runs.
		Publish:   func(events ...observe.Event) { s.Telemetry.Recorder.Publish(events...) },
		Disrupted: func(claim *v1.NodeClaim) { s.Telemetry.Metrics.CountDisrupted(claim, "async_provisioning") },
	})
	if err != nil {
		return nil, cloud.Cloud{}, err
	}
	if err := parts.Provider.Catalog.Inventory.RefreshSKUs(ctx); err != nil {
		return nil, cloud.Cloud{}, fmt.Errorf("listing the SKUs of location %q: %w", s.Session.Environment.Location, err)
	}
	out := parts.Provider.Cloud()
	out.ClusterName = s.ClusterName
	return &controllerSet{assembly: parts, session: azure, settings: s, client: c, manages: out.Manages}, out, nil
}

// priceList is the list of prices of a cloud; nil if it has none.
func priceList(azure *session.Session, s *Settings) inventory.PriceList {
	if !retail.Lists(s.Session.Environment.ResourceManager()) {
		return nil
	}
	return retail.New(retail.Endpoint, s.Session.Version, azure.ClientOptions)
}
