package sim

import (
	"cmp"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/karpenter-anew/karpenter/embedded/view"
)

const (
	volumeDriver = "ebs.csi.example.com"
	storageClass = "standard"
	// usualDetach is how long a volume takes to be detached if no setting says it.
	usualDetach = 20 * time.Second
	// mostSets is how many StatefulSets users have at most.
	mostSets = 6
)

// volumes are the controllers of volumes: each PersistentVolumeClaim gets a volume in one zone, which is attached to the node of its pod, and
// detached some time after the pod is gone. A volume is attached to one node at a time; pods do not wait for that.
type volumes struct {
	world  *World
	faults *Faults
	zones  []string
	// due is when a VolumeAttachment is deleted whose pod is gone; the zero time for never.
	due map[string]time.Time
}

// step does what is due now, and returns when something else is.
func (s *volumes) step(v *view.View) (next time.Time, err error) {
	v = v.As("volumes")
	if err := s.provision(v); err != nil {
		return next, err
	}
	used, err := inUse(v)
	if err != nil {
		return next, err
	}
	nodes, err := view.List[corev1.Node](v)
	if err != nil {
		return next, err
	}
	exists := map[string]bool{}
	for _, node := range nodes {
		exists[node.Name] = true
	}
	attachments, err := view.List[storagev1.VolumeAttachment](v)
	if err != nil {
		return next, err
	}
	attached := map[string]bool{}
	for _, a := range attachments {
		volume := *a.Spec.Source.PersistentVolumeName
		if used[volume] == a.Spec.NodeName {
			attached[volume] = true
			delete(s.due, a.Name)
			continue
		}
		gone, at := s.detached(a.Name, exists[a.Spec.NodeName])
		if !gone {
			attached[volume] = true
			if next.IsZero() || at.Before(next) {
				next = at
			}
			continue
		}
		delete(s.due, a.Name)
		if err := v.Delete(a, nil); err != nil {
			return next, err //nolint:wrapcheck // says what it is about
		}
	}
	return next, attach(v, used, attached)
}

// detached reports whether a volume that is not in use is detached, or else when that is to be asked again. One of a Node that is gone is.
func (s *volumes) detached(name string, node bool) (gone bool, at time.Time) {
	now := time.Now()
	due, known := s.due[name]
	if !known {
		due = now.Add(s.world.between("detach", 0, cmp.Or(s.faults.MaxDetach, usualDetach)))
		if s.faults.happens(s.world, "stuck volume", s.faults.NoDetach) {
			due = time.Time{}
		}
		s.due[name] = due
	}
	switch {
	case !node:
		return true, at
	case due.IsZero(): // until faults end
		return s.faults.Off, now.Add(time.Minute)
	}
	return !now.Before(due), due
}

// provision binds new claims.
func (s *volumes) provision(v *view.View) error {
	claims, err := view.List[corev1.PersistentVolumeClaim](v)
	if err != nil {
		return err //nolint:wrapcheck // says what it is about
	}
	for _, claim := range claims {
		if claim.Spec.VolumeName != "" {
			continue
		}
		volume := newVolume(claim, s.zones[s.world.stream("zone of "+claim.Name).IntN(len(s.zones))])
		if err := v.Create(volume); err != nil {
			return err //nolint:wrapcheck // says what it is about
		}
		claim = claim.DeepCopy()
		claim.Spec.VolumeName, claim.ResourceVersion = volume.Name, ""
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
		if err := v.Update(claim); err != nil {
			return err //nolint:wrapcheck // says what it is about
		}
		claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests}
		if err := v.UpdateStatus(claim); err != nil {
			return err //nolint:wrapcheck // says what it is about
		}
	}
	return nil
}

// newVolume is a volume for a claim, in a zone.
func newVolume(claim *corev1.PersistentVolumeClaim, zone string) *corev1.PersistentVolume {
	name := "pv-" + claim.Name
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, StorageClassName: storageClass,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: volumeDriver, VolumeHandle: name}},
			ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
			}}}},
		},
	}
}

// inUse are the nodes whose pods use volumes, by volume.
func inUse(v *view.View) (map[string]string, error) {
	pods, err := view.List[corev1.Pod](v)
	if err != nil {
		return nil, err //nolint:wrapcheck // says what it is about
	}
	out := map[string]string{}
	for _, pod := range pods {
		if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, volume := range volumesOf(pod) {
			out[volume] = pod.Spec.NodeName
		}
	}
	return out, nil
}

// volumesOf are the volumes of a pod: they are named after their claims.
func volumesOf(pod *corev1.Pod) (out []string) {
	for _, volume := range pod.Spec.Volumes {
		if c := volume.PersistentVolumeClaim; c != nil {
			out = append(out, "pv-"+c.ClaimName)
		}
	}
	return out
}

// attach attaches the volumes that are in use and attached nowhere.
func attach(v *view.View, used map[string]string, attached map[string]bool) error {
	list, err := view.List[corev1.PersistentVolume](v)
	if err != nil {
		return err //nolint:wrapcheck // says what it is about
	}
	for _, volume := range list {
		node := used[volume.Name]
		if node == "" || attached[volume.Name] {
			continue
		}
		a := &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("csi-%s-%s", volume.Name, node)},
			Spec: storagev1.VolumeAttachmentSpec{
				Attacher: volumeDriver, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To(volume.Name)},
			},
		}
		if err := v.Create(a); err != nil {
			return err //nolint:wrapcheck // says what it is about
		}
	}
	return nil
}

// createStateful creates a StatefulSet of one pod with a volume, or deletes one; the volume stays.
func (u *User) createStateful() {
	sets := All[appsv1.StatefulSet](u.cluster.API)
	if remove := u.draw(4) == 0; remove && len(sets) > 0 || len(sets) >= mostSets {
		pick(u, sets, func(s *appsv1.StatefulSet) { u.remove(s) })
		return
	}
	name := fmt.Sprintf("db-%d", u.actions)
	d := newDeployment(name, 1, []string{"500m", "1500m", "3"}[u.draw(3)])
	template := d.Spec.Template
	template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}}
	_ = u.cluster.API.Create(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: d.Namespace},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: ptr.To(storageClass),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
		},
	})
	_ = u.cluster.API.Create(&appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: d.Namespace},
		Spec:       appsv1.StatefulSetSpec{Replicas: ptr.To[int32](1), Selector: d.Spec.Selector, Template: template, ServiceName: name},
	})
}
