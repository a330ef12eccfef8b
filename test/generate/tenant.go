package generate

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Tenant returns what users of a namespace create: pods, volume claims, PodDisruptionBudgets and ResourceClaims, and with them DaemonSets and
// the volumes, storage classes and device classes that claims name. The API server admits the objects, but for some values that it once
// admitted or may admit: the first choice of each field is the harmless one.
func Tenant(s *Source) []client.Object {
	w := tenant{s}
	out := w.storage()
	for i := range 1 + s.below(maxEntries) {
		pod := &corev1.Pod{ObjectMeta: w.meta(fmt.Sprintf("pod-%d", i)), Spec: w.podSpec()}
		if s.wants() {
			pod.Annotations = map[string]string{pick(s, tenantAnnotations()): pick(s, texts())}
		}
		out = append(out, pod)
	}
	if s.wants() {
		labels := map[string]string{"app": "a"}
		d := &appsv1.Deployment{ObjectMeta: w.meta("many")}
		d.Spec.Replicas = ptr.To(int32(1 + s.below(6)))
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		d.Spec.Template.Labels, d.Spec.Template.Spec = labels, w.podSpec()
		out = append(out, d)
	}
	if s.wants() {
		labels := map[string]string{"daemon": "a"}
		d := &appsv1.DaemonSet{ObjectMeta: w.meta("agent")}
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		d.Spec.Template.Labels, d.Spec.Template.Spec = labels, w.podSpec()
		out = append(out, d)
	}
	if s.wants() {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: w.meta("budget")}
		b.Spec.Selector = w.selector()
		limit := intstr.Parse(pick(s, []string{"1", "0", "50%", "100%", "2147483647", "-1", "x"}))
		if s.wants() {
			b.Spec.MinAvailable = &limit
		} else {
			b.Spec.MaxUnavailable = &limit
		}
		out = append(out, b)
	}
	return append(out, w.devices()...)
}

// tenant writes objects of users.
type tenant struct{ *Source }

// pick is the next choice from a list.
func pick[T any](s *Source, list []T) T { return list[s.below(len(list))] }

// tenantKeys are keys of labels: of nodes, of pools that leave the value to pods, and others.
func tenantKeys() []string {
	return []string{
		corev1.LabelTopologyZone, corev1.LabelHostname, "example.com/team", corev1.LabelInstanceTypeStable, "karpenter.sh/capacity-type",
		"karpenter.kwok.sh/instance-cpu", "karpenter.kwok.sh/instance-family", corev1.LabelArchStable, corev1.LabelOSStable, "karpenter.sh/nodepool",
		"app", "example.com/other", "karpenter.sh/initialized", "node.kubernetes.io/exclude-from-external-load-balancers",
		corev1.LabelFailureDomainBetaZone, "kubernetes.io/no-such-label", "karpenter.sh/no-such-label", strings.Repeat("a", 63),
	}
}

// tenantValues are values of labels, and such that no label may have: the API server has not always looked at preferences.
func tenantValues() []string {
	return []string{
		"test-zone-a", "a", "b", "test-zone-b", "spot", "on-demand", "4", "0", "-2", "9223372036854775807", "-9223372036854775808", "99999999999999999999",
		"c-4x-amd64-linux", "amd64", "arm64", "linux", "default", "", "not a label value!", strings.Repeat("v", 63), strings.Repeat("v", 64), "\x00", "ä", "'\"$(x)",
	}
}

func tenantAnnotations() []string {
	return []string{"karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/safe-to-evict", corev1.PodDeletionCost, "a"}
}

func (w tenant) meta(name string) metav1.ObjectMeta {
	o := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, Labels: map[string]string{"app": "a"}}
	if w.wants() {
		o.Labels[pick(w.Source, tenantKeys())] = "a"
	}
	return o
}

func (w tenant) podSpec() corev1.PodSpec {
	s := corev1.PodSpec{Containers: w.containers("app")}
	if w.wants() {
		s.InitContainers = w.containers("init")
		if w.wants() {
			s.InitContainers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
	}
	if w.wants() {
		s.Overhead = w.amounts()
	}
	if w.wants() {
		s.Resources = &corev1.ResourceRequirements{Requests: w.amounts()}
	}
	if w.wants() {
		s.NodeSelector = map[string]string{pick(w.Source, tenantKeys()): pick(w.Source, tenantValues())}
	}
	if w.wants() {
		s.Affinity = &corev1.Affinity{NodeAffinity: w.nodeAffinity()}
	}
	if w.wants() {
		s.Affinity = w.podAffinity(s.Affinity)
	}
	for w.wants() && len(s.TopologySpreadConstraints) < maxEntries {
		s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, w.spread())
	}
	for w.wants() && len(s.Tolerations) < maxEntries {
		s.Tolerations = append(s.Tolerations, corev1.Toleration{
			Key: pick(w.Source, []string{"", "example.com/taint", "karpenter.sh/disrupted"}), Value: pick(w.Source, []string{"", "a"}),
			Operator: pick(w.Source, []corev1.TolerationOperator{corev1.TolerationOpExists, corev1.TolerationOpEqual, "", "Lt", "Gt"}),
			Effect:   pick(w.Source, []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}),
		})
	}
	if w.wants() {
		s.TerminationGracePeriodSeconds = ptr.To(pick(w.Source, []int64{30, 0, 1, 9_223_372_037, 9_223_372_036_854_775_807}))
	}
	if w.wants() {
		s.Priority = ptr.To(pick(w.Source, []int32{0, 1_000_000_000, -2_147_483_648}))
	}
	if w.wants() {
		s.HostNetwork = true
	}
	w.volumes(&s)
	for i := range w.below(2) {
		s.ResourceClaims = append(s.ResourceClaims, corev1.PodResourceClaim{Name: fmt.Sprint("claim-", i), ResourceClaimTemplateName: ptr.To("devices")})
		s.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: fmt.Sprint("claim-", i)}}
	}
	return s
}

