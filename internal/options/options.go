// Package options turns the command line and the environment into one typed struct.
//
// Precedence is command line, then environment, then built-in default. Parsing is a pure function of its arguments: it reads no
// global state, so a test or another program gets the same answer for the same input. Source: spec, flags, environment variables and
// feature gates.
//
// Two rules are deliberately stricter than upstream. An environment variable that does not parse is an error here, where
// upstream falls back to the default in silence; and an unknown feature gate is an error, where upstream ignores it. Both are
// typing mistakes that otherwise show up weeks later as a setting that never took effect. A variable that is set but empty counts as
// not set, because that is how charts render a value that is not set; settings for which the empty text is a choice say so with a tag.
package options

import (
	"time"

	"github.com/alecthomas/kong"
)

// Options holds all settings of the process. Its sub-structs are handed to the constructors that need them.
type Options struct {
	// Serving holds the ports that the process serves.
	Serving Serving `embed:""`
	// Client holds the settings of the API client.
	Client Client `embed:""`
	// LeaderElection holds the settings of leader election.
	LeaderElection LeaderElection `embed:""`
	// Process bounds the resources of the process itself.
	Process Process `embed:""`
	// Log holds the settings of logging.
	Log Log `embed:""`
	// Ledger is where decisions are recorded.
	Ledger Ledger `embed:""`
	// Notifications are messages about disruption to a webhook.
	Notifications Notifications `embed:""`
	// Scheduling tunes batching and simulation.
	Scheduling Scheduling `embed:""`
	// Disruption configures disruption.
	Disruption Disruption `embed:""`
	// FeatureGates switches features.
	FeatureGates FeatureGates `name:"feature-gates" envvar:"FEATURE_GATES" group:"Features" placeholder:"NAME=BOOL,..." default:"" help:"Feature gates to change; gates that are not named keep their default. Known, with defaults: ${feature_gates}."`
	// DisableClusterStateObservability drops the pod, node and NodePool state metrics and all condition metrics and events.
	DisableClusterStateObservability bool `name:"disable-cluster-state-observability" envvar:"DISABLE_CLUSTER_STATE_OBSERVABILITY" group:"Features" help:"Drop pod, node and NodePool state metrics and status condition metrics and events."`
	// KarpenterService is accepted for compatibility and ignored. It named the service of a webhook that no longer exists. Charts set its
	// variable, and upstream ignores it as well, so it is not worth a warning.
	KarpenterService string `name:"karpenter-service" envvar:"KARPENTER_SERVICE" group:"Features" placeholder:"NAME" help:"Service name; accepted for compatibility and ignored, as upstream does."`
	// CloudProvider names the provider that launches instances.
	CloudProvider CloudProvider `name:"cloud-provider" envvar:"CLOUD_PROVIDER" group:"Cloud provider" default:"kwok" help:"Cloud provider that launches instances. Known: ${cloud_providers}."`
	// KWOK configures the simulated provider.
	KWOK KWOK `embed:""`
	// Cluster and InstanceTypes are settings that several cloud providers have.
	Cluster       Cluster       `embed:""`
	InstanceTypes InstanceTypes `embed:""`
	// Providers are the settings of the registered cloud providers: values of type ProviderSettings. SettingsOf finds those of one.
	Providers kong.Plugins `embed:""`
}

// Serving is the set of listeners.
type Serving struct {
	// MetricsPort serves /metrics; 0 picks a free port.
	MetricsPort int `name:"metrics-port" envvar:"METRICS_PORT" group:"Endpoints" default:"8080" help:"Port of the metrics endpoint; 0 picks a free one."`
	// HealthProbePort serves /healthz and /readyz; 0 picks a free port.
	HealthProbePort int `name:"health-probe-port" envvar:"HEALTH_PROBE_PORT" group:"Endpoints" default:"8081" help:"Port of the health and readiness probes; 0 picks a free one."`
	// ConsoleAddr serves what the controller knows, read-only, as HOST:PORT; empty serves nothing.
	ConsoleAddr string `name:"console-addr" envvar:"CONSOLE_ADDR" group:"Endpoints" placeholder:"HOST:PORT" help:"Address of the console, a read-only web page and API below /console/, such as 127.0.0.1:8082 for kubectl port-forward, or :8082 with TLS, for clients that the API server authorizes. Default: not served."`
	// SecureMetrics serves /metrics with TLS, to clients that the API server authorizes.
	SecureMetrics bool `name:"secure-metrics" envvar:"SECURE_METRICS" group:"Endpoints" help:"Serve the metrics port with TLS, for clients that the API server authorizes. The probes stay as they are."`
	// EnableProfiling adds /debug/pprof/ to the metrics port, for clients on the loopback interface.
	EnableProfiling bool `name:"enable-profiling" envvar:"ENABLE_PROFILING" group:"Endpoints" help:"Serve /debug/pprof/ on the metrics port, on the loopback interface only: use kubectl port-forward."`
}

