package main

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// nodeName is the name of the i-th Node.
func nodeName(i int) string { return fmt.Sprintf("kwok-%s-%05d", poolName, i) }

// readyClaim is a NodeClaim as a controller leaves it when its Node is ready.
func readyClaim(owner *v1.NodePool, i int) *v1.NodeClaim {
	claim := newClaim(owner, i)
	claim.Finalizers = []string{v1.TerminationFinalizer}
	maps.Copy(claim.Labels, map[string]string{
		corev1.LabelInstanceTypeStable: claimType, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		corev1.LabelTopologyZone: fmt.Sprintf("test-zone-%c", 'a'+i%4), v1.CapacityTypeLabelKey: "spot",
		"karpenter.kwok.sh/instance-cpu": "16", "karpenter.kwok.sh/instance-memory": "34359738368",
		"karpenter.kwok.sh/instance-family": "c", "karpenter.kwok.sh/instance-size": "16x",
	})
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("32Gi"),
		corev1.ResourcePods: resource.MustParse("256"), corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"),
	}
	claim.Status = v1.NodeClaimStatus{
		NodeName: nodeName(i), ProviderID: "kwok://" + nodeName(i), Capacity: capacity, Allocatable: capacity,
	}
	for _, kind := range []string{v1.ConditionTypeLaunched, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized, "Ready"} {
		claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: kind, LastTransitionTime: metav1.Now(), ObservedGeneration: 1,
		})
	}
	return claim
}

// readyNode is the Node of claim, initialized and ready.
func readyNode(claim *v1.NodeClaim, i int) *corev1.Node {
	blocks := true
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: nodeName(i), Labels: maps.Clone(claim.Labels), Finalizers: []string{v1.TerminationFinalizer},
		Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1.SchemeGroupVersion.String(), Kind: "NodeClaim", Name: claim.Name, UID: claim.UID, BlockOwnerDeletion: &blocks,
		}},
	}}
	maps.Copy(node.Labels, map[string]string{
		v1.NodeRegisteredLabelKey: "true", v1.NodeInitializedLabelKey: "true", corev1.LabelHostname: claim.Name,
		"kwok.x-k8s.io/node": "fake", "kwok-partition": "a",
	})
	node.Spec.ProviderID = claim.Status.ProviderID
	node.Status = corev1.NodeStatus{
		Capacity: claim.Status.Capacity, Allocatable: claim.Status.Allocatable,
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.%d.%d.1", i/256, i%256)}},
		NodeInfo:  corev1.NodeSystemInfo{KubeletVersion: "v1.37.1", OperatingSystem: "linux", Architecture: "amd64", OSImage: "an image"},
	}
	for _, kind := range []corev1.NodeConditionType{
		corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable,
	} {
		status := corev1.ConditionFalse
		if kind == corev1.NodeReady {
			status = corev1.ConditionTrue
		}
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: status, Reason: "KubeletSays", Message: "what the kubelet has to say about this",
			LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		})
	}
	for n := range 20 {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names:     []string{fmt.Sprintf("registry.example.com/team/image-%d@sha256:%064x", n, n), fmt.Sprintf("registry.example.com/team/image-%d:v1", n)},
			SizeBytes: 100_000_000,
		})
	}
	return node
}

// runningPod is a typical pod: with labels, annotations, an environment, probes, mounts, a token and the status that the kubelet
// writes.
func runningPod(node string, i int) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "app-", Namespace: metav1.NamespaceDefault,
		Labels: map[string]string{
			"app.kubernetes.io/name": fmt.Sprintf("app-%d", i%100), "app.kubernetes.io/instance": "production",
			"app.kubernetes.io/managed-by": "Helm", "pod-template-hash": fmt.Sprintf("%08x", i%100), "team": fmt.Sprintf("team-%d", i%10),
		},
		Annotations: map[string]string{
			"prometheus.io/scrape": "true", "prometheus.io/port": "8080", "checksum/config": fmt.Sprintf("%064x", i%100),
			"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z",
		},
	}}
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}}}
	token := corev1.VolumeMount{Name: "kube-api-access", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}
	app := corev1.Container{
		Name: "main", Image: "registry.example.com/team/app:v1.2.3", Resources: requests("100m", "128Mi"),
		Ports:         []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
		LivenessProbe: probe, ReadinessProbe: probe,
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/app"}, {Name: "tmp", MountPath: "/tmp"}, token},
	}
	for v := range 12 {
		app.Env = append(app.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", v), Value: fmt.Sprintf("some value of a setting, number %d", v)})
	}
	proxy := corev1.Container{
		Name: "sidecar", Image: "registry.example.com/infra/proxy:v3.2.1", Resources: requests("20m", "32Mi"),
		Args: []string{"--mode=sidecar", "--upstream=127.0.0.1:8080"}, VolumeMounts: []corev1.VolumeMount{token},
	}
	pod.Spec = corev1.PodSpec{NodeName: node, ServiceAccountName: "default", Containers: []corev1.Container{app, proxy}, Volumes: podVolumes()}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, HostIP: "10.0.0.1", PodIP: "10.1.0.1", StartTime: new(metav1.Now()), QOSClass: corev1.PodQOSBurstable}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: new(true),
			ImageID:     fmt.Sprintf("%s@sha256:%064x", c.Image, 7),
			ContainerID: fmt.Sprintf("containerd://%064x", i),
			Resources:   &c.Resources, AllocatedResources: c.Resources.Requests,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		})
	}
	return pod
}

func podVolumes() []corev1.Volume {
	reference := corev1.LocalObjectReference{Name: "app"}
	return []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: reference}}},
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: reference, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
			}}},
		}}}},
	}
}
