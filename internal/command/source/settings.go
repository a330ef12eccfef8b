package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// Settings are the settings of the controller that change plans, as flags of simulate, explain and diff. For a cluster, those that no flag
// sets are those that its controller publishes there.
type Settings struct {
	PreferencePolicy      options.PreferencePolicy      `name:"preference-policy" envvar:"PREFERENCE_POLICY" default:"Respect" help:"What soft affinities may cost: nodes (Respect), no additional node (Economical), or nothing (Ignore)."`
	MinValuesPolicy       options.MinValuesPolicy       `name:"min-values-policy" envvar:"MIN_VALUES_POLICY" default:"Strict" help:"When minValues cannot be met, fail (Strict) or relax (BestEffort)."`
	ConsolidateAfterScope options.ConsolidateAfterScope `name:"consolidate-after-scope" envvar:"CONSOLIDATE_AFTER_SCOPE" default:"SourceAndDestination" help:"For explain and forecasts, what a node is spared within its consolidateAfter: being consolidated (Source), or receiving pods as well (SourceAndDestination)."`
	SchedulerConfig       options.SchedulerConfig       `name:"scheduler-config" envvar:"SCHEDULER_CONFIG" placeholder:"YAML" help:"Scheduler configuration as YAML or JSON text: podTopologySpread.defaultConstraints."`
	IgnoreDRARequests     bool                          `name:"ignore-dra-requests" envvar:"IGNORE_DRA_REQUESTS" default:"true" help:"Reject pods with resource claims (${default}); =false allocates devices to them."`
	PodGroups             options.PodGroupPolicy        `name:"pod-groups" envvar:"POD_GROUPS" default:"Auto" help:"Place the pods of a PodGroup together (Auto), or each pod as if it had no group (Ignore)."`
	FeatureGates          options.GateChanges           `name:"feature-gates" envvar:"FEATURE_GATES" placeholder:"GATE=BOOL,..." help:"Feature gates to change. ReservedCapacity, NodeOverlay, CapacityBuffer, OperationsPolicy, TaintTolerationComparisonOperators and, for explain and forecasts, StaticCapacity, SpotToSpotConsolidation, NodeRepair, TerminateFirstDrift, TerminateFirstRepair and PodDeletionCostManagement have an effect."`

	ControllerNamespace string `name:"controller-namespace" placeholder:"NAMESPACE" help:"Namespace of the controller whose published settings are used; otherwise all namespaces are searched."`

	Place Place `embed:""`
}

// NewSettings returns settings with the flags of all providers.
func NewSettings(b command.Binary) Settings { return Settings{Place: NewPlace(b)} }

// Simulation returns the options of a simulation.
func (p *Settings) Simulation() simulation.Options {
	return simulation.ControllerOptions(options.Scheduling{
		PreferencePolicy: p.PreferencePolicy, MinValuesPolicy: p.MinValuesPolicy, ConsolidateAfterScope: p.ConsolidateAfterScope,
		Config: p.SchedulerConfig, IgnoreDRARequests: p.IgnoreDRARequests, PodGroups: p.PodGroups,
	}, p.FeatureGates.Apply(assumedGates()))
}

// The flags that name instance types. One of them replaces both settings of the controller.
const (
	catalogFlag = "catalog"
	fileFlag    = "instance-types-file-path"
)

// Adopt sets the flags that the user did not set to what the controller published, and says what is used. objects are those of the cluster; why says
// why there may be no published settings among them, if that is known.
func (p *Settings) Adopt(k *kong.Context, objects []client.Object, why string) (*Origin, error) {
	published, err := publishedSettings(objects, p.ControllerNamespace)
	if err != nil {
		return nil, err
	}
	flags, byUser := settingFlags(k)
	out := &Origin{published: published, why: why, version: p.Place.binary.Version, hasCatalog: byUser[catalogFlag] || byUser[fileFlag]}
	for _, flag := range flags {
		if byUser[flag.Name] {
			out.byUser = append(out.byUser, "--"+flag.Name+"="+flagText(flag.Target))
		}
		if published == nil {
			continue
		}
		if out.hasCatalog && (flag.Name == catalogFlag || flag.Name == fileFlag) {
			if there, here := published.Data[flag.Name], flagText(flag.Target); byUser[flag.Name] && there != here {
				out.differing = append(out.differing, difference(flag.Name, here, there))
			}
			continue
		}
		if err := out.adopt(flag, byUser[flag.Name]); err != nil {
			return nil, err
		}
	}
	if published == nil {
		p.adoptDisabledGates(objects)
		out.assumed = p.AssumedGates(objects)
		return out, nil
	}
	file := published.Data[fileFlag]
	if file != "" && !out.hasCatalog {
		return nil, fmt.Errorf("%s has its instance types from its file %s, which is not part of the cluster: "+
			"give a copy of it with --%s, or a catalog with --%s", out.controller(), file, fileFlag, catalogFlag)
	}
	return out, nil
}

// settingFlags returns the flags of the command that are settings of the controller, by name, and the names of those that the command
// line or the environment sets.
func settingFlags(k *kong.Context) (flags []*kong.Flag, byUser map[string]bool) {
	byUser = map[string]bool{}
	for _, at := range k.Path {
		if at.Flag != nil {
			byUser[at.Flag.Name] = true
		}
	}
	for _, flag := range k.Flags() {
		if flag.Tag.Has("envvar") {
			flags = append(flags, flag)
		}
	}
	slices.SortFunc(flags, func(a, b *kong.Flag) int { return strings.Compare(a.Name, b.Name) })
	return flags, byUser
}

// publishedSettings finds the settings that a controller has published among the objects of a cluster; nil if there are none.
func publishedSettings(objects []client.Object, namespace string) (*corev1.ConfigMap, error) {
	var found *corev1.ConfigMap
	for _, o := range objects {
		settings, ok := o.(*corev1.ConfigMap)
		if !ok || namespace != "" && settings.Namespace != namespace || len(settings.Data) == 0 {
			continue
		}
		if _, marked := settings.Labels[options.PublishedLabel]; !marked {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("controllers have published settings in the namespaces %q and %q: choose one with --controller-namespace, "+
				"and delete the ConfigMap of a controller that does not exist any more", found.Namespace, settings.Namespace)
		}
		found = settings
	}
	if found == nil && namespace != "" {
		return nil, fmt.Errorf("no controller has published settings in namespace %q: give the namespace of the controller, or leave out "+
			"--controller-namespace", namespace)
	}
	return found, nil
}

// ControllerFlags are the settings as flags of a controller, without the default constraints of the scheduler.
func (p *Settings) ControllerFlags() []string {
	out := []string{
		"--preference-policy=" + string(p.PreferencePolicy), "--min-values-policy=" + string(p.MinValuesPolicy),
		"--consolidate-after-scope=" + string(p.ConsolidateAfterScope), fmt.Sprintf("--ignore-dra-requests=%t", p.IgnoreDRARequests),
		"--pod-groups=" + string(p.PodGroups),
	}
	if len(p.FeatureGates) > 0 {
		out = append(out, "--feature-gates="+p.FeatureGates.String())
	}
	return out
}
