package scenario

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The volumes of random problems: few claims, so that pods share them, and two drivers.
const claimsInRandom = 4

var driversInRandom = []string{"disk.example.com", "share.example.com"}

func claimName(i int) string { return fmt.Sprint("claim-", i) }

// drawVolumes gives a pod up to two claims, or none.
func drawVolumes(t *rapid.T, spec *corev1.PodSpec) {
	if rapid.IntRange(0, 2).Draw(t, "has volumes") > 0 {
		return
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "volumes") {
		name := claimName(rapid.IntRange(0, claimsInRandom-1).Draw(t, "claim"))
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: fmt.Sprint("v", i), VolumeSource: source})
	}
}

// inUse reports whether a pod that runs uses a claim.
func inUse(objects []client.Object, claim string) bool {
	return slices.ContainsFunc(objects, func(o client.Object) bool {
		pod, ok := o.(*corev1.Pod)
		return ok && pod.Spec.NodeName != "" && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
		})
	})
}

// drawStorage is what the claims of a problem are and refer to, and what its nodes can attach. A claim may be missing. One that a running pod
// uses is bound: its volume was created before the pod started.
func drawStorage(t *rapid.T, objects []client.Object) []client.Object {
	late := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"},
		ObjectMeta: metav1.ObjectMeta{Name: "class"}, Provisioner: driversInRandom[0], VolumeBindingMode: &late,
	}
	for range rapid.IntRange(0, 2).Draw(t, "topologies") {
		class.AllowedTopologies = append(class.AllowedTopologies, corev1.TopologySelectorTerm{
			MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{drawZone(t)}}},
		})
	}
	out := []client.Object{class}
	for i := range claimsInRandom {
		claim := &corev1.PersistentVolumeClaim{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: claimName(i)},
		}
		switch kind := rapid.IntRange(0, 6).Draw(t, "kind of claim"); {
		case kind == 0: // missing
			continue
		case kind <= 2 && !inUse(objects, claim.Name):
			claim.Spec.StorageClassName = &class.Name
		default:
			volume := drawVolume(t, fmt.Sprint("volume-", i))
			claim.Spec.VolumeName = volume.Name
			out = append(out, volume)
		}
		if rapid.Bool().Draw(t, "shared") {
			claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		}
		out = append(out, claim)
	}
	for _, o := range objects {
		if node, ok := o.(*corev1.Node); ok && rapid.Bool().Draw(t, "has drivers") {
			out = append(out, drawDrivers(t, node.Name))
		}
	}
	return out
}

func drawZone(t *rapid.T) string {
	return rapid.SampledFrom([]string{"zone-a", "zone-b"}).Draw(t, "zone")
}

func drawVolume(t *rapid.T, name string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	if rapid.IntRange(0, 3).Draw(t, "local") == 0 {
		v.Spec.Local = &corev1.LocalVolumeSource{Path: "/data"}
	} else {
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: rapid.SampledFrom(driversInRandom).Draw(t, "driver"), VolumeHandle: name}
	}
	var terms []corev1.NodeSelectorTerm
	for range rapid.IntRange(0, 2).Draw(t, "terms of the volume") {
		keys := []string{corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelArchStable, teamLabel}
		term := corev1.NodeSelectorTerm{MatchExpressions: drawExpressions(t, keys)}
		if rapid.IntRange(0, 4).Draw(t, "names a host") == 0 {
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
				Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"node-0"},
			})
		}
		terms = append(terms, term)
	}
	if len(terms) > 0 {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	}
	return v
}

func drawDrivers(t *rapid.T, node string) *storagev1.CSINode {
	n := &storagev1.CSINode{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSINode"}, ObjectMeta: metav1.ObjectMeta{Name: node}}
	for _, driver := range driversInRandom {
		count := int32(rapid.IntRange(0, 2).Draw(t, strings.TrimSuffix(driver, ".example.com")+"s"))
		n.Spec.Drivers = append(n.Spec.Drivers, storagev1.CSINodeDriver{Name: driver, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &count}})
	}
	return n
}
