package kubescheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// objects are the stores behind the listers of the plugins, filled by hand.
type objects struct {
	namespaces, volumes, claims, classes, csiNodes, drivers cache.Indexer
	// existing are the names of the nodes among the objects.
	existing map[string]bool
}

func newObjects(f informers.SharedInformerFactory) objects {
	return objects{
		namespaces: f.Core().V1().Namespaces().Informer().GetIndexer(),
		volumes:    f.Core().V1().PersistentVolumes().Informer().GetIndexer(),
		claims:     f.Core().V1().PersistentVolumeClaims().Informer().GetIndexer(),
		classes:    f.Storage().V1().StorageClasses().Informer().GetIndexer(),
		csiNodes:   f.Storage().V1().CSINodes().Informer().GetIndexer(),
		drivers:    f.Storage().V1().CSIDrivers().Informer().GetIndexer(),
		existing:   map[string]bool{},
	}
}

func (s objects) replace(list []client.Object) error {
	clear(s.existing)
	byStore := map[cache.Indexer][]any{}
	for _, o := range list {
		switch o := o.(type) {
		case *corev1.Namespace:
			byStore[s.namespaces] = append(byStore[s.namespaces], o)
		case *corev1.PersistentVolume:
			byStore[s.volumes] = append(byStore[s.volumes], o)
		case *corev1.PersistentVolumeClaim:
			byStore[s.claims] = append(byStore[s.claims], o)
		case *storagev1.StorageClass:
			byStore[s.classes] = append(byStore[s.classes], o)
		case *storagev1.CSINode:
			byStore[s.csiNodes] = append(byStore[s.csiNodes], o)
		case *storagev1.CSIDriver:
			byStore[s.drivers] = append(byStore[s.drivers], o)
		case *corev1.Node:
			s.existing[o.Name] = true
		}
	}
	for _, store := range []cache.Indexer{s.namespaces, s.volumes, s.claims, s.classes, s.csiNodes, s.drivers} {
		if err := store.Replace(byStore[store], ""); err != nil {
			return err
		}
	}
	return nil
}

// install installs all drivers on a node that is not among the objects, as the DaemonSets of drivers do on new nodes.
func (s objects) install(node string) error {
	if s.existing[node] || len(s.drivers.List()) == 0 {
		return nil
	}
	csiNode := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}}
	for _, name := range s.drivers.ListKeys() {
		csiNode.Spec.Drivers = append(csiNode.Spec.Drivers, storagev1.CSINodeDriver{
			Name: name, NodeID: node, TopologyKeys: []string{corev1.LabelTopologyZone}, // that volumes are provisioned for
		})
	}
	return s.csiNodes.Update(csiNode)
}

// installed is the CSINode of a node, or nil if it has none.
func (s objects) installed(node string) (*storagev1.CSINode, error) {
	found, ok, err := s.csiNodes.GetByKey(node)
	if err != nil || !ok {
		return nil, err
	}
	csiNode, _ := found.(*storagev1.CSINode)
	return csiNode, nil
}

// claimsOf are the names of the PersistentVolumeClaims of a pod.
func claimsOf(pod *corev1.Pod) []string {
	var out []string
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, pod.Name+"-"+v.Name)
		}
	}
	return out
}

// provision binds the unbound claims of a pod to new volumes in the zone of its node, as a provisioner of zonal volumes does.
func (s objects) provision(pod *corev1.Pod, node *corev1.Node) error {
	for _, name := range claimsOf(pod) {
		stored, ok, err := s.claims.GetByKey(pod.Namespace + "/" + name)
		if err != nil || !ok {
			return fmt.Errorf("volume claim %s of pod %s does not exist: %w", name, pod.Name, err)
		}
		claim, _ := stored.(*corev1.PersistentVolumeClaim)
		if claim.Spec.VolumeName != "" {
			continue
		}
		claim = claim.DeepCopy()
		claim.Spec.VolumeName = "provisioned-" + claim.Namespace + "-" + claim.Name
		claim.Status.Phase = corev1.ClaimBound
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, storagehelpers.AnnBindCompleted, "yes")
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
		volume.Spec.StorageClassName = storagehelpers.GetPersistentVolumeClaimClass(claim)
		volume.Spec.AccessModes = claim.Spec.AccessModes
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
		if zone, ok := node.Labels[corev1.LabelTopologyZone]; ok {
			volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
			}}}}
		}
		if err := s.volumes.Update(volume); err != nil {
			return err
		}
		if err := s.claims.Update(claim); err != nil {
			return err
		}
	}
	return nil
}
