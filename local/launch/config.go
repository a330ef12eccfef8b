package launch

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/local/binaries"
	"github.com/karpenter-anew/karpenter/local/stages"
)

// clusterName is the name of the one cluster in each kwokctl working directory.
const clusterName = "karpenter"

// Names of the processes of a running cluster: the programs are linked into the cluster under these.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	nodeSimulator     = "kwok-controller"
)

func components() []string {
	return []string{etcd, apiServer, controllerManager, scheduler, nodeSimulator}
}

// kwokctlConfig is the part of kwokctl's configuration document that is used here. JSON is written where YAML is read.
type kwokctlConfig struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Options    map[string]any   `json:"options"`
	Patches    []componentPatch `json:"componentsPatches"`
}

type componentPatch struct {
	Name      string     `json:"name"`
	ExtraArgs []extraArg `json:"extraArgs"`
}

type extraArg struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// Override replaces an argument that kwokctl sets itself.
	Override bool `json:"override,omitempty"`
}

// portsNeeded is how many ports writeConfig uses.
const portsNeeded = 6

// configuration returns the configuration of kwokctl: the built programs only (kwokctl would download any that is not named), loopback
// only, RBAC on, no client-side rate limits, and the simulator for nodes marked as fake only.
func configuration(o Options, ports []int) ([]byte, error) {
	cache := o.Cache
	config := kwokctlConfig{
		APIVersion: "config.kwok.x-k8s.io/v1alpha1",
		Kind:       "KwokctlConfiguration",
		Options: map[string]any{
			"runtime":                     "binary",
			"kubeVersion":                 cache.Versions.Kubernetes,
			"components":                  components(),
			"bindAddress":                 "127.0.0.1",
			"securePort":                  true,
			"kubeAuthorization":           true,
			"kubeAdmission":               true,
			"disableQPSLimits":            true,
			"etcdBinary":                  cache.Path(binaries.Etcd),
			"kubeApiserverBinary":         cache.Path(binaries.KubeAPIServer),
			"kubeControllerManagerBinary": cache.Path(binaries.ControllerManager),
			"kubeSchedulerBinary":         cache.Path(binaries.Scheduler),
			"kubectlBinary":               cache.Path(binaries.Kubectl),
			"kwokControllerBinary":        cache.Path(binaries.Kwok),
			"kubeApiserverPort":           ports[0],
			"etcdPort":                    ports[1],
			"etcdPeerPort":                ports[2],
			"kubeControllerManagerPort":   ports[3],
			"kubeSchedulerPort":           ports[4],
			"kwokControllerPort":          ports[5],
		},
		Patches: patches(o),
	}
	if o.FeatureGates != "" {
		config.Options["kubeFeatureGates"] = o.FeatureGates
	}
	if o.RuntimeConfig != "" {
		config.Options["kubeRuntimeConfig"] = o.RuntimeConfig
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the kwokctl configuration: %w", err)
	}
	speed, err := json.MarshalIndent(simulatorSpeed(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the simulator configuration: %w", err)
	}
	behaviour, err := stages.YAML()
	if err != nil {
		return nil, err
	}
	return slices.Concat(text, []byte("\n---\n"), speed, []byte("\n"), behaviour), nil
}

// simulatorConfig is the part of the simulator's configuration document that is used here.
type simulatorConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Options    map[string]any `json:"options"`
}

// simulatorSpeed lets the simulator serve many pods and nodes concurrently, as their kubelets would.
func simulatorSpeed() simulatorConfig {
	return simulatorConfig{
		APIVersion: "config.kwok.x-k8s.io/v1alpha1",
		Kind:       "KwokConfiguration",
		Options: map[string]any{
			"podPlayStageParallelism": 32, "nodePlayStageParallelism": 16, "nodeLeaseParallelism": 16, "podsOnNodeSyncParallelism": 16,
			// Repeats its default: naming any option makes kwokctl write zero values for the others.
			"enablePodsOnNodeSyncListPager": true,
		},
	}
}

func patches(o Options) []componentPatch {
	serving := []extraArg{
		// A host without a default route has no address to advertise, and loopback is refused as an endpoint.
		{Key: "advertise-address", Value: "127.0.0.1"},
		{Key: "endpoint-reconciler-type", Value: "none"},
	}
	if o.ServiceRange != "" {
		serving = append(serving, extraArg{Key: "service-cluster-ip-range", Value: o.ServiceRange})
	}
	if o.Admission != "" {
		serving = append(serving, extraArg{Key: "enable-admission-plugins", Value: o.Admission})
	}
	// A lost lease would end kube-controller-manager and kube-scheduler when the API server is away for some seconds, and there is only one of each.
	controlling := []extraArg{{Key: "leader-elect", Value: "false"}}
	if o.Controllers != "" {
		controlling = append(controlling, extraArg{Key: "controllers", Value: o.Controllers})
	}
	return []componentPatch{
		{Name: etcd, ExtraArgs: []extraArg{
			// The data is temporary: waiting for a slow disk would only distort measurements.
			{Key: "unsafe-no-fsync", Value: "true"},
		}},
		{Name: apiServer, ExtraArgs: serving},
		{Name: controllerManager, ExtraArgs: controlling},
		{Name: scheduler, ExtraArgs: []extraArg{{Key: "leader-elect", Value: "false"}}},
		{Name: nodeSimulator, ExtraArgs: []extraArg{
			{Key: "manage-all-nodes", Value: "false", Override: true},
			{Key: "manage-nodes-with-label-selector", Value: "kwok.x-k8s.io/node=fake"},
		}},
	}
}
