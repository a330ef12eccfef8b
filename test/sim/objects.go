package sim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// bufferCPU is what a replica of the capacity buffer requests.
const bufferCPU = "2"

// pools are the NodePools of the scene.
func (u *User) pools(expires bool) []*v1.NodePool {
	s := &u.scene
	budgets := []v1.Budget{{Nodes: fmt.Sprintf("%d%%", s.Budget)}}
	p := newPool("default")
	p.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{Duration: ptr.To(s.ConsolidateAfter)}
	p.Spec.Disruption.Budgets = budgets
	if s.WhenEmpty {
		p.Spec.Disruption.ConsolidationPolicy = v1.ConsolidationPolicyWhenEmpty
	}
	switch {
	case s.ExpireAfter > 0:
		p.Spec.Template.Spec.ExpireAfter = v1.NillableDuration{Duration: ptr.To(s.ExpireAfter)}
	case expires:
		p.Spec.Template.Spec.ExpireAfter = v1.NillableDuration{Duration: ptr.To(6 * time.Hour)}
	}
	if s.Grace > 0 {
		p.Spec.Template.Spec.TerminationGracePeriod = &metav1.Duration{Duration: s.Grace}
	}
	if s.Nodes > 0 {
		p.Spec.Limits = v1.Limits{v1.ResourceNodes: *resource.NewQuantity(int64(s.Nodes), resource.DecimalSI)}
	}
	out := []*v1.NodePool{p}
	for n := range s.Pools {
		further := p.DeepCopy()
		further.Name = fmt.Sprintf("further-%d", n+1)
		further.Spec.Weight = ptr.To(int32(min(10*(n+1), 100))) //nolint:gosec // small
		further.Spec.Limits = v1.Limits{v1.ResourceNodes: *resource.NewQuantity(3, resource.DecimalSI)}
		out = append(out, further)
	}
	if s.Static > 0 {
		fixed := newPool("fixed")
		fixed.Spec.Replicas = ptr.To(int64(s.Static))
		fixed.Spec.Disruption.Budgets = budgets
		fixed.Spec.Template.Spec.ExpireAfter = p.Spec.Template.Spec.ExpireAfter
		fixed.Spec.Template.Spec.TerminationGracePeriod = p.Spec.Template.Spec.TerminationGracePeriod
		if s.StaticLimit > 0 {
			fixed.Spec.Limits = v1.Limits{v1.ResourceNodes: *resource.NewQuantity(int64(s.StaticLimit), resource.DecimalSI)}
		}
		out = append(out, fixed)
	}
	return out
}

// extras are the further objects of the scene.
func (u *User) extras() []client.Object {
	s := &u.scene
	out := []client.Object{&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: storageClass}, Provisioner: volumeDriver}}
	if s.Buffer > 0 {
		name := "spare"
		out = append(out, &corev1.PodTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "c", Image: "pause",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(bufferCPU)}},
			}}}},
		}, &v1beta1.CapacityBuffer{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec:       v1beta1.CapacityBufferSpec{PodTemplateRef: &v1beta1.LocalObjectRef{Name: name}, Replicas: ptr.To(int32(s.Buffer))}, //nolint:gosec // small
		})
	}
	if s.Frozen || s.Cap != "" {
		p := &opsv1alpha1.OperationsPolicy{ObjectMeta: metav1.ObjectMeta{Name: "restrict"}}
		if s.Frozen {
			p.Spec.Freeze = &opsv1alpha1.Freeze{Until: metav1.NewTime(time.Now().Add(100 * 24 * time.Hour)), Why: "a sale"}
		}
		if s.Cap != "" {
			p.Spec.Caps = &opsv1alpha1.Caps{Cluster: ptr.To(s.Cap)}
		}
		out = append(out, p)
	}
	return out
}

// editStatic changes the replicas of static pools.
func (u *User) editStatic() {
	for _, p := range All[v1.NodePool](u.cluster.API) {
		if p.Spec.Replicas == nil {
			continue
		}
		p = p.DeepCopy()
		p.Spec.Replicas = ptr.To(int64(u.draw(2 * u.scene.Static)))
		_ = u.cluster.API.update(p, "")
	}
}
