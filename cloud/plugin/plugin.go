// Package plugin is what a cloud provider registers with the binary, so that the rest of the program does not
// name providers.
//
// A provider package exports one function that returns a Provider, and cmd/karpenter lists it. Adding a cloud touches a folder
// under cloud/, one under api/, and that line.
package plugin

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Provider is one cloud provider. Fields that are marked as optional may be nil.
type Provider struct {
	// Name is the value of --cloud-provider that chooses the provider.
	Name options.CloudProvider
	// NodeClasses are the kinds of node class of the provider. At least one.
	NodeClasses []schema.GroupVersionKind
	// AddToScheme registers the API types of the provider: node classes, and the kinds of earlier APIs.
	AddToScheme func(*runtime.Scheme) error
	// Definitions returns the CustomResourceDefinitions of an installation with this provider: the core kinds, with what the provider
	// restricts in them, and its node classes. The caller owns the result.
	Definitions func() ([]*apiextensionsv1.CustomResourceDefinition, error)
	// Settings returns the flags of the controller that only this provider has. Optional.
	Settings func() options.ProviderSettings
	// Check reports mistakes in the settings before anything is started. Optional.
	Check func(options.Options) error
	// Open connects to the cloud. The client reads from the cache, which does not run yet. The clock is that of controllers, which follows
	// the API server: the provider compares it with times of objects and of the cloud.
	Open func(client.Client, options.Options, *observe.Telemetry, clock.WithTicker) (cloud.Cloud, error)
	// Published returns the settings of the provider that change plans, for users of the cluster: values by flag of simulate and explain,
	// where there is one. It is called with the opened cloud, and returns no secrets. Optional.
	Published func(options.Options, cloud.Cloud) map[string]string
	// Offline returns the provider without a cluster and an account, for simulate, explain and snapshot.
	Offline func() Offline
	// Catalogs are the values of --catalog that the provider knows, sorted. Optional: the default provider knows most catalogs.
	Catalogs func() []string
	// Metrics registers the metrics that only this provider has and returns their definitions, for the reference. Optional.
	Metrics func(prometheus.Registerer) []observe.Definition
	// Events returns each event that only this provider publishes, for the reference. Optional.
	Events func(*v1.NodeClaim, *corev1.Node, *v1.NodePool) []observe.Event
	// Snapshot says what snapshots hold of the kinds of the provider. The zero value holds nothing.
	Snapshot Snapshot
}

// Offline is a provider without a cluster and an account. It is a pointer to a struct, whose fields are flags of simulate and explain,
// with the tags of options.Options; see there.
type Offline interface {
	// Check reports flags that cannot be used.
	Check() error
	// Open opens the provider without any objects. A catalog that does not exist is an error, unless it is one of another provider.
	Open(Catalog) (cloud.Cloud, error)
	// OpenFor opens the provider for the objects of a simulation.
	OpenFor(Simulation) (Opened, error)
}

// Catalog names the instance types of a provider that is offline.
type Catalog struct {
	// Name is the value of --catalog.
	Name string
	// File is a file with instance types that replaces it; empty for none. Only the simulated provider reads files.
	File string
	// VMMemoryOverheadPercent is the fraction of an instance's memory that the hypervisor takes, for providers that compute it.
	VMMemoryOverheadPercent float64
}

// Simulation is what a provider is opened for.
type Simulation struct {
	Catalog Catalog
	// Objects are those of the input, as they were read.
	Objects []client.Object
	// Complete adds what the simulation assumes to objects, such as node classes that are not there. The provider calls it once.
	Complete func([]client.Object, cloud.Cloud) []client.Object
}

// Opened is a provider that was opened for the objects of a simulation.
type Opened struct {
	Cloud cloud.Cloud
	// Objects are the completed objects; node classes without a status have got one, where the provider can assume it.
	Objects []client.Object
	// Source says where the instance types and prices are from, such as "catalog generic".
	Source string
	// Notes are the assumptions of the result, one sentence each.
	Notes []string
	// PlanNotes returns the assumptions about the instance types of nodes to launch, one sentence each; about all instance types if they are
	// nil. Optional.
	PlanNotes func(instanceTypes []string) []string
	// UnpredictedDevices says which devices the controller expects on new nodes, and Cloud does not, in one sentence; empty if there are none.
	// It concerns pods with resource claims only.
	UnpredictedDevices string
}

// Snapshot is what snapshots of clusters hold of the kinds of a provider, and how it is redacted.
type Snapshot struct {
	// Fields describe kinds, in the form that internal/snapshot/fields.txt explains. They may use its groups and marks, and the
	// marks of Redactors.
	Fields string
	// Settings are the settings of the provider that the controller publishes, one a line, in the same form. Each line begins with four
	// spaces and ends with a newline.
	Settings string
	// Redactors replace values of fields with a mark of the provider, by mark.
	Redactors map[string]Redactor
	// Labels are well-known labels whose values identify the owner of a cluster, with the mark of the redactor that
	// replaces them.
	Labels map[string]string
}

// Redactor returns a replacement of a value, which is a text or a map of texts. rename returns the pseudonym of a text. The result must
// depend on the arguments only, and rename must be called in a fixed order.
type Redactor func(value any, rename func(string) string) any
