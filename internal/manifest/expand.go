package manifest

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Expand returns the objects of a cluster after the objects were applied, before any pod was scheduled: workloads
// have their pods (DaemonSets excepted: theirs come with nodes), pods are admitted and have their volume and resource claims,
// claims and volumes that name each other are bound, nodes have their allocatable. Pods of a workload that are in the manifest
// count towards its replicas. The objects passed in are not changed.
//
// Generated pods are called <workload>-1, <workload>-2 and so on; those of a StatefulSet count from 0.
func Expand(objects []client.Object) []client.Object {
	e := expansion{
		classes: classes{priority: map[string]*schedulingv1.PriorityClass{}, runtime: map[string]*nodev1.RuntimeClass{}},
		storage: storage{claims: map[string]bool{}},
		devices: newClaimTemplates(),
		owned:   map[owner]int{},
	}
	for _, o := range objects {
		e.collect(o)
	}
	for _, o := range objects {
		e.add(o)
	}
	return e.out
}

// owner names a workload.
type owner struct{ kind, namespace, name string }

type expansion struct {
	classes classes
	storage storage
	devices claimTemplates
	// owned counts the children of each workload that are in the manifest.
	owned map[owner]int
	out   []client.Object
}

// collect records the objects that other objects refer to.
func (e *expansion) collect(o client.Object) {
	switch o := o.(type) {
	case *schedulingv1.PriorityClass:
		e.classes.priority[o.Name] = o
	case *nodev1.RuntimeClass:
		e.classes.runtime[o.Name] = o
	}
	e.storage.collect(o)
	e.devices.collect(o)
	if controller := metav1.GetControllerOf(o); controller != nil {
		e.owned[owner{controller.Kind, o.GetNamespace(), controller.Name}]++
	}
}

func (e *expansion) add(o client.Object) {
	o, _ = o.DeepCopyObject().(client.Object)
	e.out = append(e.out, o)
	switch o := o.(type) {
	case *corev1.Pod:
		e.classes.admit(o)
		e.ephemeralClaims(o)
		e.resourceClaims(o)
	case *schedulingv1beta1.PodGroup:
		e.classes.admitGroup(o)
	case *corev1.PersistentVolumeClaim:
		e.storage.admit(o)
	case *storagev1.StorageClass:
		admitClass(o)
	case *corev1.Node:
		if o.Status.Allocatable == nil {
			o.Status.Allocatable = o.Status.Capacity.DeepCopy()
		}
	case *appsv1.Deployment:
		// A ReplicaSet in the manifest replaces the pods of its Deployment.
		if e.owned[owner{"Deployment", o.Namespace, o.Name}] == 0 {
			e.workload(o, "ReplicaSet", o.Spec.Template, wanted(o.Spec.Replicas))
		}
	case *appsv1.ReplicaSet:
		e.workload(o, "ReplicaSet", o.Spec.Template, wanted(o.Spec.Replicas))
	case *appsv1.StatefulSet:
		e.workload(o, "StatefulSet", o.Spec.Template, wanted(o.Spec.Replicas))
	case *corev1.ReplicationController:
		if o.Spec.Template != nil {
			e.workload(o, "ReplicationController", *o.Spec.Template, wanted(o.Spec.Replicas))
		}
	case *batchv1.Job:
		e.workload(o, "Job", o.Spec.Template, wantedByJob(o))
	}
}

func wanted(replicas *int32) int {
	if replicas == nil {
		return 1
	}
	return int(*replicas)
}

// wantedByJob returns how many pods of a job run in parallel when it starts.
func wantedByJob(job *batchv1.Job) int {
	n := wanted(job.Spec.Parallelism)
	switch {
	case job.Spec.Suspend != nil && *job.Spec.Suspend:
		return 0
	case job.Spec.Completions != nil:
		return min(n, int(*job.Spec.Completions))
	}
	return n
}

// workload adds the pods of o that are not in the manifest. kind is that of the pods' controller.
func (e *expansion) workload(o client.Object, kind string, template corev1.PodTemplateSpec, replicas int) {
	apiVersion := o.GetObjectKind().GroupVersionKind().GroupVersion().String()
	first := 1
	if kind == "StatefulSet" {
		first = 0
	}
	is := true
	described := e.owned[owner{kind, o.GetNamespace(), o.GetName()}]
	for i := first + described; i < first+replicas; i++ {
		pod := &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace:         o.GetNamespace(),
				Name:              o.GetName() + "-" + strconv.Itoa(i),
				UID:               uidOf("pod", o.GetNamespace(), o.GetName(), fmt.Sprintf("%06d", i)),
				CreationTimestamp: o.GetCreationTimestamp(),
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: apiVersion, Kind: kind, Name: o.GetName(), UID: o.GetUID(), Controller: &is, BlockOwnerDeletion: &is,
				}},
			},
			Spec: *template.Spec.DeepCopy(),
		}
		pod.Labels = template.DeepCopy().Labels
		pod.Annotations = template.DeepCopy().Annotations
		e.classes.admit(pod)
		e.out = append(e.out, pod)
		if set, ok := o.(*appsv1.StatefulSet); ok {
			e.statefulClaims(set, pod, i)
		}
		e.ephemeralClaims(pod)
		e.resourceClaims(pod)
	}
}
