package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

const requiredDriver = "disk.csi.example.com"

func csiNodeWith(name string, count int32) *storagev1.CSINode {
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Spec.Drivers = []storagev1.CSINodeDriver{{Name: requiredDriver, Allocatable: &storagev1.VolumeNodeResources{Count: &count}}}
	return node
}

func TestDriversAreExpectedForFiveMinutesAfterTheStart(t *testing.T) {
	t.Attr("covers", "N432 N433")
	s := newStore()
	s.Volumes.UpdateDriver(&storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: requiredDriver}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: new(true)},
	})
	start := time.Unix(60, 0)
	heartbeat := func(after time.Duration) {
		node, claim := featureNode("a", 1, "amd64")
		claim.Status.Conditions = []metav1.Condition{{Type: v1.ConditionTypeInitialized, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(start.Add(after))}}
		s.UpdateNodeClaim(claim)
		s.UpdateNode(node)
	}
	expect := func(step string, expected bool, lacked ...string) {
		t.Helper()
		snapshot := s.Snapshot()
		n, _ := snapshot.Nodes.Get("test:///a")
		if n.DriversExpected != expected {
			t.Errorf("%s: the drivers are expected: %v", step, n.DriversExpected)
		}
		if diff := cmp.Diff(lacked, snapshot.Learned.Pools["default"].LackedDrivers); diff != "" {
			t.Errorf("%s: new nodes are expected to lack: %s", step, diff)
		}
	}
	heartbeat(4 * time.Minute)
	expect("after 4 minutes", true)
	heartbeat(6 * time.Minute)
	expect("after 6 minutes", false, requiredDriver)
	s.Volumes.UpdateCSINode(csiNodeWith("a", 3))
	expect("installed late", false)
	s.Volumes.DeleteCSINode("a")
	s.Volumes.DeleteDriver(requiredDriver)
	expect("no longer required", false)
}

func TestAttachLimitsFollowTheCSINode(t *testing.T) {
	t.Attr("covers", "N434")
	s := newStore()
	node, claim := featureNode("a", 1, "amd64")
	s.UpdateNodeClaim(claim)
	s.UpdateNode(node)
	for _, count := range []int32{25, 3, 9} {
		s.Volumes.UpdateCSINode(csiNodeWith("a", count))
		n, _ := s.Snapshot().Nodes.Get("test:///a")
		if diff := cmp.Diff(volume.Limits{requiredDriver: int(count)}, n.Attachable); diff != "" {
			t.Errorf("limit %d: %s", count, diff)
		}
	}
}

func TestVolumeAttachmentsCount(t *testing.T) {
	t.Attr("covers", "N435")
	s := newStore()
	node, claim := featureNode("a", 1, "amd64")
	s.UpdateNodeClaim(claim)
	s.UpdateNode(node)
	attachment := func(name, pv string) *storagev1.VolumeAttachment {
		a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}}
		a.Spec = storagev1.VolumeAttachmentSpec{Attacher: requiredDriver, NodeName: "a", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}}
		return a
	}
	expect := func(step string, want ...volume.Attachment) {
		t.Helper()
		n, _ := s.Snapshot().Nodes.Get("test:///a")
		if diff := cmp.Diff(want, n.Attached); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
	}
	s.Volumes.UpdateAttachment(attachment("one", "pv"))
	s.Volumes.UpdateAttachment(attachment("again", "pv"))
	expect("volume unknown")
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data"}
	s.Volumes.UpdateVolume(pv.DeepCopy())
	expect("not a CSI volume")
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: requiredDriver}
	s.Volumes.UpdateVolume(pv)
	expect("attached", volume.Attachment{Driver: requiredDriver, Claim: "default/data"})
	s.Volumes.DeleteAttachment("a", "again")
	s.Volumes.DeleteAttachment("a", "one")
	expect("detached")
}
