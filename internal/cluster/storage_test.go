package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

const testDriver = "disk.example.com"

func volumeClaim(name, class, volumeName string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	claim.Spec.StorageClassName, claim.Spec.VolumeName = &class, volumeName
	if volumeName != "" {
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	}
	return claim
}

func zonalVolume(name, zone string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: testDriver, VolumeHandle: name}
	v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
	}}}}
	return v
}

func storageClass(name string, zones ...string) *storagev1.StorageClass {
	late := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: testDriver, VolumeBindingMode: &late}
	if len(zones) > 0 {
		class.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{
			Key: corev1.LabelTopologyZone, Values: zones,
		}}}}
	}
	return class
}

func csiNode(name string, count int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: testDriver, Allocatable: &storagev1.VolumeNodeResources{Count: &count}},
	}}}
}

// using is the pod with a volume for each claim.
func using(pod *corev1.Pod, claims ...string) *corev1.Pod {
	for _, name := range claims {
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	}
	return pod
}

func waitingPod(name string) *corev1.Pod {
	pod := boundPod(name, "")
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Reason: corev1.PodReasonUnschedulable}}
	return pod
}

// volumesOf describes the volumes of a pending pod in the snapshot.
func volumesOf(t *testing.T, s *Store, uid string) string {
	t.Helper()
	p, ok := s.Snapshot().Pending.Get(uid)
	if !ok {
		t.Fatalf("pod %s does not wait", uid)
	}
	parts := []string{fmt.Sprint(p.Shape.VolumeTopology), fmt.Sprint(p.Attachments())}
	if p.Rejected != "" {
		parts = append(parts, p.Rejected)
	}
	return strings.Join(parts, " ")
}

// TestPodsFollowTheObjectsOfTheirVolumes changes one object after the other and checks the pending pod.
func TestPodsFollowTheObjectsOfTheirVolumes(t *testing.T) {
	t.Attr("covers", "N244 N515")
	s := newStore()
	s.UpdatePod(using(waitingPod("p"), "data"))
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"no claim", func() {}, "[] [] persistentvolumeclaim not found (PersistentVolumeClaim=default/data)"},
		{"a claim", func() { s.Volumes.UpdateVolumeClaim(volumeClaim("data", "fast", "")) }, "[] [] failed to validate pvc, failed to get storage class, storageclass not found (PersistentVolumeClaim=default/data, StorageClass=fast)"},
		{"its class", func() { s.Volumes.UpdateStorageClass(storageClass("fast", "a", "b")) }, "[topology.kubernetes.io/zone In [a b]] [{disk.example.com default/data}]"},
		{"the class changes", func() { s.Volumes.UpdateStorageClass(storageClass("fast")) }, "[] [{disk.example.com default/data}]"},
		{"the claim is bound", func() { s.Volumes.UpdateVolumeClaim(volumeClaim("data", "fast", "v")) }, "[] [] failed to validate pvc, persistentvolume not found (PersistentVolume=v, PersistentVolumeClaim=default/data)"},
		{"to a volume", func() { s.Volumes.UpdateVolume(zonalVolume("v", "c")) }, "[topology.kubernetes.io/zone In [c]] [{disk.example.com default/data}]"},
		{"the class goes", func() { s.Volumes.DeleteStorageClass("fast") }, "[topology.kubernetes.io/zone In [c]] [{disk.example.com default/data}]"},
		{"the volume goes", func() { s.Volumes.DeleteVolume("v") }, "[] [] failed to validate pvc, persistentvolume not found (PersistentVolume=v, PersistentVolumeClaim=default/data)"},
		{"the claim goes", func() { s.Volumes.DeleteVolumeClaim("default", "data") }, "[] [] persistentvolumeclaim not found (PersistentVolumeClaim=default/data)"},
	} {
		step.do()
		if got := volumesOf(t, s, "p"); got != step.want {
			t.Errorf("%s:\n got %s\nwant %s", step.name, got, step.want)
		}
	}
}

