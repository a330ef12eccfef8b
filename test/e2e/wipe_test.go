package e2e

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	overlayv1 "github.com/karpenter-anew/karpenter/api/v1alpha1"
)

// devicesSince is the first minor version of Kubernetes that serves resource.k8s.io/v1.
const devicesSince = 34

// kindsOfTests lists what tests make on a minor version of Kubernetes, owners before what they own.
func kindsOfTests(minor int) []client.ObjectList {
	out := []client.ObjectList{
		&v1.NodePoolList{}, &overlayv1.NodeOverlayList{}, &opsv1alpha1.OperationsPolicyList{}, &v1beta1.CapacityBufferList{}, &corev1.PodTemplateList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.DaemonSetList{}, &batchv1.JobList{},
		&appsv1.ReplicaSetList{}, &policyv1.PodDisruptionBudgetList{}, &v1.NodeClaimList{}, &corev1.PodList{}, &corev1.NodeList{},
		&corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{}, &storagev1.StorageClassList{}, &storagev1.CSINodeList{},
		&storagev1.VolumeAttachmentList{}, &v1alpha1.KWOKNodeClassList{}, &awsv1.EC2NodeClassList{}, &schedulingv1.PriorityClassList{}, &nodev1.RuntimeClassList{}, &coordinationv1.LeaseList{},
		&corev1.ConfigMapList{}, &corev1.ServiceList{}, &corev1.NamespaceList{}, &corev1.EventList{},
	}
	if minor >= devicesSince {
		out = append(out, &resourcev1.ResourceClaimList{}, &resourcev1.ResourceClaimTemplateList{}, &resourcev1.ResourceSliceList{}, &resourcev1.DeviceClassList{})
	}
	return out
}

// wipe removes all objects of tests, including their finalizers, and returns when none are left. It does not test regular
// deletion: tests of that check it themselves. No controller may run concurrently; it may be suspended.
func (w *harness) wipe() {
	w.t.Helper()
	// Owners are deleted first, so that they recreate nothing; the next round finds objects that were recreated.
	kinds := kindsOfTests(kubernetesMinor(w.t))
	w.await("the cluster is empty", patience, func() string {
		var left []string
		for _, list := range kinds {
			w.list(list)
			objects, err := meta.ExtractList(list)
			if err != nil {
				w.t.Fatal(err)
			}
			withEvents := map[string]bool{}
			for _, o := range objects {
				one, ok := o.(client.Object)
				if !ok || belongsToCluster(one) {
					continue
				}
				left = append(left, fmt.Sprintf("%T %s", one, one.GetName()))
				if _, event := one.(*corev1.Event); event {
					withEvents[one.GetNamespace()] = true
					continue
				}
				w.erase(one)
			}
			for namespace := range withEvents { // they are many: one request deletes all of a namespace
				w.must(w.client.DeleteAllOf(w.ctx, &corev1.Event{}, client.InNamespace(namespace)))
			}
		}
		return strings.Join(left, ", ")
	})
}

// erase deletes an object at once and removes its finalizers.
func (w *harness) erase(o client.Object) {
	w.t.Helper()
	err := w.client.Delete(w.ctx, o, client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err == nil && len(o.GetFinalizers()) > 0 {
		err = w.client.Patch(w.ctx, o, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		w.t.Fatalf("erasing %T %q: %v", o, o.GetName(), err)
	}
}

// belongsToCluster reports whether the control plane itself made an object.
func belongsToCluster(o runtime.Object) bool {
	switch o := o.(type) {
	case *corev1.Namespace:
		return o.Name == metav1.NamespaceDefault || strings.HasPrefix(o.Name, "kube-")
	case *corev1.Service:
		return o.Namespace == metav1.NamespaceDefault && o.Name == "kubernetes"
	case *corev1.ConfigMap: // of each namespace, and of components
		return o.Name == "kube-root-ca.crt" || strings.HasPrefix(o.Namespace, "kube-")
	case *schedulingv1.PriorityClass:
		return strings.HasPrefix(o.Name, "system-")
	case *coordinationv1.Lease:
		return slices.Contains([]string{metav1.NamespaceSystem, corev1.NamespaceNodeLease}, o.Namespace)
	}
	return false
}
