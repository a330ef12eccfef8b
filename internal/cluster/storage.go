package cluster

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// storage holds the objects that the volumes of pods refer to, with reverse indexes to find the pods that a change affects. A pod
// refers to its claims, a bound claim to its volume, and an unbound one to its class.
type storage struct {
	claims    map[string]*corev1.PersistentVolumeClaim // by namespace/name
	volumes   map[string]*corev1.PersistentVolume
	classes   map[string]*storagev1.StorageClass
	nodes     map[string]*storagev1.CSINode
	claimants map[string]*corev1.Pod // pods with claims, by UID
	// users are the UIDs of the pods of a claim; byVolume and byClass are the claims that refer to a volume or a class.
	users, byVolume, byClass links
	// drivers are the CSI drivers of the nodes, required those that pods need on their node.
	drivers  map[string]reach
	required map[string]bool
	// attached are the VolumeAttachments of each node, by its name and theirs.
	attached map[string]map[string]*storagev1.VolumeAttachment
	// attachedTo are the nodes that a PersistentVolume is attached to.
	attachedTo links
}

// reach is on how many nodes the topology of a CSI driver includes the zone, and on how many it does not.
type reach struct{ zone, wider int }

func newStorage() *storage {
	return &storage{
		claims:    map[string]*corev1.PersistentVolumeClaim{},
		volumes:   map[string]*corev1.PersistentVolume{},
		classes:   map[string]*storagev1.StorageClass{},
		nodes:     map[string]*storagev1.CSINode{},
		claimants: map[string]*corev1.Pod{},
		users:     links{},
		byVolume:  links{},
		byClass:   links{},
		drivers:   map[string]reach{},
		required:  map[string]bool{},
		attached:  map[string]map[string]*storagev1.VolumeAttachment{},

		attachedTo: links{},
	}
}

// Claim implements translate.Volumes.
func (st *storage) Claim(namespace, name string) *corev1.PersistentVolumeClaim {
	return st.claims[namespace+"/"+name]
}

// Volume implements translate.Volumes.
func (st *storage) Volume(name string) *corev1.PersistentVolume { return st.volumes[name] }

// Class implements translate.Volumes.
func (st *storage) Class(name string) *storagev1.StorageClass { return st.classes[name] }

// Zonal implements translate.Volumes. A driver that no node has may be zonal.
func (st *storage) Zonal(driver string) bool {
	r := st.drivers[driver]
	return r.zone > 0 || r.wider == 0
}

// setNode sets a CSINode, or removes it when node is nil, and returns the drivers of which Zonal changed.
func (st *storage) setNode(name string, node *storagev1.CSINode) map[string]bool {
	before := map[string]bool{}
	count := func(n *storagev1.CSINode, by int) {
		for i := range n.Spec.Drivers {
			driver := &n.Spec.Drivers[i]
			if _, ok := before[driver.Name]; !ok {
				before[driver.Name] = st.Zonal(driver.Name)
			}
			r := st.drivers[driver.Name]
			if translate.Zonal(driver) {
				r.zone += by
			} else {
				r.wider += by
			}
			if st.drivers[driver.Name] = r; r == (reach{}) {
				delete(st.drivers, driver.Name)
			}
		}
	}
	if old := st.nodes[name]; old != nil {
		count(old, -1)
		delete(st.nodes, name)
	}
	if node != nil {
		count(node, 1)
		st.nodes[name] = node
	}
	maps.DeleteFunc(before, func(driver string, zonal bool) bool { return st.Zonal(driver) == zonal })
	return before
}

// track records the claims of a pod; a nil pod removes the UID.
func (st *storage) track(uid string, pod *corev1.Pod) {
	if before, ok := st.claimants[uid]; ok {
		delete(st.claimants, uid)
		for _, name := range translate.VolumeClaims(before) {
			st.users.remove(before.Namespace+"/"+name, uid)
		}
	}
	if pod == nil {
		return
	}
	for _, name := range translate.VolumeClaims(pod) {
		st.claimants[uid] = pod
		st.users.add(pod.Namespace+"/"+name, uid)
	}
}

// put sets a claim, or removes it when claim is nil.
func (st *storage) put(id string, claim *corev1.PersistentVolumeClaim) {
	if before, ok := st.claims[id]; ok {
		delete(st.claims, id)
		st.byVolume.remove(before.Spec.VolumeName, id)
		st.byClass.remove(className(before), id)
	}
	if claim == nil {
		return
	}
	st.claims[id] = claim
	if claim.Spec.VolumeName != "" {
		st.byVolume.add(claim.Spec.VolumeName, id)
	} else {
		st.byClass.add(className(claim), id)
	}
}

