package check

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// claimsOf are the volume claims of a pod that exist; ok is false when one does not.
func (j *judge) claimsOf(pod *corev1.Pod) (list []*corev1.PersistentVolumeClaim, ok bool) {
	ok = true
	for _, v := range pod.Spec.Volumes {
		name := ""
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = pod.Name + "-" + v.Name
		default:
			continue
		}
		i := slices.IndexFunc(j.Objects, func(o client.Object) bool {
			claim, is := o.(*corev1.PersistentVolumeClaim)
			return is && claim.Namespace == pod.Namespace && claim.Name == name
		})
		if i < 0 {
			ok = false
			continue
		}
		claim, _ := j.Objects[i].(*corev1.PersistentVolumeClaim)
		list = append(list, claim)
	}
	return list, ok
}

// object is the object of a kind with this name, or nil.
func object[T client.Object](j *judge, name string) (found T, ok bool) {
	for _, o := range j.Objects {
		if one, is := o.(T); is && o.GetName() == name {
			return one, true
		}
	}
	return found, false
}

// volumesUsable reports whether all volumes of the pod can be used on the node: existing ones by their node affinity, others where their
// storage class provisions volumes.
func (j *judge) volumesUsable(pod *corev1.Pod, node *corev1.Node) bool {
	claims, ok := j.claimsOf(pod)
	if !ok {
		return false
	}
	for _, claim := range claims {
		if claim.Spec.VolumeName != "" {
			volume, exists := object[*corev1.PersistentVolume](j, claim.Spec.VolumeName)
			if !exists || !volumeUsable(volume, node) {
				return false
			}
			continue
		}
		if claim.Spec.StorageClassName == nil {
			return false
		}
		class, exists := object[*storagev1.StorageClass](j, *claim.Spec.StorageClassName)
		if !exists || !classUsable(class, node) {
			return false
		}
	}
	return true
}

// volumeUsable uses the code of Kubernetes. The data of a local volume is lost with its node, so the host name of that node is ignored.
func volumeUsable(volume *corev1.PersistentVolume, node *corev1.Node) bool {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return true
	}
	required := volume.Spec.NodeAffinity.Required.DeepCopy()
	if volume.Spec.Local != nil || volume.Spec.HostPath != nil {
		for i := range required.NodeSelectorTerms {
			term := &required.NodeSelectorTerms[i]
			term.MatchExpressions = slices.DeleteFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
				return r.Key == corev1.LabelHostname
			})
			if term.MatchFields = nil; len(term.MatchExpressions) == 0 {
				return true
			}
		}
	}
	selector, err := nodeaffinity.NewNodeSelector(required)
	return err == nil && selector.Match(node)
}

func classUsable(class *storagev1.StorageClass, node *corev1.Node) bool {
	return len(class.AllowedTopologies) == 0 || slices.ContainsFunc(class.AllowedTopologies, func(term corev1.TopologySelectorTerm) bool {
		return len(term.MatchLabelExpressions) > 0 && !slices.ContainsFunc(term.MatchLabelExpressions, func(r corev1.TopologySelectorLabelRequirement) bool {
			return !slices.Contains(r.Values, node.Labels[r.Key])
		})
	})
}

// driver is the CSI driver that attaches the volume of a claim, or empty.
func (j *judge) driver(claim *corev1.PersistentVolumeClaim) string {
	name := ""
	if claim.Spec.VolumeName != "" {
		volume, _ := object[*corev1.PersistentVolume](j, claim.Spec.VolumeName)
		switch {
		case volume == nil:
		case volume.Spec.CSI != nil:
			name = volume.Spec.CSI.Driver
		case volume.Spec.AWSElasticBlockStore != nil:
			name = "kubernetes.io/aws-ebs"
		}
	} else if claim.Spec.StorageClassName != nil {
		if class, ok := object[*storagev1.StorageClass](j, *claim.Spec.StorageClassName); ok {
			name = class.Provisioner
		}
	}
	if name == "kubernetes.io/aws-ebs" {
		return "ebs.csi.aws.com"
	}
	return name
}

// attached are the claims of pods by driver.
func (j *judge) attached(pods []*corev1.Pod) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, pod := range pods {
		claims, _ := j.claimsOf(pod)
		for _, claim := range claims {
			driver := j.driver(claim)
			if out[driver] == nil {
				out[driver] = map[string]bool{}
			}
			out[driver][claim.Namespace+"/"+claim.Name] = true
		}
	}
	return out
}

// attachments checks the attach limits of a node. Drivers without new volumes are not checked.
func (j *judge) attachments(nodeName string, before, arrivals []*corev1.Pod) {
	node, ok := object[*storagev1.CSINode](j, nodeName)
	if !ok {
		return
	}
	was, is := j.attached(before), j.attached(slices.Concat(before, arrivals))
	for _, driver := range node.Spec.Drivers {
		if driver.Allocatable == nil || driver.Allocatable.Count == nil || maps.Equal(was[driver.Name], is[driver.Name]) {
			continue
		}
		if n, limit := len(is[driver.Name]), int(*driver.Allocatable.Count); n > limit {
			j.fail("%s has %d volumes of %s and can attach %d", nodeName, n, driver.Name, limit)
		}
	}
}
