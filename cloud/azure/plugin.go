package azure

import (
	"os"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	azurecrds "github.com/karpenter-anew/karpenter/api/azure/crds"
	"github.com/karpenter-anew/karpenter/api/azure/v1alpha2"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
	"github.com/karpenter-anew/karpenter/cloud/azure/provider"
	"github.com/karpenter-anew/karpenter/cloud/azure/session"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
	"github.com/karpenter-anew/karpenter/cloud/azure/snapshot"
	"github.com/karpenter-anew/karpenter/cloud/azure/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Provider returns what the provider for AKS registers.
func Provider() plugin.Provider {
	return plugin.Provider{
		Name:        settings.Provider,
		NodeClasses: []schema.GroupVersionKind{v1beta1.SchemeGroupVersion.WithKind("AKSNodeClass")},
		AddToScheme: addToScheme,
		Definitions: azurecrds.Definitions,
		Settings:    func() options.ProviderSettings { return &settings.Settings{} },
		Check:       check,
		Open:        openWith,
		Published:   published,
		Offline:     func() plugin.Offline { return &offlineFlags{} },
		Catalogs:    catalogs,
		Metrics:     func(r prometheus.Registerer) []observe.Definition { return telemetry.NewMetrics(r).Definitions() },
		Events:      telemetry.ExampleEvents,
		Snapshot:    snapshot.Plugin(),
	}
}

// addToScheme registers AKSNodeClass, in the stored and in the deprecated version.
func addToScheme(s *runtime.Scheme) error {
	if err := v1beta1.AddToScheme(s); err != nil {
		return err
	}
	return v1alpha2.AddToScheme(s)
}

// readEnvironment reads where the process works.
func readEnvironment() (environment.Environment, error) {
	return environment.Read(environment.Sources{Getenv: os.Getenv, ReadFile: os.ReadFile})
}

// check reports what is missing in the environment, together with all other mistakes in settings.
func check(options.Options) error {
	_, err := readEnvironment()
	return err
}

// openWith opens the cloud with the options of the controller.
func openWith(c client.Client, o options.Options, telemetry *observe.Telemetry, now clock.WithTicker) (cloud.Cloud, error) {
	at, err := readEnvironment()
	if err != nil {
		return cloud.Cloud{}, err
	}
	return New(c, Settings{
		Session:     session.Options{Environment: at, Settings: options.SettingsOf[settings.Settings](o), Version: telemetry.Version},
		ClusterName: o.Cluster.Name, ClusterEndpoint: o.Cluster.Endpoint, VMMemoryOverheadPercent: o.InstanceTypes.VMMemoryOverheadPercent,
		Telemetry: telemetry, Clock: now,
	})
}

// published returns the settings that change plans. The catalog is that of the location, which comes closest to what the subscription offers.
func published(o options.Options, opened cloud.Cloud) map[string]string {
	s := options.SettingsOf[settings.Settings](o)
	out := map[string]string{
		"cluster-name":               o.Cluster.Name,
		"vm-memory-overhead-percent": strconv.FormatFloat(o.InstanceTypes.VMMemoryOverheadPercent, 'g', -1, 64),
		"network-plugin":             s.NetworkPlugin,
		"network-plugin-mode":        s.NetworkPluginMode,
		"node-resource-group":        s.NodeResourceGroup,
	}
	if p, ok := opened.Provider.(*provider.Provider); ok {
		out["catalog"] = catalogOf(p.Catalog.Location)
	}
	return out
}
