package cluster

import (
	"slices"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// TrackDrivers watches CSIDrivers. Call it before the first event.
func (v *Volumes) TrackDrivers() { v.drivers = true }

func (v *Volumes) driverKind() kind {
	return kind{&storagev1.CSIDriver{}, apply(v.UpdateDriver), forget(func(d *storagev1.CSIDriver) { v.DeleteDriver(d.Name) })}
}

// UpdateDriver applies the current version of a CSIDriver. API servers store the field only if kube-scheduler of the same version reads it.
func (v *Volumes) UpdateDriver(driver *storagev1.CSIDriver) {
	v.setDriver(driver.Name, driver.Spec.PreventPodSchedulingIfMissing != nil && *driver.Spec.PreventPodSchedulingIfMissing)
}

// DeleteDriver removes a CSIDriver.
func (v *Volumes) DeleteDriver(name string) { v.setDriver(name, false) }

// setDriver sets whether pods need a driver on their node. That changes rarely, and then all pods with claims are translated again.
func (v *Volumes) setDriver(name string, required bool) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	if v.storage.required[name] == required {
		return
	}
	if required {
		v.storage.required[name] = true
	} else {
		delete(v.storage.required, name)
	}
	for _, pod := range v.storage.claimants {
		v.store.putPod(v.store.translate(pod), podrules.Unplaced(pod))
	}
	for id := range v.store.entries {
		v.store.dirty[id] = true
	}
}

// Required implements translate.Volumes.
func (st *storage) Required(driver string) bool { return st.required[driver] }

// lacked are the required drivers that a node is without and not expected to get, sorted.
func (st *storage) lacked(n *model.Node) []string {
	if n.DriversExpected {
		return nil
	}
	var out []string
	for driver := range st.required {
		if _, installed := n.Attachable[driver]; !installed {
			out = append(out, driver)
		}
	}
	slices.Sort(out)
	return out
}

// UpdateAttachment applies the current version of a VolumeAttachment, of which the spec never changes.
func (v *Volumes) UpdateAttachment(a *storagev1.VolumeAttachment) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	on := v.storage.attached[a.Spec.NodeName]
	if on == nil {
		on = map[string]*storagev1.VolumeAttachment{}
		v.storage.attached[a.Spec.NodeName] = on
	}
	if on[a.Name] == nil {
		v.store.markDirty(a.Spec.NodeName)
	}
	on[a.Name] = a
	if source := a.Spec.Source.PersistentVolumeName; source != nil {
		v.storage.attachedTo.add(*source, a.Spec.NodeName)
	}
}

// DeleteAttachment removes a VolumeAttachment.
func (v *Volumes) DeleteAttachment(node, name string) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	if a := v.storage.attached[node][name]; a != nil && a.Spec.Source.PersistentVolumeName != nil {
		v.storage.attachedTo.remove(*a.Spec.Source.PersistentVolumeName, node)
	}
	delete(v.storage.attached[node], name)
	if len(v.storage.attached[node]) == 0 {
		delete(v.storage.attached, node)
	}
	v.store.markDirty(node)
}

// markAttached marks the nodes that a volume is attached to.
func (v *Volumes) markAttached(persistentVolume string) {
	for node := range v.storage.attachedTo[persistentVolume] {
		v.store.markDirty(node)
	}
}

// attachments are the volumes of the VolumeAttachments of a node, sorted. Like kube-scheduler, it counts those of CSI volumes only. A volume
// is named by its claim, as for the pods that use it.
func (st *storage) attachments(node string) []volume.Attachment {
	var out []volume.Attachment
	for _, a := range st.attached[node] {
		if a.Spec.Attacher == "" || a.Spec.Source.PersistentVolumeName == nil {
			continue
		}
		pv := st.volumes[*a.Spec.Source.PersistentVolumeName]
		if pv == nil || pv.Spec.CSI == nil {
			continue
		}
		claim := pv.Name
		if ref := pv.Spec.ClaimRef; ref != nil {
			claim = ref.Namespace + "/" + ref.Name
		}
		out = append(out, volume.Attachment{Driver: a.Spec.Attacher, Claim: claim})
	}
	slices.SortFunc(out, volume.Attachment.Compare)
	return slices.Compact(out)
}