// Client is the connection to the API server.
type Client struct {
	// Kubeconfig is a file that beats KUBECONFIG and the in-cluster configuration; empty means the standard rules.
	Kubeconfig string `name:"kubeconfig" group:"API client" placeholder:"FILE" help:"Kubeconfig file; otherwise $KUBECONFIG, then the in-cluster configuration, then ~/.kube/config."`
	// QPS is the sustained request rate per second; negative means unlimited.
	QPS int `name:"kube-client-qps" envvar:"KUBE_CLIENT_QPS" group:"API client" default:"200" help:"Requests per second to the API server; negative means no limit. Leader election is not limited by it."`
	// Burst is the number of requests above the rate.
	Burst int `name:"kube-client-burst" envvar:"KUBE_CLIENT_BURST" group:"API client" default:"300" help:"Burst above that rate."`
}

// LeaderElection is how replicas agree on the one that acts.
type LeaderElection struct {
	// Disable runs a single replica without a lease.
	Disable bool `name:"disable-leader-election" envvar:"DISABLE_LEADER_ELECTION" group:"Leader election" help:"Run without a lease: for a single replica only."`
	// Name of the lease.
	Name string `name:"leader-election-name" envvar:"LEADER_ELECTION_NAME" group:"Leader election" default:"karpenter-leader-election" placeholder:"NAME" help:"Name of the lease (${default})."`
	// Namespace of the lease; empty means the namespace the process runs in, which only exists inside a cluster.
	Namespace string `name:"leader-election-namespace" envvar:"LEADER_ELECTION_NAMESPACE" group:"Leader election" placeholder:"NAMESPACE" help:"Namespace of the lease. Default: the pod's own; required outside a cluster."`
	// DisableWarmup false starts watches before leadership, which shortens fail-over and costs memory on standby replicas.
	DisableWarmup bool `name:"disable-controller-warmup" envvar:"DISABLE_CONTROLLER_WARMUP" group:"Leader election" default:"true" help:"Start watches only once elected (${default}); =false starts them before, for a faster fail-over."`
}

// Process bounds the process itself.
type Process struct {
	// MemoryLimit in bytes; values above 0 set the Go soft limit to 90 % of it.
	MemoryLimit int64 `name:"memory-limit" envvar:"MEMORY_LIMIT" group:"Process" default:"-1" placeholder:"BYTES" help:"Memory limit of the container in bytes; 90% of it becomes the soft limit of the runtime. -1: none."`
	// CPURequests in thousandths of a core; it scales concurrency. Never below 1 after parsing.
	CPURequests int64 `name:"cpu-requests" envvar:"CPU_REQUESTS" group:"Process" default:"1000" placeholder:"MILLICORES" help:"CPU of the container in millicores (${default}); scales concurrency."`
}

// Log holds the settings of logging.
type Log struct {
	// Level is empty (meaning info), debug, info or error.
	Level LogLevel `name:"log-level" envvar:"LOG_LEVEL" group:"Logging" default:"info" help:"debug, info or error."`
	// OutputPaths are "stdout", "stderr" or files.
	OutputPaths []string `name:"log-output-paths" envvar:"LOG_OUTPUT_PATHS" group:"Logging" default:"stdout" placeholder:"PATH" help:"Where log lines go: stdout, stderr or files (${default})."`
	// ErrorOutputPaths get the failures of the logger itself.
	ErrorOutputPaths []string `name:"log-error-output-paths" envvar:"LOG_ERROR_OUTPUT_PATHS" group:"Logging" default:"stderr" placeholder:"PATH" help:"Where failures of the logger itself go (${default})."`
}

// Disruption configures disruption.
type Disruption struct {
	// LegacyNodeRepair terminates unhealthy nodes forcefully, whatever their budgets.
	LegacyNodeRepair bool `name:"legacy-node-repair" envvar:"LEGACY_NODE_REPAIR" group:"Features" help:"With the feature gate NodeRepair, terminate unhealthy nodes forcefully and outside of budgets, as before version 1.15 of upstream."`
}