func TestStorageMayArriveInAnyOrder(t *testing.T) {
	steps := []func(*Store){
		func(s *Store) { s.Volumes.UpdateVolumeClaim(volumeClaim("data", "", "v")) },
		func(s *Store) { s.Volumes.UpdateVolume(zonalVolume("v", "c")) },
		func(s *Store) { s.UpdatePod(using(waitingPod("p"), "data")) },
	}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		s := newStore()
		for _, i := range order {
			steps[i](s)
			s.Snapshot()
		}
		if got, want := volumesOf(t, s, "p"), "[topology.kubernetes.io/zone In [c]] [{disk.example.com default/data}]"; got != want {
			t.Errorf("%v: %s", order, got)
		}
	}
}

// TestChangesOfStorageConcernOnlyItsPods checks that the cost of a change depends on the pods that use the object, not on the cluster.
func TestChangesOfStorageConcernOnlyItsPods(t *testing.T) {
	t.Attr("covers", "N515")
	s := newStore()
	s.Volumes.UpdateStorageClass(storageClass("fast", "a"))
	for i := range 3 {
		name := fmt.Sprint("claim-", i)
		s.UpdateNode(node(fmt.Sprint("n", i), ""))
		s.Volumes.UpdateVolumeClaim(volumeClaim(name, "fast", fmt.Sprint("v", i)))
		s.Volumes.UpdateVolume(zonalVolume(fmt.Sprint("v", i), "a"))
		s.UpdatePod(using(boundPod(fmt.Sprint("p", i), fmt.Sprint("n", i)), name))
	}
	before := s.Snapshot()
	changedNodes := func() []string {
		t.Helper()
		now := s.Snapshot()
		var out []string
		for id, n := range now.Nodes.All() {
			if was, _ := before.Nodes.Get(id); was != n {
				out = append(out, id)
			}
		}
		before = now
		slices.Sort(out)
		return out
	}
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"a volume moves", func() { s.Volumes.UpdateVolume(zonalVolume("v1", "b")) }, []string{"node/n1"}},
		{"a volume is as before", func() { s.Volumes.UpdateVolume(zonalVolume("v1", "b")) }, nil},
		{"the class of bound claims", func() { s.Volumes.UpdateStorageClass(storageClass("fast", "z")) }, nil},
		{"a claim is bound elsewhere", func() { s.Volumes.UpdateVolumeClaim(volumeClaim("claim-2", "fast", "v1")) }, []string{"node/n2"}},
		{"a volume of two claims", func() { s.Volumes.UpdateVolume(zonalVolume("v1", "c")) }, []string{"node/n1", "node/n2"}},
		{"a volume that is no longer used", func() { s.Volumes.UpdateVolume(zonalVolume("v2", "c")) }, nil},
		{"a node's drivers", func() { s.Volumes.UpdateCSINode(csiNode("n0", 5)) }, []string{"node/n0"}},
		{"a pod stops using its claim", func() { s.DeletePod("p1"); changedNodes() }, nil},
		{"its volume changes after that", func() { s.Volumes.UpdateVolume(zonalVolume("v1", "d")) }, []string{"node/n2"}},
	} {
		step.do()
		if diff := cmp.Diff(step.want, changedNodes()); diff != "" {
			t.Errorf("%s: changed nodes (-want +got)\n%s", step.name, diff)
		}
	}
}