func (w tenant) containers(name string) []corev1.Container {
	var out []corev1.Container
	for i := range 1 + w.below(3) {
		c := corev1.Container{Name: fmt.Sprint(name, "-", i), Image: "a", Resources: corev1.ResourceRequirements{Requests: w.amounts()}}
		if w.wants() {
			c.Resources.Limits = w.amounts()
		}
		if w.wants() {
			c.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: pick(w.Source, []int32{80, 0, 65535}), HostIP: pick(w.Source, []string{"", "127.0.0.1", "::"})}}
		}
		out = append(out, c)
	}
	return out
}

// amounts are requests or limits.
func (w tenant) amounts() corev1.ResourceList {
	list := corev1.ResourceList{corev1.ResourceCPU: w.amount()}
	for w.wants() && len(list) < maxEntries {
		list[pick(w.Source, []corev1.ResourceName{
			corev1.ResourceMemory, corev1.ResourceEphemeralStorage, "nvidia.com/gpu", corev1.ResourcePods, "hugepages-2Mi", "example.com/none", "attachable-volumes-a",
		})] = w.amount()
	}
	return list
}

func (w tenant) amount() resource.Quantity {
	return resource.MustParse(pick(w.Source, []string{
		"1", "100m", "1Gi", "0", "16", "250Mi", "9223372036854775807", "9223372036854775", "1E", "1n", "8E", "8Ei", "10Ti", "1e20", "9223372036854775807m",
	}))
}

func (w tenant) expressions() []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for range 1 + w.below(3) {
		e := corev1.NodeSelectorRequirement{Key: pick(w.Source, tenantKeys()), Operator: pick(w.Source, []corev1.NodeSelectorOperator{
			corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
			corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt,
		})}
		switch e.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			for range 1 + w.below(3) {
				e.Values = append(e.Values, pick(w.Source, tenantValues()))
			}
			if w.below(16) == 15 { // more values than a claim may have
				for i := range 120 {
					e.Values = append(e.Values, fmt.Sprint("value-", i))
				}
			}
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			e.Values = []string{pick(w.Source, []string{"1", "-2", "0", "4", "9223372036854775807", "-9223372036854775808", "99999999999999999999", "x"})}
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		}
		out = append(out, e)
	}
	if w.below(16) == 15 { // more keys than a claim may have
		for i := range 120 {
			out = append(out, corev1.NodeSelectorRequirement{Key: fmt.Sprint("example.com/key-", i), Operator: out[0].Operator, Values: out[0].Values})
		}
	}
	return out
}

func (w tenant) nodeAffinity() *corev1.NodeAffinity {
	a := &corev1.NodeAffinity{}
	for w.wants() && len(a.PreferredDuringSchedulingIgnoredDuringExecution) < maxEntries {
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution, corev1.PreferredSchedulingTerm{
			Weight: pick(w.Source, []int32{1, 100}), Preference: corev1.NodeSelectorTerm{MatchExpressions: w.expressions()},
		})
	}
	if w.wants() {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
		terms := &a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		for range 1 + w.below(3) {
			*terms = append(*terms, corev1.NodeSelectorTerm{MatchExpressions: w.expressions()})
		}
	}
	return a
}

func (w tenant) podAffinity(a *corev1.Affinity) *corev1.Affinity {
	if a == nil {
		a = &corev1.Affinity{}
	}
	var hard []corev1.PodAffinityTerm
	var soft []corev1.WeightedPodAffinityTerm
	for range 1 + w.below(2) {
		term := corev1.PodAffinityTerm{LabelSelector: w.selector(), TopologyKey: pick(w.Source, tenantKeys()), Namespaces: []string{"default"}}
		if w.wants() {
			hard = append(hard, term)
		} else {
			soft = append(soft, corev1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: term})
		}
	}
	if w.wants() {
		a.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: hard, PreferredDuringSchedulingIgnoredDuringExecution: soft}
	} else {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: hard, PreferredDuringSchedulingIgnoredDuringExecution: soft}
	}
	return a
}

