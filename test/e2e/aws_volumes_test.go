package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest/ebs"
	"github.com/karpenter-anew/karpenter/test/awscluster"
)

// storageClass is a class of EBS volumes, made when the place of the pod is known or at once, in these zones only.
func storageClass(name string, mode storagev1.VolumeBindingMode, zones ...string) *storagev1.StorageClass {
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: ebs.Name, VolumeBindingMode: &mode}
	if len(zones) > 0 {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: ebs.ZoneLabel, Values: zones}}}}
	}
	return c
}

// claimSpec asks for a volume of a class.
func claimSpec(class string) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
}

// volumeClaim is a volume claim.
func volumeClaim(name, class string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}, Spec: claimSpec(class)}
}

// volumeIn is a volume that exists before any claim for it.
func volumeIn(zone string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "there-before"}}
	v.Spec = corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: ebs.Name, VolumeHandle: "vol-1"}},
		NodeAffinity:           ebs.InZone(zone),
	}
	return v
}

// uses lets a pod use a claim.
func uses(claim string) func(*corev1.PodTemplateSpec) {
	return mounts(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}})
}

// makes gives a pod an ephemeral volume.
func makes(class string) func(*corev1.PodTemplateSpec) {
	return mounts(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claimSpec(class)},
	}})
}

func mounts(source corev1.VolumeSource) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: fmt.Sprintf("v%d", len(t.Spec.Volumes)), VolumeSource: source})
	}
}

// TestAWSVolumes: pods run in the zones of their volumes, whether the volumes exist, are provisioned immediately or when the node of
// the pod is known; and no node has more volumes than its instance can have attached, although more pods would fit.
func TestAWSVolumes(t *testing.T) {
	t.Attr("covers", "A381")
	t.Parallel()
	w := begin(t)
	a := w.accountWith(awscluster.Options{Types: []string{"m5.large", "m5.xlarge"}, Volumes: true})
	w.create(
		storageClass("later", storagev1.VolumeBindingWaitForFirstConsumer), storageClass("later-in-b", storagev1.VolumeBindingWaitForFirstConsumer, "us-east-1b"),
		storageClass("at-once-in-d", storagev1.VolumeBindingImmediate, "us-east-1d"),
	)
	there := volumeIn("us-east-1d")
	bound := volumeClaim("pre-bound", "")
	bound.Spec.VolumeName = there.Name
	w.create(there, bound, volumeClaim("dynamic", "later-in-b"), volumeClaim("immediate", "at-once-in-d"))

	const many, each = 20, 2
	cases := map[string]struct {
		zone     string // empty for any
		replicas int32
		pod      []func(*corev1.PodTemplateSpec)
	}{
		"pre-bound": {"us-east-1d", 1, []func(*corev1.PodTemplateSpec){uses("pre-bound")}},
		"immediate": {"us-east-1d", 1, []func(*corev1.PodTemplateSpec){uses("immediate")}},
		"dynamic":   {"us-east-1b", 1, []func(*corev1.PodTemplateSpec){uses("dynamic")}},
		"ephemeral": {"us-east-1b", 1, []func(*corev1.PodTemplateSpec){makes("later-in-b")}},
		"limited":   {"", many, []func(*corev1.PodTemplateSpec){makes("later"), makes("later")}},
	}
	pods := map[string]int32{}
	for name, c := range cases {
		d := awsPods(name, c.replicas, c.pod...)
		w.create(awsClass(name), awsPool(name, []string{"m5.large"}, func(p *v1.NodePool) {
			p.Spec.Template.Spec.StartupTaints = []corev1.Taint{{Key: ebs.NotReady, Effect: corev1.TaintEffectNoExecute}}
			if name == "limited" { // the pods would fit one
				p.Spec.Template.Spec.Requirements[0] = in(corev1.LabelInstanceTypeStable, "m5.xlarge")
			}
		}), d)
		pods[name] = c.replicas
	}
	w.controller(a.Flags()...)
	w.awaitCases(pods)
	for name, c := range cases {
		nodes := w.nodesOf(a, name)
		if c.zone != "" && (len(nodes) != 1 || nodes[0].Labels[corev1.LabelTopologyZone] != c.zone) {
			t.Errorf("%s: %d nodes, want one in %s", name, len(nodes), c.zone)
		}
		if name == "limited" && len(nodes) < 2 {
			t.Errorf("%d pods with %d volumes each are on %d nodes, want 2 at least", many, each, len(nodes))
		}
		used := w.volumesUsed(name)
		for _, n := range nodes {
			if used[n.Name] == 0 || used[n.Name] > n.instance.Volumes {
				t.Errorf("%s: %d volumes are used on a node that can have %d attached", name, used[n.Name], n.instance.Volumes)
			}
			if name == "limited" && (many*each <= n.instance.Volumes || n.pods() < many) {
				t.Errorf("%s: a node has capacity for %d pods and %d volumes, so that the number of volumes is no limit", name, n.pods(), n.instance.Volumes)
			}
		}
	}
}

// volumesUsed is how many volumes the pods of a case use, by node.
func (w *harness) volumesUsed(name string) map[string]int64 {
	w.t.Helper()
	out := map[string]int64{}
	for _, pod := range w.pods() {
		if pod.Labels["app"] == name {
			for _, v := range pod.Spec.Volumes {
				if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
					out[pod.Spec.NodeName]++
				}
			}
		}
	}
	return out
}
