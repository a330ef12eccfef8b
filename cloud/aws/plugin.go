package aws

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	legacyv1alpha1 "github.com/karpenter-anew/karpenter/api/legacy/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/offline"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
	"github.com/karpenter-anew/karpenter/cloud/aws/settings"
	"github.com/karpenter-anew/karpenter/cloud/aws/snapshot"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Provider returns what the provider for AWS registers.
func Provider() plugin.Provider {
	return plugin.Provider{
		Name:        settings.Provider,
		NodeClasses: []schema.GroupVersionKind{awsv1.SchemeGroupVersion.WithKind("EC2NodeClass")},
		AddToScheme: addToScheme,
		Definitions: awscrds.Definitions,
		Settings:    func() options.ProviderSettings { return &settings.Settings{} },
		Open:        openWith,
		Published:   published,
		Offline:     func() plugin.Offline { return &offlineFlags{} },
		Metrics:     func(r prometheus.Registerer) []observe.Definition { return telemetry.NewMetrics(r).Definitions() },
		Events:      telemetry.ExampleEvents,
		Snapshot:    snapshot.Plugin(),
	}
}

// addToScheme registers EC2NodeClass, and AWSNodeTemplate of the earlier API.
func addToScheme(s *runtime.Scheme) error {
	if err := awsv1.AddToScheme(s); err != nil {
		return err
	}
	return legacyv1alpha1.AddToScheme(s)
}

// openWith opens the cloud with the options of the controller.
func openWith(c client.Client, o options.Options, telemetry *observe.Telemetry, now clock.WithTicker) (cloud.Cloud, error) {
	s := options.SettingsOf[settings.Settings](o)
	allocates := !o.Scheduling.IgnoreDRARequests
	return New(c, Settings{
		ClusterName: o.Cluster.Name, ClusterEndpoint: o.Cluster.Endpoint, ClusterCABundle: s.ClusterCABundle,
		IsolatedVPC: s.IsolatedVPC, EKSControlPlane: s.EKSControlPlane, VMMemoryOverheadPercent: o.InstanceTypes.VMMemoryOverheadPercent,
		ReservedENIs: int64(s.ReservedENIs), DryRuns: !s.DisableDryRun, ImagesFor: s.AMIRefreshInterval, SubnetsFor: s.SubnetRefreshInterval,
		GroupsFor:        s.SecurityGroupRefreshInterval,
		ReservesCapacity: o.FeatureGates.ReservedCapacity, StrictMinValues: o.Scheduling.MinValuesPolicy == options.MinValuesStrict, Version: telemetry.Version,
		InterruptionQueue: s.InterruptionQueue, ZonalShift: s.EnableZonalShift, Telemetry: telemetry, Clock: now,
		EvaluatesExpressions: s.FeatureGates.NodeClassCEL, RebootForRepair: s.FeatureGates.RebootForRepair, UsesOverlays: o.FeatureGates.NodeOverlay,
		PlansGPUs: s.FeatureGates.DRANVIDIAGPU && allocates, PlansEFAs: s.FeatureGates.DRAEFA && allocates,
	})
}

// published returns the settings that change plans. The catalog is that of the region, which comes closest to what the account offers.
func published(o options.Options, opened cloud.Cloud) map[string]string {
	s := options.SettingsOf[settings.Settings](o)
	out := map[string]string{
		"cluster-name":               o.Cluster.Name,
		"isolated-vpc":               strconv.FormatBool(s.IsolatedVPC),
		"vm-memory-overhead-percent": strconv.FormatFloat(o.InstanceTypes.VMMemoryOverheadPercent, 'g', -1, 64),
		"reserved-enis":              strconv.Itoa(s.ReservedENIs),
		"aws-feature-gates":          s.FeatureGates.String(),
	}
	if p, ok := opened.Provider.(*provider.Provider); ok {
		out["catalog"] = offline.CatalogFor(p.Region)
	}
	return out
}
