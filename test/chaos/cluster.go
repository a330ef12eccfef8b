package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// The workloads. Pods of work come and go; the pod of guarded must not be evicted, nor may the pod of still, because its node must not be
// disrupted.
const (
	work    = "work"
	guarded = "guarded"
	still   = "still"

	guardedPods, stillPods, firstPods = 1, 1, 16
)

// budget is how many nodes of the pool may be disrupted at a time.
const budget = 3

// in is a requirement.
func in(key string, values ...string) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

// newPool has nodes of two cores, for one pod, and of four, for three.
func newPool(cloud *cloudSetup) *v1.NodePool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p.Spec.Template.Spec.NodeClassRef = cloud.classRef
	p.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{
		in(corev1.LabelArchStable, "amd64"), in(corev1.LabelOSStable, "linux"), in(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand),
		cloud.sizes,
	}
	p.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(0)
	p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: fmt.Sprint(budget)}}
	return p
}

// The labels in which the clouds write how many cores an instance type has.
const coresLabel, awsCoresLabel = "karpenter.kwok.sh/instance-cpu", "karpenter.k8s.aws/instance-cpu"

// newWorkload is a deployment of pods that request one core.
func newWorkload(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	d.Spec.Replicas = &replicas
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	if name == guarded {
		d.Spec.Template.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
	}
	d.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "app", Image: "registry.k8s.io/pause:3.10",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
	}}
	return d
}
