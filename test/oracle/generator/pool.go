package generator

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/test/oracle/judge"
)

func newClass() *v1alpha1.KWOKNodeClass {
	return &v1alpha1.KWOKNodeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.Group + "/v1alpha1", Kind: "KWOKNodeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: nodeClass},
	}
}

func newNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": "blue", corev1.LabelMetadataName: name}},
	}
}

// pool adds a NodePool.
func (d *draw) pool(name string) {
	d.pools = append(d.pools, name)
	pool := &v1.NodePool{TypeMeta: metav1.TypeMeta{APIVersion: "karpenter.sh/v1", Kind: "NodePool"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	if d.one(2) {
		weight := int32(1 + d.IntN(3))
		pool.Spec.Weight = &weight
	}
	spec := &pool.Spec.Template.Spec
	spec.NodeClassRef = &v1.NodeClassReference{Group: v1alpha1.Group, Kind: "KWOKNodeClass", Name: nodeClass}
	require := func(key string, operator corev1.NodeSelectorOperator, values ...string) {
		spec.Requirements = append(spec.Requirements, v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: operator, Values: values})
	}
	require(corev1.LabelOSStable, corev1.NodeSelectorOpIn, "linux")
	if !d.one(4) {
		require(corev1.LabelArchStable, corev1.NodeSelectorOpIn, some(d, 2, d.words(corev1.LabelArchStable)...)...)
	}
	switch d.IntN(4) {
	case 0:
		require(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, some(d, 3, d.words(corev1.LabelTopologyZone)...)...)
	case 1:
		require(corev1.LabelTopologyZone, corev1.NodeSelectorOpNotIn, pick(d, d.words(corev1.LabelTopologyZone)...))
	case 2:
		require(corev1.LabelTopologyZone, corev1.NodeSelectorOpExists)
	}
	if d.one(2) {
		require(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, some(d, 2, d.words(v1.CapacityTypeLabelKey)...)...)
	}
	switch d.IntN(3) {
	case 0:
		require(cpuLabel, corev1.NodeSelectorOpLt, pick(d, "5", "17"))
	case 1:
		require(cpuLabel, corev1.NodeSelectorOpIn, some(d, 4, d.words(cpuLabel)...)...)
	}
	if d.one(3) {
		require(rackLabel, corev1.NodeSelectorOpIn, some(d, 3, d.words(rackLabel)...)...)
	}
	if d.has(MinValues, 3) {
		i := d.IntN(len(spec.Requirements))
		n := 1 + d.IntN(3)
		if r := &spec.Requirements[i]; r.Operator != corev1.NodeSelectorOpIn || len(r.Values) >= n {
			r.MinValues = &n
		}
	}
	if d.one(3) {
		pool.Spec.Template.Labels = map[string]string{teamLabel: pick(d, d.words(teamLabel)...)}
	}
	spec.Taints = d.taints()
	if d.one(6) {
		spec.StartupTaints = []corev1.Taint{{Key: "example.com/starting", Effect: corev1.TaintEffectNoSchedule}}
	}
	switch d.IntN(6) {
	case 0:
		pool.Spec.Limits = v1.Limits{corev1.ResourceCPU: resource.MustParse(strconv.Itoa(d.IntN(40)))}
	case 1:
		pool.Spec.Limits = v1.Limits{v1.ResourceNodes: resource.MustParse(strconv.Itoa(d.IntN(4)))}
	}
	d.add(pool)
}

func (d *draw) taints() []corev1.Taint {
	switch d.IntN(8) {
	case 0:
		return []corev1.Taint{{Key: taintKey, Value: "x", Effect: corev1.TaintEffectNoSchedule}}
	case 1:
		return []corev1.Taint{{Key: taintKey, Value: "y", Effect: corev1.TaintEffectPreferNoSchedule}}
	case 2:
		return []corev1.Taint{{Key: taintKey, Value: "z", Effect: corev1.TaintEffectNoExecute}}
	}
	return nil
}

// node adds a node that exists, with its pods.
func (d *draw) node(name string) {
	d.nodes = append(d.nodes, name)
	node := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: pick(d, d.words(corev1.LabelArchStable)...),
			v1.CapacityTypeLabelKey: pick(d, d.words(v1.CapacityTypeLabelKey)...),
		}},
		Spec: corev1.NodeSpec{Taints: d.taints()},
	}
	if d.one(10) { // cordoned: the node controller adds the taint
		node.Spec.Unschedulable = true
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	if !d.one(3) {
		node.Status.DeclaredFeatures = []string{judge.RestartFeature}
	}
	if !d.has(NodesWithoutZone, 6) {
		node.Labels[corev1.LabelTopologyZone] = pick(d, d.words(corev1.LabelTopologyZone)...)
	}
	if d.one(3) {
		node.Labels[teamLabel] = pick(d, d.words(teamLabel)...)
	}
	if d.one(3) {
		node.Labels[rackLabel] = pick(d, d.words(rackLabel)...)
	}
	node.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(1+d.IntN(8)), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods:   *resource.NewQuantity(int64(2+d.IntN(10)), resource.DecimalSI),
	}
	d.add(node)
	for i := range d.IntN(3) {
		pod := &corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace(), Name: name + "-pod-" + strconv.Itoa(i), Labels: d.podLabels()},
		}
		pod.Spec.NodeName = name
		pod.Spec.Containers = []corev1.Container{container("app", "50m", "64Mi")}
		if d.one(3) {
			d.antiAffinity(&pod.Spec)
		}
		if d.one(5) {
			d.volumes(&pod.Spec)
		}
		d.add(pod)
	}
}

func (d *draw) namespace() string {
	if d.one(6) {
		return elsewhere
	}
	return metav1.NamespaceDefault
}

func (d *draw) podLabels() map[string]string {
	labels := map[string]string{appLabel: pick(d, "a", "b", "c")}
	if d.one(2) {
		labels[tierLabel] = pick(d, "front", "back")
	}
	return labels
}

func container(name, cpu, memory string) corev1.Container {
	c := corev1.Container{Name: name, Image: "registry.k8s.io/pause:3.10"}
	c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	return c
}
