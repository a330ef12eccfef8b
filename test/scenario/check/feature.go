package check

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// scheduler is the version of kube-scheduler whose rules about declared features hold.
var scheduler = version.MustParseGeneric("1.37.0")

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
	for _, pod := range pods {
		match, err := nodedeclaredfeatures.DefaultFramework.MatchNode(neededFeatures(pod), node)
		if err != nil {
			panic(err) // the node exists
		}
		if !match.IsMatch {
			j.fail("pod %s needs features that %s does not declare: %s", pod.Name, node.Name, strings.Join(match.UnsatisfiedRequirements, ", "))
		}
	}
}
