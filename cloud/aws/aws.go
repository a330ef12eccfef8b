// Package aws assembles the AWS provider: session, clients, facts about the cluster, the provider itself, and its
// controllers. The parts are small packages in the folders below.
//
// Source: AWS provider specification, client set-up; controllers.
package aws

import (
	"context"
	"errors"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/catalog"
	"github.com/karpenter-anew/karpenter/cloud/aws/controlplane"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/aws/offline"
	"github.com/karpenter-anew/karpenter/cloud/aws/profile"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
	"github.com/karpenter-anew/karpenter/cloud/aws/session"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// startTimeout limits the calls to AWS at startup.
const startTimeout = 2 * time.Minute

// Settings are the settings of the installation.
type Settings struct {
	// ClusterName is needed; ClusterEndpoint and ClusterCABundle (base64) are found out where they are empty.
	ClusterName, ClusterEndpoint, ClusterCABundle string
	// IsolatedVPC says that the price list and IAM are not reachable.
	IsolatedVPC bool
	// EKSControlPlane says that the Kubernetes version comes from EKS instead of the API server.
	EKSControlPlane         bool
	VMMemoryOverheadPercent float64
	ReservedENIs            int64
	// DryRuns says that launches are tried before a class counts as valid.
	DryRuns bool
	// ImagesFor, SubnetsFor and GroupsFor are how long images, subnets and security groups are cached.
	ImagesFor, SubnetsFor, GroupsFor time.Duration
	// ReservesCapacity says that capacity reservations are used; StrictMinValues that minValues are not relaxed at launch.
	ReservesCapacity, StrictMinValues bool
	// RebootForRepair reboots nodes whose GPU errors a reboot may correct, instead of replacing them.
	RebootForRepair bool
	// InterruptionQueue is the name of the queue with interruption messages; empty for none.
	InterruptionQueue string
	// EvaluatesExpressions says that kubelet blocks of classes may hold expressions.
	EvaluatesExpressions bool
	// UsesOverlays says that users may write prices for instance types.
	UsesOverlays bool
	// PlansGPUs and PlansEFAs say that devices of DRA drivers are planned before they are published.
	PlansGPUs, PlansEFAs bool
	// OfferingSources are further sources of offerings, in order.
	OfferingSources []instancetype.OfferingSource
	// ZonalShift says that nothing is launched or terminated in zones with an active zonal shift.
	ZonalShift bool
	// Version is that of the program.
	Version string
	// Telemetry publishes metrics and events; nil in tests.
	Telemetry *observe.Telemetry
	// Clock is that of controllers: the deadlines and conditions that the provider writes are read by them. nil means the real clock.
	Clock clock.WithTicker
}

// errNoCluster is what a cloud without a cluster answers.
var errNoCluster = errors.New("the provider aws needs a cluster: instance types are those of an account and a node class")

// Unopened is the cloud without an account: its name, kinds and labels. It launches nothing.
func Unopened() cloud.Cloud {
	out := (&provider.Provider{}).Cloud()
	out.Provider, out.Rebooter, out.UseCorrection, out.Hooks = cloud.Unopened{Err: errNoCluster}, nil, nil, nil
	return out
}

// DefaultCatalog is the catalog of simulations that name none.
const DefaultCatalog = "aws/" + offline.DefaultRegion

// Offline is the cloud as it can be known without an account, with the instance types, zones and prices of an embedded catalogue such
// as aws/eu-west-1 under some classes. Classes without a status get one. Of the settings those count that correct what EC2 says. It
// launches nothing.
func Offline(catalog string, s Settings, classes []*awsv1.EC2NodeClass) (cloud.Cloud, error) {
	o := offline.Options{Catalog: catalog, VMMemoryOverheadPercent: s.VMMemoryOverheadPercent, ReservedENIs: s.ReservedENIs}
	p, err := offline.New(o, classes)
	if err != nil {
		return cloud.Cloud{}, err
	}
	out := Unopened()
	out.Provider, out.ClusterName = p, s.ClusterName
	return out, nil
}

// New opens the cloud. It finds credentials and region, makes sure that EC2 answers, and lists what there is to buy; whatever of this
// fails ends the start. The client reads from a cache that does not run yet.
func New(c client.Client, s Settings) (cloud.Cloud, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	config, err := session.Open(ctx, s.Version)
	if err != nil {
		return cloud.Cloud{}, err
	}
	return open(ctx, c, s, config)
}

// open opens the cloud that a configuration leads to.
func open(ctx context.Context, c client.Client, s Settings, config sdk.Config) (cloud.Cloud, error) {
	now := s.Clock
	if now == nil {
		now = clock.RealClock{}
	}
	if s.ClusterName == "" {
		return cloud.Cloud{}, errors.New("missing field, cluster-name")
	}
	if s.Telemetry == nil {
		s.Telemetry = &observe.Telemetry{Registry: prometheus.NewRegistry()}
	}
	metrics := telemetry.NewMetrics(s.Telemetry.Registry)
	session.Measure(&config, metrics.SDK)
	calls := ec2.NewFromConfig(config)
	if err := session.Check(ctx, calls); err != nil {
		return cloud.Cloud{}, err
	}
	o := provider.Options{
		Options: catalog.Options{
			Settings: catalog.Settings{
				Region: config.Region, ReservedENIs: s.ReservedENIs, VMMemoryOverheadPercent: s.VMMemoryOverheadPercent,
				ReservesCapacity: s.ReservesCapacity, EvaluatesExpressions: s.EvaluatesExpressions, UsesOverlays: s.UsesOverlays,
				PlansGPUs: s.PlansGPUs, PlansEFAs: s.PlansEFAs,
			},
			OfferingSources: s.OfferingSources, Parameters: ssm.NewFromConfig(config), Clock: now, SubnetTTL: s.SubnetsFor, GroupTTL: s.GroupsFor, ImageTTL: s.ImagesFor,
		},
		StrictMinValues: s.StrictMinValues, RebootForRepair: s.RebootForRepair, Cluster: controlplane.New(s.ClusterName, eks.NewFromConfig(config)), EC2: calls, Client: c, Metrics: metrics,
	}
	var profiles *profile.Manager
	if !s.IsolatedVPC {
		list := config.Copy()
		list.Region = session.PricingRegion(config.Region)
		o.Prices = pricing.NewFromConfig(list)
		profiles = profile.NewManager(profile.Options{
			IAM: iam.NewFromConfig(config), Clock: now, Cluster: s.ClusterName, Region: config.Region, Unique: func() string { return string(uuid.NewUUID()) },
		})
	}
	if err := watchZonalShifts(ctx, &o, s, arczonalshift.NewFromConfig(config)); err != nil {
		return cloud.Cloud{}, err
	}
	p := provider.New(o)
	p.Catalog.Inventory.Measure(metrics.TypeCPU, metrics.TypeMemory)
	if err := p.Cluster.DiscoverEndpoint(ctx, p.Region, s.ClusterEndpoint, s.ClusterCABundle); err != nil {
		return cloud.Cloud{}, err
	}
	if err := p.Catalog.Inventory.RefreshTypes(ctx); err != nil {
		return cloud.Cloud{}, err
	}
	p.Catalog.Inventory.ReadPrices(ctx, p.Clock.Now())
	out := p.Cloud()
	e := &controllerSet{provider: p, profiles: profiles, settings: s, metrics: metrics, statuses: calls, ec2: calls, client: c, manages: out.Manages}
	if s.InterruptionQueue != "" {
		e.queues = sqs.NewFromConfig(config)
	}
	out.Register = func(m manager.Manager) error { return e.register(m) }
	return out, nil
}
