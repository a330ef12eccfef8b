package problem

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/prediction"
)

// resizedPods are the pods of the candidates that come back with other requests, by UID, as they will be: autoscalers change
// the requests of the pods of their workloads when they are created, so that a pod that fits elsewhere now may not fit after
// its move.
func (b Builder) resizedPods(ctx context.Context, candidates []disrupt.Candidate) (map[string]*model.Pod, error) {
	if b.Predictions == nil || b.Predictions.Empty() {
		return nil, nil
	}
	out := map[string]*model.Pod{}
	for _, candidate := range candidates {
		pods, err := b.Reader.PodsOn(ctx, candidate.Node.NodeName)
		if err != nil {
			return nil, fmt.Errorf("listing the pods of node %q: %w", candidate.Node.NodeName, err)
		}
		for _, pod := range pods {
			if next := resized(pod, b.Predictions); next != nil {
				out[string(next.UID)] = b.Pods.Translate(next)
			}
		}
	}
	return out, nil
}

// resized is the pod as its workload makes it next; nil when that is as it is.
func resized(pod *corev1.Pod, predictions *prediction.Store) *corev1.Pod {
	containers := predictions.Of(workload(pod))
	if len(containers) == 0 {
		return nil
	}
	var out *corev1.Pod
	for i := range pod.Spec.Containers {
		predicted, ok := containers[pod.Spec.Containers[i].Name]
		if !ok {
			continue
		}
		if out == nil {
			out = pod.DeepCopy()
			out.Status.ContainerStatuses = nil // the new pod has no allocated resources yet
		}
		into := &out.Spec.Containers[i].Resources
		if into.Requests == nil {
			into.Requests = corev1.ResourceList{}
		}
		for name, amount := range predicted.Requests {
			into.Requests[name] = amount
		}
		if predicted.StartupCPU != nil {
			into.Requests[corev1.ResourceCPU] = *predicted.StartupCPU
		}
	}
	return out
}

// workload is what autoscalers name as their target: the owner of the pod, or for a ReplicaSet of a Deployment the Deployment.
func workload(pod *corev1.Pod) prediction.Target {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return prediction.Target{}
	}
	t := prediction.Target{Namespace: pod.Namespace, APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name}
	hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	if name, cut := strings.CutSuffix(owner.Name, "-"+hash); owner.Kind == "ReplicaSet" && hash != "" && cut {
		t.Kind, t.Name = "Deployment", name
	}
	return t
}
