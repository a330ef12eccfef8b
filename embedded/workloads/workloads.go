// Package workloads does the tasks of kube-controller-manager that give a cluster in memory its pods: Deployments, ReplicaSets, StatefulSets,
// DaemonSets, Jobs, and the status of PodDisruptionBudgets.
//
// What it does not do: ReplicationControllers and CronJobs; adoption of pods, ReplicaSets and ControllerRevisions that have no owner; pausing and
// progress deadlines of Deployments; minReadySeconds; claims from the volumeClaimTemplates of StatefulSets, and partitions of their updates;
// indexes, failure policies, deadlines and suspension of Jobs.
package workloads

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/embedded/view"
)

// Step does what is due now. What it writes may make something else due: call it again until it writes nothing.
func Step(v *view.View) error {
	v = v.As("kube-controller-manager")
	for _, step := range []func(*view.View) error{deployments, replicaSets, statefulSets, daemonSets, jobs, budgets} {
		if err := step(v); err != nil {
			return err
		}
	}
	return nil
}

// podsByOwner are the pods of each controller, by its UID.
func podsByOwner(v *view.View) (map[types.UID][]*corev1.Pod, error) {
	pods, err := view.List[corev1.Pod](v)
	if err != nil {
		return nil, err
	}
	out := map[types.UID][]*corev1.Pod{}
	for _, pod := range pods {
		if owner := metav1.GetControllerOf(pod); owner != nil {
			out[owner.UID] = append(out[owner.UID], pod)
		}
	}
	return out, nil
}

// active: the pod neither is over nor being deleted.
func active(pod *corev1.Pod) bool { return !over(pod) && pod.DeletionTimestamp == nil }

func over(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// filter returns the pods of which keep is true.
func filter(pods []*corev1.Pod, keep func(*corev1.Pod) bool) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range pods {
		if keep(pod) {
			out = append(out, pod)
		}
	}
	return out
}

func count(pods []*corev1.Pod, what func(*corev1.Pod) bool) int32 {
	return int32(len(filter(pods, what))) //nolint:gosec // pods of one workload
}

// newPod is a pod of a template. Without a name it gets one from the owner's.
func newPod(owner client.Object, gvk schema.GroupVersionKind, template *corev1.PodTemplateSpec, name string) *corev1.Pod {
	t := template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: name, Labels: t.Labels, Annotations: t.Annotations, Finalizers: t.Finalizers,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, gvk)},
		},
		Spec: t.Spec,
	}
	if name == "" {
		pod.GenerateName = owner.GetName() + "-"
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	return pod
}

// templateHash distinguishes pod templates.
func templateHash(template *corev1.PodTemplateSpec) (string, error) {
	text, err := json.Marshal(template)
	if err != nil {
		return "", fmt.Errorf("hashing a pod template: %w", err)
	}
	hash := fnv.New32a()
	_, _ = hash.Write(text)
	return rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10)), nil
}

// firstToDelete orders pods as the ReplicaSet controller does when there are too many: pods without a node first, then pending ones, those that are
// not ready, the lowest deletion cost, nodes with most pods of the workload, and the newest.
func firstToDelete(pods []*corev1.Pod) []*corev1.Pod {
	onNode := map[string]int{}
	for _, pod := range pods {
		onNode[pod.Spec.NodeName]++
	}
	rank := func(pod *corev1.Pod) []int {
		cost, _ := strconv.Atoi(pod.Annotations[corev1.PodDeletionCost])
		return []int{number(pod.Spec.NodeName != ""), number(pod.Status.Phase != corev1.PodPending), number(ready(pod)), cost, -onNode[pod.Spec.NodeName]}
	}
	out := slices.Clone(pods)
	slices.SortStableFunc(out, func(a, b *corev1.Pod) int {
		return cmp.Or(slices.Compare(rank(a), rank(b)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time))
	})
	return out
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// writeStatus writes a status that has changed.
func writeStatus[S any](v *view.View, changed client.Object, before, now S) error {
	if equality.Semantic.DeepEqual(before, now) {
		return nil
	}
	return v.UpdateStatus(changed)
}

// deleteAll deletes pods, with their own grace periods.
func deleteAll(v *view.View, pods []*corev1.Pod) error {
	for _, pod := range pods {
		if err := v.Delete(pod, nil); err != nil {
			return err
		}
	}
	return nil
}

// atLeastZero is n, or 0 if it is negative.
func atLeastZero(n int32) int32 { return max(n, 0) }

// replicasOf is a number of replicas; one if it is not set.
func replicasOf(n *int32) int32 { return ptr.Deref(n, 1) }
