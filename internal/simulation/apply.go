package simulation

import (
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/manifest"
)

// Apply returns the objects of a cluster after manifests were applied to it. Manifests replace objects of the same name; a
// workload gets missing pods, and no pods are removed. Statuses are those of WithStatus. Other objects of the cluster stay as they are: its pods
// were admitted and scheduled there.
func Apply(cluster, manifests []client.Object) []client.Object {
	if len(manifests) == 0 {
		return cluster
	}
	manifests = WithStatus(cluster, manifests)
	described := map[string]bool{}
	for _, o := range manifests {
		described[identityOf(o)] = true
	}
	var kept, context []client.Object
	pods := map[Owner]int{}
	there := map[string]bool{}
	for _, o := range cluster {
		switch pod, isPod := o.(*corev1.Pod); {
		case described[identityOf(o)]:
		case isPod:
			kept = append(kept, o)
			there[identityOf(o)] = true
			if !podrules.Terminal(pod) {
				pods[workloadOf(pod)]++
			}
		case unaffected(o):
			kept = append(kept, o)
		default: // classes and the like, which manifests may refer to
			context = append(context, o)
		}
	}
	unrolled := workloads(manifests)
	for _, o := range manifest.Expand(slices.Concat(context, manifests)) {
		pod, isPod := o.(*corev1.Pod)
		if isPod && !described[identityOf(o)] && fromOneOf(unrolled, pod) {
			owner := workloadOf(pod)
			if pods[owner] > 0 {
				pods[owner]--
				continue
			}
			if there[identityOf(o)] {
				continue
			}
		}
		kept = append(kept, o)
	}
	return kept
}

// WithStatus returns manifests as the API server stores them in a cluster: applying one does not change the status of the object of that name. A
// manifest that has a status keeps it, except for node classes.
func WithStatus(cluster, manifests []client.Object) []client.Object {
	there := map[string]client.Object{}
	for _, o := range cluster {
		there[identityOf(o)] = o
	}
	out := slices.Clone(manifests)
	for i, o := range out {
		before, ok := there[identityOf(o)]
		if !ok || reflect.TypeOf(before) != reflect.TypeOf(o) {
			continue
		}
		if free, ok := o.(*unstructured.Unstructured); ok {
			out[i] = withStatusOf(before.(*unstructured.Unstructured), free) //nolint:forcetypeassert // the types are equal
			continue
		}
		if status := reflect.ValueOf(o).Elem().FieldByName("Status"); !status.IsValid() || !status.IsZero() && !isNodeClass(o) {
			continue
		}
		kept := o.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of the object
		from := before.DeepCopyObject()
		reflect.ValueOf(kept).Elem().FieldByName("Status").Set(reflect.ValueOf(from).Elem().FieldByName("Status"))
		out[i] = kept
	}
	return out
}

// isNodeClass reports whether an object is a node class. The definition of one may give a status to manifests without any.
func isNodeClass(o client.Object) bool {
	switch o.(type) {
	case *v1.NodePool, *v1.NodeClaim:
		return false
	}
	_, class := o.(cloud.NodeClassObject)
	return class
}

// withStatusOf is a manifest with the status of the object in the cluster, unless it has one.
func withStatusOf(before, manifest *unstructured.Unstructured) *unstructured.Unstructured {
	status, there := before.Object["status"]
	if _, given := manifest.Object["status"]; given || !there {
		return manifest
	}
	out := manifest.DeepCopy()
	out.Object["status"] = runtime.DeepCopyJSONValue(status)
	return out
}

// identityOf names an object; no two objects of a cluster have the same name.
func identityOf(o client.Object) string {
	return o.GetObjectKind().GroupVersionKind().GroupKind().String() + "/" + o.GetNamespace() + "/" + o.GetName()
}

// unaffected reports whether an object of a cluster has no influence on how manifests are expanded. Workloads of a cluster
// have their pods.
func unaffected(o client.Object) bool {
	switch o.(type) {
	case *corev1.Node, *v1.NodeClaim, *appsv1.Deployment, *appsv1.ReplicaSet, *appsv1.StatefulSet, *batchv1.Job, *corev1.ReplicationController:
		return true
	}
	return false
}

// workloadOf names the workload of a pod. A Deployment and a ReplicaSet of the same name are the same: pods that are
// expanded from a Deployment are owned by a ReplicaSet.
func workloadOf(pod *corev1.Pod) Owner {
	owner := OwnerOf(pod)
	if owner.Kind == "ReplicaSet" {
		owner.Kind = "Deployment"
	}
	return owner
}

// workloads are the UIDs of the workloads among objects that are expanded to pods.
func workloads(objects []client.Object) map[types.UID]bool {
	out := map[types.UID]bool{}
	for _, o := range objects {
		if unaffected(o) {
			out[o.GetUID()] = true
		}
	}
	return out
}

func fromOneOf(workloads map[types.UID]bool, pod *corev1.Pod) bool {
	controller := metav1.GetControllerOf(pod)
	return controller != nil && workloads[controller.UID]
}
