package check

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// scheduler is the version of kube-scheduler whose rules about declared features hold.
var scheduler = version.MustParseGeneric("1.37.0") //nolint:gochecknoglobals // a constant

// neededFeatures are the features that a node has to declare for the pod.
func neededFeatures(pod *corev1.Pod) nodedeclaredfeatures.FeatureSet {
	needed, err := nodedeclaredfeatures.DefaultFramework.InferForPodScheduling(&nodedeclaredfeatures.PodInfo{Spec: &pod.Spec}, scheduler)
	if err != nil {
		panic(err) // the version is set
	}
	return needed
}

// features checks the features that pods on an existing node need. What a kubelet will declare that has not reported is not known.
func (j *judge) features(node *corev1.Node, claim *v1.NodeClaim, pods []*corev1.Pod) {
	if node == nil || claim != nil && node.Labels[v1.NodeInitializedLabelKey] != "true" {
		return
	}
	csiNode, _ := object[*storagev1.CSINode](j, node.Name)
	for _, pod := range pods {
		for _, driver := range j.requiredDrivers(pod) {
			if csiNode == nil || !slices.ContainsFunc(csiNode.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver }) {
				j.fail("pod %s needs the CSI driver %s, which %s does not have", pod.Name, driver, node.Name)
			}
		}
		match, err := nodedeclaredfeatures.DefaultFramework.MatchNode(neededFeatures(pod), node)
		if err != nil {
			panic(err) // the node exists
		}
		if !match.IsMatch {
			j.fail("pod %s needs features that %s does not declare: %s", pod.Name, node.Name, strings.Join(match.UnsatisfiedRequirements, ", "))
		}
	}
}

// requiredDrivers are the CSI drivers of the pod's existing volumes that have to be installed on its node.
func (j *judge) requiredDrivers(pod *corev1.Pod) []string {
	var out []string
	claims, _ := j.claimsOf(pod)
	for _, claim := range claims {
		pv, ok := object[*corev1.PersistentVolume](j, claim.Spec.VolumeName)
		if !ok || pv.Spec.CSI == nil {
			continue
		}
		driver, ok := object[*storagev1.CSIDriver](j, pv.Spec.CSI.Driver)
		if ok && driver.Spec.PreventPodSchedulingIfMissing != nil && *driver.Spec.PreventPodSchedulingIfMissing {
			out = append(out, driver.Name)
		}
	}
	return out
}
