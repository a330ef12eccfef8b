package translate

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	csitranslation "k8s.io/csi-translation-lib"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// Volumes finds the objects that pods refer to by name. The result is nil if an object does not exist.
type Volumes interface {
	Claim(namespace, name string) *corev1.PersistentVolumeClaim
	Volume(name string) *corev1.PersistentVolume
	Class(name string) *storagev1.StorageClass
	// Zonal reports whether volumes that a CSI driver creates may be usable in one zone only.
	Zonal(driver string) bool
	// Required reports whether pods with volumes of a CSI driver run only on nodes on which it is installed.
	Required(driver string) bool
}

// Storage is the input of the translation of a pod's volumes besides the pod.
type Storage struct {
	// Volumes finds objects. Without it volumes are ignored.
	Volumes Volumes
	// UnsupportedProvisioners and UnsupportedTopologyKeys are not supported by the cloud.
	UnsupportedProvisioners, UnsupportedTopologyKeys []string
}

// bindCompleted is the annotation that the volume controller sets on a claim once it is bound.
const bindCompleted = volumehelpers.AnnBindCompleted

// VolumeClaims names the claims of a pod's namespace that its volumes refer to, in the pod's order. A generic ephemeral
// volume has a dedicated claim, named after pod and volume. Volumes of other kinds have none.
func VolumeClaims(pod *corev1.Pod) []string {
	var out []string
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, pod.Name+"-"+v.Name)
		}
	}
	return out
}

// volumeUse is one claim of a pod with its volume and StorageClass.
type volumeUse struct {
	namespace, name string
	claim           *corev1.PersistentVolumeClaim
	volume          *corev1.PersistentVolume // what the claim is bound to
	class           *storagev1.StorageClass  // of a claim that is not bound
}

func (st Storage) uses(pod *corev1.Pod) []volumeUse {
	names := VolumeClaims(pod)
	out := make([]volumeUse, len(names))
	for i, name := range names {
		u := volumeUse{namespace: pod.Namespace, name: name, claim: st.Volumes.Claim(pod.Namespace, name)}
		switch {
		case u.claim == nil:
		case u.claim.Spec.VolumeName != "":
			u.volume = st.Volumes.Volume(u.claim.Spec.VolumeName)
		case u.className() != "":
			u.class = st.Volumes.Class(u.className())
		}
		out[i] = u
	}
	return out
}

func (u volumeUse) className() string {
	if u.claim == nil || u.claim.Spec.StorageClassName == nil {
		return ""
	}
	return *u.claim.Spec.StorageClassName
}

// driver is the CSI driver that attaches the volume; empty if there is none, or if it is unknown. Volumes and classes of
// former in-tree drivers belong to the CSI drivers that replaced them.
func (u volumeUse) driver() string {
	switch {
	case u.volume != nil && u.volume.Spec.CSI != nil:
		return u.volume.Spec.CSI.Driver
	case u.volume != nil:
		if old, err := csitranslation.New().GetInTreePluginNameFromSpec(u.volume, nil); err == nil {
			return csiDriver(old)
		}
	case u.class != nil:
		return Driver(u.class)
	}
	return ""
}

// Driver returns the CSI driver that creates the volumes of a StorageClass.
func Driver(class *storagev1.StorageClass) string { return csiDriver(class.Provisioner) }

func csiDriver(provisioner string) string {
	if driver, err := csitranslation.New().GetCSINameFromInTreeName(provisioner); err == nil {
		return driver
	}
	return provisioner
}

// podVolumes is the translation of a pod's volumes.
type podVolumes struct {
	topology    []requirement.Set
	attachments []volume.Attachment
	driverKeys  []string
	// exclusive are the claims that only one pod may use.
	exclusive []string
	// installed are the CSI drivers that have to be installed on the node, sorted.
	installed []string
	// late are the claims whose volume will be created in the zone of the first pod that uses it.
	late    []string
	problem string
}

// drivers are those of the attachments, sorted, as often as they occur, and with the claim where it is shared.
func (v podVolumes) drivers() []string { return v.driverKeys }

// ofPod translates the volumes of a pod. Those of a pending pod are validated too.
func (v volumeTerms) ofPod(pod *corev1.Pod, storage Storage, waits bool) podVolumes {
	if storage.Volumes == nil || len(pod.Spec.Volumes) == 0 {
		return podVolumes{}
	}
	uses := storage.uses(pod)
	var out podVolumes
	out.attach(storage, uses)
	out.exclusive = exclusive(uses)
	var err error
	if waits {
		err = storage.check(uses)
		out.late = storage.late(uses)
	}
	if err == nil {
		out.topology, err = v.topology(uses)
	}
	if err != nil {
		out.problem = err.Error()
	}
	return out
}

// attach records the volumes that need a slot on the pod's node, without repetition.
func (v *podVolumes) attach(st Storage, uses []volumeUse) {
	seen := map[string]bool{}
	for _, u := range uses {
		driver := u.driver()
		if driver == "" || seen[u.name] {
			continue
		}
		seen[u.name] = true
		if st.Volumes.Required(driver) && !slices.Contains(v.installed, driver) {
			v.installed = append(v.installed, driver)
		}
		one, slot := volume.Attachment{Driver: driver, Claim: u.namespace + "/" + u.name}, driver
		if u.shared() {
			slot += " " + one.Claim
		}
		v.attachments, v.driverKeys = append(v.attachments, one), append(v.driverKeys, slot)
	}
	slices.Sort(v.driverKeys)
	slices.Sort(v.installed)
}

// shared reports whether pods on several nodes may use the volume at once.
func (u volumeUse) shared() bool {
	return slices.ContainsFunc(u.claim.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool {
		return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
	})
}

// exclusive returns the claims that only one pod may use, without repetition.
func exclusive(uses []volumeUse) []string {
	var out []string
	for _, u := range uses {
		id := u.namespace + "/" + u.name
		if u.claim != nil && slices.Contains(u.claim.Spec.AccessModes, corev1.ReadWriteOncePod) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// late returns the claims whose volume will be created in the zone of the first pod that uses it, without repetition.
func (st Storage) late(uses []volumeUse) []string {
	var out []string
	for _, u := range uses {
		if u.class == nil || immediate(u.class) || !st.Volumes.Zonal(u.driver()) {
			continue
		}
		if id := u.namespace + "/" + u.name; !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Zonal reports whether the topology of a CSI driver on a node, as its CSINode has it, includes the zone.
func Zonal(driver *storagev1.CSINodeDriver) bool {
	return slices.ContainsFunc(driver.TopologyKeys, func(key string) bool { return strings.HasSuffix(key, "/zone") })
}

// Attachable returns how many volumes of each driver a node can attach, as its CSINode reports; nil without a CSINode. A
// driver without a count has no limit.
func Attachable(node *storagev1.CSINode) volume.Limits {
	if node == nil {
		return nil
	}
	out := volume.Limits{}
	for _, driver := range node.Spec.Drivers {
		out[driver.Name] = math.MaxInt
		if driver.Allocatable != nil && driver.Allocatable.Count != nil {
			out[driver.Name] = int(*driver.Allocatable.Count)
		}
	}
	return out
}
