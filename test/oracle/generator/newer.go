package generator

import (
	"math/rand/v2"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// The features of newer versions of Kubernetes that can be left out of problems.
const (
	// ComparingTolerations are tolerations with the operators Lt and Gt.
	ComparingTolerations Feature = "tolerations that compare numbers"
	// RequiredDrivers are CSI drivers that have to be installed on the node.
	RequiredDrivers Feature = "CSI drivers that must be installed"
	// PodResources are requests for the pod as a whole.
	PodResources Feature = "requests of pods as a whole"
	// Resizes are running pods whose resources are being changed.
	Resizes Feature = "pods under resize"
	// RuntimeFeatures are declared features of nodes that depend on the container runtime.
	RuntimeFeatures Feature = "declared features of the container runtime"
)

// newer adds what newer versions of Kubernetes know, to some of the problems. Its draws are separate: the other parts of the problem of a seed
// stay as they are.
func (d *draw) newer(seed uint64) {
	old := d.Rand
	d.Rand = rand.New(rand.NewPCG(seed, 0x137))
	defer func() { d.Rand = old }()
	if d.has(ComparingTolerations, 3) {
		d.compareTaints()
	}
	if d.has(RequiredDrivers, 3) {
		d.requireDriver()
	}
	for _, o := range d.objects {
		switch o := o.(type) {
		case *appsv1.Deployment:
			d.newerPod(&o.Spec.Template.Spec)
		case *corev1.Pod:
			if len(o.OwnerReferences) == 0 && d.has(Resizes, 2) {
				d.resize(o)
			}
		}
	}
}

// compareTaints makes the values of taints numbers, and some tolerations compare them.
func (d *draw) compareTaints() {
	numbers := map[string]string{"x": "1", "y": "5", "z": "90"}
	taints := func(list []corev1.Taint) {
		for i, t := range list {
			if t.Key == taintKey && !d.one(8) { // a taint whose value is no number is tolerated by no comparison
				list[i].Value = numbers[t.Value]
			}
		}
	}
	tolerations := func(list []corev1.Toleration) {
		for i := range list {
			if t := &list[i]; t.Key == taintKey {
				t.Operator = pick(d, corev1.TolerationOpLt, corev1.TolerationOpGt, corev1.TolerationOpEqual)
				t.Value = pick(d, "-3", "1", "5", "6", "100")
			}
		}
	}
	for _, o := range d.objects {
		switch o := o.(type) {
		case *v1.NodePool:
			taints(o.Spec.Template.Spec.Taints)
		case *corev1.Node:
			taints(o.Spec.Taints)
		case *appsv1.Deployment:
			tolerations(o.Spec.Template.Spec.Tolerations)
		case *appsv1.DaemonSet:
			tolerations(o.Spec.Template.Spec.Tolerations)
		}
	}
}

// requireDriver keeps pods with volumes off nodes without their driver. Some of the nodes that exist have it.
func (d *draw) requireDriver() {
	required := true
	d.add(&storagev1.CSIDriver{
		TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIDriver"},
		ObjectMeta: metav1.ObjectMeta{Name: driverName}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: &required},
	})
	for _, name := range d.nodes {
		if d.one(2) {
			continue
		}
		node := &storagev1.CSINode{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSINode"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
		if !d.one(3) {
			driver := storagev1.CSINodeDriver{Name: driverName, NodeID: name, TopologyKeys: []string{corev1.LabelTopologyZone}}
			if d.one(2) {
				count := int32(1 + d.IntN(3))
				driver.Allocatable = &storagev1.VolumeNodeResources{Count: &count}
			}
			node.Spec.Drivers = []storagev1.CSINodeDriver{driver}
		}
		d.add(node)
	}
}

// newerPod gives a pod requests as a whole, or a need for a feature that no node is known to have.
func (d *draw) newerPod(spec *corev1.PodSpec) {
	if d.has(PodResources, 5) {
		spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(pick(d, "4", "5500m"))}}
		if d.one(2) {
			spec.Resources.Requests[corev1.ResourceMemory] = resource.MustParse(pick(d, "8Gi", "10Gi"))
		}
	}
	if d.has(RuntimeFeatures, 12) {
		inHost := false
		spec.HostNetwork, spec.HostUsers = true, &inHost
		for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
			for i := range list {
				list[i].Ports = nil
			}
		}
	}
}

// resize lets a running pod wait for more resources, or have other ones than it requests.
func (d *draw) resize(pod *corev1.Pod) {
	c := &pod.Spec.Containers[0]
	applied := c.Resources.Requests.DeepCopy()
	status := corev1.ContainerStatus{Name: c.Name, AllocatedResources: applied, Resources: &corev1.ResourceRequirements{Requests: applied}}
	larger := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(pick(d, "800m", "2")), corev1.ResourceMemory: resource.MustParse("1Gi")}
	switch d.IntN(3) {
	case 0: // it has not shrunk yet
		status.AllocatedResources, status.Resources = larger, &corev1.ResourceRequirements{Requests: larger}
	case 1: // it has not grown yet
		c.Resources.Requests = larger
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: pick(d, corev1.PodReasonDeferred, corev1.PodReasonInfeasible),
		}}
	case 2: // it is growing
		c.Resources.Requests, status.AllocatedResources = larger, larger
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue}}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
}

// declared is the part of a status that manifests have.
func declared(status map[string]any, keys ...string) map[string]any {
	out := map[string]any{}
	for key, value := range status {
		if slices.Contains(keys, key) {
			out[key] = value
		}
	}
	return out
}
