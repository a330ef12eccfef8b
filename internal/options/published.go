package options

import (
	"maps"
	"strconv"

	"sigs.k8s.io/yaml"
)

// The ConfigMap in which the controller publishes its settings, in its namespace.
const (
	// PublishedName is the name of the ConfigMap.
	PublishedName = "karpenter-settings"
	// PublishedLabel is a label of the ConfigMap, by which it is found in any namespace.
	PublishedLabel = "karpenter.sh/settings"
	// PublishedVersion is the key of the version of the controller.
	PublishedVersion = "version"
	// PublishedCommit is the key of its commit. All other keys are names of flags.
	PublishedCommit = "commit"
)

// Published returns the settings that change plans, for users of the cluster: values by flag, in the form of the command line. of are
// those of the cloud provider. Empty values are left out.
//
// Every setting is named here, so that no flag is published because it was forgotten: the data is readable by all who may read
// ConfigMaps.
func (o *Options) Published(of map[string]string) (map[string]string, error) {
	out := map[string]string{
		"cloud-provider":          string(o.CloudProvider),
		"feature-gates":           o.FeatureGates.String(),
		"preference-policy":       string(o.Scheduling.PreferencePolicy),
		"min-values-policy":       string(o.Scheduling.MinValuesPolicy),
		"consolidate-after-scope": string(o.Scheduling.ConsolidateAfterScope),
		"ignore-dra-requests":     strconv.FormatBool(o.Scheduling.IgnoreDRARequests),
		"pod-groups":              string(o.Scheduling.PodGroups),
		"batch-max-duration":      o.Scheduling.BatchMaxDuration.String(),
		"batch-idle-duration":     o.Scheduling.BatchIdleDuration.String(),
	}
	if o.Scheduling.Config.PodTopologySpread != nil {
		text, err := yaml.Marshal(o.Scheduling.Config)
		if err != nil {
			return nil, err
		}
		out["scheduler-config"] = string(text)
	}
	maps.Copy(out, of)
	maps.DeleteFunc(out, func(_, value string) bool { return value == "" })
	return out, nil
}
