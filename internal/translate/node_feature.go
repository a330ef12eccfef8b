package translate

import (
	"encoding/binary"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// nodeFeature is a feature that kubelets declare in the status of their nodes, and that kube-scheduler may require of the node of a pod.
type nodeFeature struct {
	name string
	// first is the first minor version whose kube-scheduler knows the feature, last the last one that requires it; 0 for no last one yet:
	// once every supported kubelet has a feature, it is no longer looked at.
	first, last int
	// declared is the first minor version of the kubelet that declares it by default; 0 if none does, because its gate is off or because
	// it depends on the container runtime.
	declared int
	// needed reports whether a pod needs it to be scheduled; nil for features that only matter for updates of running pods.
	needed func(*corev1.PodSpec) bool
}

// nodeFeatures is the registry of kube-scheduler, sorted by name. A feature of another minor version is another row; a test compares the
// table with the library that kube-scheduler uses. Source: KEP-5328, node declared features.
var nodeFeatures = []nodeFeature{ //nolint:gochecknoglobals // a constant
	{name: "DRANodeAllocatableResources", first: 37},
	{name: "DRAOptionalNodeOperations", first: 37},
	{name: "ExtendWebSocketsToKubelet", first: 36},
	{name: "GuaranteedQoSPodCPUResize", first: 35, last: 35},
	{name: "InPlacePodLevelResourcesVerticalScaling", first: 35},
	{name: "InPlacePodVerticalScalingInitContainers", first: 36},
	{name: "InPlacePodVerticalScalingMemoryBackedVolumes", first: 37},
	{name: "RestartAllContainersOnContainerExits", first: 35, declared: 36, needed: restartsAllContainers},
	{name: "UserNamespacesHostNetworkSupport", first: 36, needed: mapsUsersOnHostNetwork},
	{name: "VolumeBindMountOptions", first: 37, needed: hasBindMountOptions},
}

// requiredBy reports whether kube-scheduler of a minor version looks at the feature.
func (f *nodeFeature) requiredBy(minor int) bool {
	return f.needed != nil && f.first <= minor && (f.last == 0 || minor <= f.last)
}

// defaultNodeFeatures are the features that pods may need and that a kubelet of a minor version declares by default, sorted.
func defaultNodeFeatures(kubelet int) []string {
	var out []string
	for i := range nodeFeatures {
		if f := &nodeFeatures[i]; f.needed != nil && f.declared != 0 && f.declared <= kubelet && (f.last == 0 || kubelet <= f.last) {
			out = append(out, f.name)
		}
	}
	return out
}

// neededFeatures is the rows of nodeFeatures that a pod needs, as a set of bits: the spec cache compares them for every pod.
func (x *podSpecs) neededFeatures(spec *corev1.PodSpec) uint64 {
	var out uint64
	for _, i := range x.features {
		if nodeFeatures[i].needed(spec) {
			out |= 1 << i
		}
	}
	return out
}

// featureNames are the names of a set of rows; nil for none.
func featureNames(set uint64) []string {
	var out []string
	for i := range nodeFeatures {
		if set&(1<<i) != 0 {
			out = append(out, nodeFeatures[i].name)
		}
	}
	return out
}

func appendFeatures(b []byte, set uint64) []byte { return binary.AppendUvarint(b, set) }

// featuresRequiredBy are the rows that kube-scheduler of a minor version looks at.
func featuresRequiredBy(minor int) []int {
	var out []int
	for i := range nodeFeatures {
		if nodeFeatures[i].requiredBy(minor) {
			out = append(out, i)
		}
	}
	return out
}

func restartsAllContainers(spec *corev1.PodSpec) bool {
	for _, list := range [...][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			if slices.ContainsFunc(list[i].RestartPolicyRules, restartsAll) {
				return true
			}
		}
	}
	return false
}

func restartsAll(rule corev1.ContainerRestartRule) bool {
	return rule.Action == corev1.ContainerRestartRuleActionRestartAllContainers
}

func mapsUsersOnHostNetwork(spec *corev1.PodSpec) bool {
	return spec.HostNetwork && spec.HostUsers != nil && !*spec.HostUsers
}

func hasBindMountOptions(spec *corev1.PodSpec) bool {
	optional := func(m corev1.VolumeMount) bool { return len(m.BindMountOptions) > 0 }
	for _, list := range [...][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			if slices.ContainsFunc(list[i].VolumeMounts, optional) {
				return true
			}
		}
	}
	return slices.ContainsFunc(spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool {
		return slices.ContainsFunc(c.VolumeMounts, optional)
	})
}

// lockedMinor is the first minor version of kube-scheduler that always looks at declared features. In earlier ones that is a feature gate.
const lockedMinor = 37

// RequiresFeatures reports whether kube-scheduler keeps pods off nodes that do not declare the features that they need: in the versions in
// which a feature gate decides that, as soon as a kubelet has declared some.
func (t *Translator) RequiresFeatures(snapshot *model.Snapshot) bool {
	if t.minor >= lockedMinor || len(t.specs.features) == 0 {
		return t.minor >= lockedMinor
	}
	for _, n := range snapshot.Nodes.All() {
		if len(n.NodeFeatures) > 0 {
			return true
		}
	}
	return false
}

// ExpectedFeatures returns the features that the next node of a pool is expected to declare, and the CSI drivers that it is expected to
// lack: those of the newest nodes of the pool, else those of the newest nodes of its node class, else what kubelets declare by default.
func (t *Translator) ExpectedFeatures(pool *v1.NodePool, learned model.LearnedFeatures) (features, lackedDrivers []string) {
	if known, ok := learned.Pools[pool.Name]; ok && (known.Hash == "" || known.Hash == t.hashes.of(pool)) {
		return known.NodeFeatures, known.LackedDrivers
	}
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
		if known, ok := learned.Classes[v1.NodeClassLabelKey(ref.Group, ref.Kind)+"="+ref.Name]; ok {
			return known.NodeFeatures, known.LackedDrivers
		}
	}
	kubelet := learned.Kubelet
	if kubelet == 0 {
		kubelet = t.minor
	}
	return defaultNodeFeatures(kubelet), nil
}