// Scheduling tunes batching and simulation.
type Scheduling struct {
	// BatchMaxDuration is the longest a batch of pods stays open; a nomination lasts max(2 × this, 10 s).
	BatchMaxDuration time.Duration `name:"batch-max-duration" envvar:"BATCH_MAX_DURATION" group:"Scheduling" default:"10s" help:"Longest time a batch of pending pods stays open."`
	// BatchIdleDuration closes a batch after this much quiet.
	BatchIdleDuration time.Duration `name:"batch-idle-duration" envvar:"BATCH_IDLE_DURATION" group:"Scheduling" default:"1s" help:"Quiet time after which a batch closes."`
	// PreferencePolicy is what may be launched for preferred affinities and ScheduleAnyway spread constraints.
	PreferencePolicy PreferencePolicy `name:"preference-policy" envvar:"PREFERENCE_POLICY" group:"Scheduling" default:"Respect" help:"What soft affinities and ScheduleAnyway spread may cost: additional nodes (Respect), no additional node (Economical), or nothing (Ignore)."`
	// MinValuesPolicy is the treatment of minValues that cannot be met.
	MinValuesPolicy MinValuesPolicy `name:"min-values-policy" envvar:"MIN_VALUES_POLICY" group:"Scheduling" default:"Strict" help:"When minValues cannot be met, fail (Strict) or relax (BestEffort)."`
	// ConsolidateAfterScope is what consolidateAfter protects.
	ConsolidateAfterScope ConsolidateAfterScope `name:"consolidate-after-scope" envvar:"CONSOLIDATE_AFTER_SCOPE" group:"Scheduling" default:"SourceAndDestination" help:"What a node is spared within its consolidateAfter: being consolidated (Source), and receiving pods of consolidated nodes as well (SourceAndDestination)."`
	// IgnoreDRARequests rejects pods with resource claims instead of simulating their allocation.
	IgnoreDRARequests bool `name:"ignore-dra-requests" envvar:"IGNORE_DRA_REQUESTS" group:"Scheduling" default:"true" help:"Reject pods with resource claims (${default}); =false simulates their allocation."`
	// PodGroups is whether the pods of PodGroups are placed together.
	PodGroups PodGroupPolicy `name:"pod-groups" envvar:"POD_GROUPS" group:"Scheduling" default:"Auto" help:"Place the pods of a PodGroup together if the API server serves PodGroups at start (Auto), or place each pod as if it had no group (Ignore)."`
	// Config is the scheduler configuration document.
	Config SchedulerConfig `name:"scheduler-config" envvar:"SCHEDULER_CONFIG" group:"Scheduling" placeholder:"YAML" help:"Scheduler configuration as YAML or JSON text: podTopologySpread.defaultConstraints."`
}

// NominationWindow is how long a node that is nominated for a pod is protected from disruption.
func (s Scheduling) NominationWindow() time.Duration {
	return max(2*s.BatchMaxDuration, 10*time.Second)
}

// KWOK configures the simulated provider.
type KWOK struct {
	// InstanceTypesFilePath is a JSON catalogue that replaces the chosen one; empty means none.
	InstanceTypesFilePath string `name:"instance-types-file-path" envvar:"INSTANCE_TYPES_FILE_PATH" group:"Cloud provider" placeholder:"FILE" help:"kwok: JSON file with instance types that replaces the catalog."`
	// Catalog is "generic" or "<cloud>/<region>".
	Catalog string `name:"catalog" envvar:"CATALOG" group:"Cloud provider" default:"generic" help:"kwok: built-in catalog of instance types: generic, or CLOUD/REGION for those of a region."`
}

// PodGroupPolicy is whether PodGroups count.
type PodGroupPolicy string

// The policies for PodGroups.
const (
	// PodGroupsAuto places pods of PodGroups together if the API server serves PodGroups.
	PodGroupsAuto PodGroupPolicy = "Auto"
	// PodGroupsIgnore places pods as if they had no groups.
	PodGroupsIgnore PodGroupPolicy = "Ignore"
)

// PreferencePolicy is what may be launched for preferred scheduling terms.
type PreferencePolicy string

// ConsolidateAfterScope is what a node is spared within the consolidateAfter of its pool.
type ConsolidateAfterScope string

// MinValuesPolicy is the treatment of requirements whose minValues cannot be met.
type MinValuesPolicy string

// LogLevel is the least severe level that is logged; empty means info.
type LogLevel string

// CloudProvider is the name of a cloud adapter.
type CloudProvider string

// The values of the closed sets.
const (
	PreferenceRespect    PreferencePolicy = "Respect"
	PreferenceEconomical PreferencePolicy = "Economical"
	PreferenceIgnore     PreferencePolicy = "Ignore"

	ConsolidateAfterSource               ConsolidateAfterScope = "Source"
	ConsolidateAfterSourceAndDestination ConsolidateAfterScope = "SourceAndDestination"

	MinValuesStrict     MinValuesPolicy = "Strict"
	MinValuesBestEffort MinValuesPolicy = "BestEffort"

	LogLevelDebug LogLevel = "debug"
	LogLevelInfo  LogLevel = "info"
	LogLevelError LogLevel = "error"
)

// CloudProviderKWOK is the simulated provider, which is the default.
const CloudProviderKWOK CloudProvider = "kwok"
