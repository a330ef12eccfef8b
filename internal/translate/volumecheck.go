package translate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// check returns why the volumes of a pending pod cannot be used on any node; the first volume with a problem decides.
// Source: scheduling specification, validation of volumes.
func (st Storage) check(uses []volumeUse) error {
	for _, u := range uses {
		if err := st.checkOne(u); err != nil {
			return err
		}
	}
	return nil
}

func (st Storage) checkOne(u volumeUse) error {
	switch {
	case u.claim == nil:
		return u.problem("persistentvolumeclaim not found")
	case u.claim.DeletionTimestamp != nil:
		return u.problem("persistentvolumeclaim is being deleted")
	case u.claim.Status.Phase == corev1.ClaimLost:
		return u.problem("persistentvolumeclaim bound to non-existent persistentvolume")
	case u.claim.Spec.VolumeName != "":
		if err := u.checkVolume(); err != nil {
			return err
		}
	default:
		if err := st.checkClass(u); err != nil {
			return err
		}
	}
	if driver := u.driver(); slices.Contains(st.UnsupportedProvisioners, driver) {
		return u.problem("failed to validate pvc, provisioner is not supported", "provisioner", driver)
	}
	return nil
}

func (u volumeUse) checkVolume() error {
	_, bound := u.claim.Annotations[bindCompleted]
	switch {
	case u.volume == nil:
		return u.problem("failed to validate pvc, persistentvolume not found")
	case u.volume.DeletionTimestamp != nil:
		return u.problem("persistentvolume is being deleted")
	case !bound:
		return u.problem("pvc is considered unbound because it does not contain annotation", "annotation", bindCompleted)
	}
	return nil
}

func (st Storage) checkClass(u volumeUse) error {
	switch {
	case u.className() == "":
		return u.problem("unbound pvc must define a storage class")
	case u.class == nil:
		return u.problem("failed to validate pvc, failed to get storage class, storageclass not found")
	case immediate(u.class):
		return u.problem("failed to validate pvc, pvc with immediate volume binding mode must be bound")
	}
	for _, term := range u.class.AllowedTopologies {
		for _, e := range term.MatchLabelExpressions {
			if slices.Contains(st.UnsupportedTopologyKeys, e.Key) {
				return u.problem("failed to validate pvc, storage class uses unsupported topology key", "topology-key", e.Key)
			}
		}
	}
	return nil
}

// immediate reports whether volumes of the class are bound before a pod is placed, which is the default.
func immediate(class *storagev1.StorageClass) bool {
	return class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate
}

// problem returns an error about the claim, with the objects involved and further pairs of key and value, sorted by key.
func (u volumeUse) problem(text string, pairs ...string) error {
	about := map[string]string{"PersistentVolumeClaim": u.namespace + "/" + u.name}
	if u.claim != nil && u.claim.Spec.VolumeName != "" {
		about["PersistentVolume"] = u.claim.Spec.VolumeName
	} else if class := u.className(); class != "" {
		about["StorageClass"] = class
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		about[pairs[i]] = pairs[i+1]
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(about)) {
		parts = append(parts, key+"="+about[key])
	}
	return fmt.Errorf("%s (%s)", text, strings.Join(parts, ", "))
}