func (w tenant) spread() corev1.TopologySpreadConstraint {
	t := corev1.TopologySpreadConstraint{
		MaxSkew: pick(w.Source, []int32{1, 2, 2_147_483_647}), TopologyKey: pick(w.Source, tenantKeys()), LabelSelector: w.selector(),
		WhenUnsatisfiable: pick(w.Source, []corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway}),
	}
	if w.wants() {
		t.MinDomains = ptr.To(pick(w.Source, []int32{1, 3, 2_147_483_647}))
	}
	if w.wants() {
		t.NodeAffinityPolicy = ptr.To(pick(w.Source, []corev1.NodeInclusionPolicy{corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor}))
	}
	if w.wants() {
		t.NodeTaintsPolicy = ptr.To(pick(w.Source, []corev1.NodeInclusionPolicy{corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor}))
	}
	if w.wants() {
		t.MatchLabelKeys = []string{pick(w.Source, []string{"app", "none"})}
	}
	return t
}

func (w tenant) selector() *metav1.LabelSelector {
	s := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	switch w.below(6) {
	case 1:
		return nil
	case 2:
		return &metav1.LabelSelector{}
	case 3:
		s.MatchExpressions = []metav1.LabelSelectorRequirement{{
			Key: "app", Values: []string{"a", "b"}, Operator: pick(w.Source, []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn}),
		}}
	case 4:
		s.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: pick(w.Source, tenantKeys()), Operator: metav1.LabelSelectorOpExists}}
	}
	return s
}

// volumes lets a pod mount claims of storage.
func (w tenant) volumes(s *corev1.PodSpec) {
	for w.wants() && len(s.Volumes) < maxEntries {
		v := corev1.Volume{Name: fmt.Sprint("volume-", len(s.Volumes))}
		if name := pick(w.Source, []string{"bound", "unbound", "none", "ephemeral"}); name == "ephemeral" {
			v.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: w.claimSpec()}}
		} else {
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}
		}
		s.Volumes = append(s.Volumes, v)
	}
}

func (w tenant) claimSpec() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{pick(w.Source, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteOncePod, corev1.ReadWriteMany})},
		StorageClassName: pick(w.Source, []*string{ptr.To("wait"), ptr.To("none"), nil, ptr.To("")}),
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: w.amount()}},
	}
}

// storage are a class, a claim that waits, and one that is bound to a volume.
func (w tenant) storage() []client.Object {
	if !w.wants() {
		return nil
	}
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "wait"}, Provisioner: pick(w.Source, []string{"ebs.csi.aws.com", "kubernetes.io/no-provisioner", "a"})}
	class.VolumeBindingMode = ptr.To(pick(w.Source, []storagev1.VolumeBindingMode{storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate}))
	for w.wants() && len(class.AllowedTopologies) < maxEntries {
		class.AllowedTopologies = append(class.AllowedTopologies, corev1.TopologySelectorTerm{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{
			Key: pick(w.Source, tenantKeys()), Values: []string{pick(w.Source, tenantValues())},
		}}})
	}
	unbound := &corev1.PersistentVolumeClaim{ObjectMeta: w.meta("unbound"), Spec: w.claimSpec()}
	unbound.Status.Phase = corev1.ClaimPending
	bound := &corev1.PersistentVolumeClaim{ObjectMeta: w.meta("bound"), Spec: w.claimSpec()}
	bound.Spec.VolumeName, bound.Status.Phase = "volume", corev1.ClaimBound
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "volume"}}
	volume.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	volume.Spec.AccessModes, volume.Spec.ClaimRef = bound.Spec.AccessModes, &corev1.ObjectReference{Namespace: bound.Namespace, Name: bound.Name}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: class.Provisioner, VolumeHandle: "a"}
	if w.wants() {
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: w.expressions()}}}}
	}
	return []client.Object{class, unbound, bound, volume}
}

// devices are a class of devices, and the template that pods make claims from.
func (w tenant) devices() []client.Object {
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	class.Spec.Selectors = []resourcev1.DeviceSelector{w.deviceSelector()}
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: w.meta("devices")}
	for i := range 1 + w.below(3) {
		exact := &resourcev1.ExactDeviceRequest{
			DeviceClassName: pick(w.Source, []string{"gpu", "none"}), Count: pick(w.Source, []int64{1, 2, 0, 9_223_372_036_854_775_807}),
			AllocationMode: pick(w.Source, []resourcev1.DeviceAllocationMode{resourcev1.DeviceAllocationModeExactCount, resourcev1.DeviceAllocationModeAll, ""}),
		}
		if w.wants() {
			exact.Selectors = []resourcev1.DeviceSelector{w.deviceSelector()}
		}
		template.Spec.Spec.Devices.Requests = append(template.Spec.Spec.Devices.Requests, resourcev1.DeviceRequest{Name: fmt.Sprint("request-", i), Exactly: exact})
	}
	return slices.Clip([]client.Object{class, template})
}

func (w tenant) deviceSelector() resourcev1.DeviceSelector {
	return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: pick(w.Source, []string{
		`device.driver == "gpu.example.org"`, "true", "false", `device.attributes["gpu.example.org"].model == "g3"`, `device.attributes["none"].none > 1`,
		`device.capacity["gpu.example.org"].memory.compareTo(quantity("8Ei")) > 0`, "1 + 1", "device.", `[1,2,3].map(x, [1,2,3].map(y, x*y)).size() > 2`,
	})}}
}
