package disruption

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/prediction"
)

// grown are the pods of the candidates that come back in another size, by UID, as they will be: autoscalers change what the
// pods of their workloads ask for when they are made, so that a pod that fits elsewhere now may not after its move.
func (c *Controller) resizedPods(ctx context.Context, candidates []disrupt.Candidate) (map[string]*model.Pod, error) {
	if c.Predictions == nil || c.Predictions.Empty() {
		return nil, nil
	}
	out := map[string]*model.Pod{}
	for _, candidate := range candidates {
		var list corev1.PodList
		if err := c.Client.List(ctx, &list, client.MatchingFields{nodelookup.PodNode: candidate.Node.NodeName}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing the pods of node %q: %w", candidate.Node.NodeName, err)
		}
		for i := range list.Items {
			if next := resized(&list.Items[i], c.Predictions); next != nil {
				out[string(next.UID)] = c.Store.Translate(next)
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
			out.Status.ContainerStatuses = nil // what it has got is what the one that goes has got
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