func TestDriversSayWhatANodeCanAttach(t *testing.T) {
	s := newStore()
	s.Volumes.UpdateCSINode(csiNode("n", 3)) // before its Node
	s.UpdateNode(node("n", "test://1"))
	attachable := func() volume.Limits {
		n, _ := s.Snapshot().Nodes.Get("test://1")
		return n.Attachable
	}
	if diff := cmp.Diff(volume.Limits{testDriver: 3}, attachable()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s.Volumes.UpdateCSINode(csiNode("n", 7))
	if got := attachable()[testDriver]; got != 7 {
		t.Errorf("the limit is %d, want that of the last update, 7", got)
	}
	s.UpdateNodeClaim(claim("a", "test://1"))
	s.UpdateNode(node("n", "test://1"))
	if got := attachable()[testDriver]; got != 7 {
		t.Errorf("the limit is %d after updates of Node and NodeClaim, want 7", got)
	}
	s.Volumes.DeleteCSINode("n")
	if got := attachable(); got != nil {
		t.Errorf("limits %v without a CSINode", got)
	}
}

// TestUsageOfVolumesAndPorts checks that the usage of bound pods counts as soon as the Node exists, in any order of updates.
func TestUsageOfVolumesAndPorts(t *testing.T) {
	t.Attr("covers", "L386")
	s := newStore()
	s.Volumes.UpdateVolumeClaim(volumeClaim("data", "", "v"))
	s.Volumes.UpdateVolume(zonalVolume("v", "c"))
	pod := using(boundPod("p", "n"), "data")
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	s.UpdatePod(pod)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"the Node comes", func() { s.UpdateNode(node("n", "test://1")) }},
		{"its NodeClaim comes", func() { s.UpdateNodeClaim(claim("a", "test://1")) }},
		{"the NodeClaim is updated", func() { s.UpdateNodeClaim(claim("a", "test://1")) }},
		{"the pod is seen again", func() { s.UpdatePod(pod) }},
		{"the Node is updated", func() { s.UpdateNode(node("n", "test://1")) }},
	} {
		step.do()
		n, ok := s.Snapshot().Nodes.Get("test://1")
		if !ok || len(n.Pods) != 1 || len(n.Pods[0].Attachments()) != 1 || len(n.Pods[0].Shape.HostPorts) != 1 {
			t.Errorf("%s: %+v", step.name, n)
		}
	}
}

// TestDeletedStorageBreaksNothing checks that pods keep using resources after the storage that they use is deleted.
func TestDeletedStorageBreaksNothing(t *testing.T) {
	t.Attr("covers", "L292")
	s := newStore()
	s.UpdateNode(node("n", ""))
	s.Volumes.UpdateStorageClass(storageClass("fast"))
	s.Volumes.UpdateVolumeClaim(volumeClaim("data", "fast", ""))
	s.UpdatePod(using(boundPod("p", "n"), "data"))
	for _, remove := range []func(){
		func() { s.Volumes.DeleteStorageClass("fast") },
		func() { s.Volumes.DeleteVolumeClaim("default", "data") },
		func() { s.UpdatePod(using(boundPod("p", "n"), "data")) },
		func() { s.UpdateNode(node("n", "")) },
	} {
		remove()
		n, _ := s.Snapshot().Nodes.Get("node/n")
		if len(n.Pods) != 1 || n.Used.At(0) == 0 || len(n.Pods[0].Attachments()) != 0 {
			t.Fatalf("got %+v", n)
		}
	}
	if got := s.Translate(using(boundPod("p", "n"), "data")).Rejected; got != "failed to get volume topology, persistentvolumeclaim not found (PersistentVolumeClaim=default/data)" {
		t.Errorf("where the pod could move is %q", got)
	}
}

// TestDeletedPodsAreRemovedFromIndexes checks the index from claims to pods.
func TestDeletedPodsAreRemovedFromIndexes(t *testing.T) {
	s := newStore()
	s.Volumes.UpdateVolumeClaim(volumeClaim("data", "fast", ""))
	s.UpdatePod(using(boundPod("p", "n"), "data"))
	s.DeletePod("p")
	done := using(boundPod("q", "n"), "data")
	s.UpdatePod(done.DeepCopy())
	done.Status.Phase = corev1.PodSucceeded
	s.UpdatePod(done)
	s.Volumes.DeleteVolumeClaim("default", "data")
	if n := len(s.Volumes.storage.claimants) + len(s.Volumes.storage.users) + len(s.Volumes.storage.byClass) + len(s.Volumes.storage.byVolume); n != 0 {
		t.Errorf("%d entries are left: %+v", n, s.Volumes.storage)
	}
}