func className(claim *corev1.PersistentVolumeClaim) string {
	if claim.Spec.StorageClassName == nil {
		return ""
	}
	return *claim.Spec.StorageClassName
}

// Volumes is the part of a Store that determines the volumes of pods: PersistentVolumeClaims, PersistentVolumes, StorageClasses,
// CSINodes, CSIDrivers and VolumeAttachments.
type Volumes struct {
	store   *Store
	storage *storage
	// drivers is set when CSIDrivers are watched.
	drivers bool
}

// UpdateVolumeClaim applies the current version of a PersistentVolumeClaim.
func (v *Volumes) UpdateVolumeClaim(claim *corev1.PersistentVolumeClaim) {
	v.setClaim(claim.Namespace+"/"+claim.Name, claim)
}

// DeleteVolumeClaim removes a PersistentVolumeClaim.
func (v *Volumes) DeleteVolumeClaim(namespace, name string) { v.setClaim(namespace+"/"+name, nil) }

func (v *Volumes) setClaim(id string, claim *corev1.PersistentVolumeClaim) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	v.storage.put(id, claim)
	v.retranslate(map[string]bool{id: true})
}

// UpdateVolume applies the current version of a PersistentVolume.
func (v *Volumes) UpdateVolume(volume *corev1.PersistentVolume) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	v.storage.volumes[volume.Name] = volume
	v.markAttached(volume.Name)
	v.retranslate(v.storage.byVolume[volume.Name])
}

// DeleteVolume removes a PersistentVolume.
func (v *Volumes) DeleteVolume(name string) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	delete(v.storage.volumes, name)
	v.markAttached(name)
	v.retranslate(v.storage.byVolume[name])
}

// UpdateStorageClass applies the current version of a StorageClass.
func (v *Volumes) UpdateStorageClass(class *storagev1.StorageClass) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	v.storage.classes[class.Name] = class
	v.retranslate(v.storage.byClass[class.Name])
}

// DeleteStorageClass removes a StorageClass.
func (v *Volumes) DeleteStorageClass(name string) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	delete(v.storage.classes, name)
	v.retranslate(v.storage.byClass[name])
}

// UpdateCSINode applies the current version of a CSINode, which has the name of its Node.
func (v *Volumes) UpdateCSINode(node *storagev1.CSINode) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	v.setNode(node.Name, node)
}

func (v *Volumes) setNode(name string, node *storagev1.CSINode) {
	changed := v.storage.setNode(name, node)
	v.store.markDirty(name)
	if len(changed) == 0 {
		return
	}
	for class, claims := range v.storage.byClass {
		if c := v.storage.classes[class]; c != nil {
			if _, ok := changed[translate.Driver(c)]; ok {
				v.retranslate(claims)
			}
		}
	}
}

// DeleteCSINode removes a CSINode.
func (v *Volumes) DeleteCSINode(name string) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	v.setNode(name, nil)
}

// retranslate translates the pods of claims again.
func (v *Volumes) retranslate(claims map[string]bool) {
	for id := range claims {
		for uid := range v.storage.users[id] {
			pod := v.storage.claimants[uid]
			if p := v.store.translate(pod); !sameVolumes(v.store.podByUID(uid), p) {
				v.store.putPod(p, podrules.Unplaced(pod))
			}
		}
	}
}

// Translate translates a pod with its volumes.
func (s *Store) Translate(pod *corev1.Pod) *model.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.translate(pod)
}

// translate must be called under the lock, so that no later change of a volume is missed.
func (s *Store) translate(pod *corev1.Pod) *model.Pod {
	return s.DefaultSpread.spread(s.translator.PodWith(pod, translate.Storage{
		Volumes:                 s.Volumes.storage,
		UnsupportedProvisioners: s.cloud.UnsupportedProvisioners,
		UnsupportedTopologyKeys: s.cloud.UnsupportedTopologyKeys,
	}), pod)
}

// podByUID returns a pod of the Store, or nil.
func (s *Store) podByUID(uid string) *model.Pod {
	if p, ok := s.pending.Get(uid); ok {
		return p
	}
	if at := s.nominated.pods[uid]; at != nil {
		return at.pod
	}
	return s.podsOn[s.podNode[uid]][uid]
}

// sameVolumes reports whether two translations of one pod agree about its volumes.
func sameVolumes(a, b *model.Pod) bool {
	return a != nil && a.Shape == b.Shape && a.Rejected == b.Rejected && slices.Equal(a.Attachments(), b.Attachments()) &&
		slices.Equal(a.ExclusiveVolumes(), b.ExclusiveVolumes()) && slices.Equal(a.LateVolumes(), b.LateVolumes())
}
