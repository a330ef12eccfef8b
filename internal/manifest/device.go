package manifest

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// claimTemplates are those described, and the resource claims that are described or made already, by namespace/name.
type claimTemplates struct {
	templates map[string]*resourcev1.ResourceClaimTemplate
	claims    map[string]bool
}

func newClaimTemplates() claimTemplates {
	return claimTemplates{templates: map[string]*resourcev1.ResourceClaimTemplate{}, claims: map[string]bool{}}
}

func (t claimTemplates) collect(o client.Object) {
	switch o := o.(type) {
	case *resourcev1.ResourceClaimTemplate:
		t.templates[o.Namespace+"/"+o.Name] = o
	case *resourcev1.ResourceClaim:
		t.claims[o.Namespace+"/"+o.Name] = true
	}
}

// resourceClaims creates the resource claims of a pod from templates, called <pod>-<reference>, and adds them to the status of the pod.
// Existing entries of the status stay.
func (e *expansion) resourceClaims(pod *corev1.Pod) {
	told := map[string]bool{}
	for _, s := range pod.Status.ResourceClaimStatuses {
		told[s.Name] = true
	}
	for _, ref := range pod.Spec.ResourceClaims {
		if ref.ResourceClaimTemplateName == nil || told[ref.Name] {
			continue
		}
		template, ok := e.devices.templates[pod.Namespace+"/"+*ref.ResourceClaimTemplateName]
		if !ok {
			continue
		}
		name, is := pod.Name+"-"+ref.Name, true
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: ref.Name, ResourceClaimName: &name})
		if e.devices.claims[pod.Namespace+"/"+name] {
			continue
		}
		e.devices.claims[pod.Namespace+"/"+name] = true
		made := template.DeepCopy()
		e.out = append(e.out, &resourcev1.ResourceClaim{
			TypeMeta: metav1.TypeMeta{APIVersion: resourcev1.SchemeGroupVersion.String(), Kind: "ResourceClaim"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: pod.Namespace, Name: name, UID: uidOf("resourceclaim", pod.Namespace, name),
				Labels: made.Spec.Labels, Annotations: made.Spec.Annotations,
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &is, BlockOwnerDeletion: &is,
				}},
			},
			Spec: made.Spec.Spec,
		})
	}
}
