package generator

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// workload adds a Deployment.
func (d *draw) workload(name string) {
	replicas := int32(1 + d.IntN(6))
	labels := d.podLabels()
	w := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace(), Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
	w.Spec.Template.Labels = labels
	spec := &w.Spec.Template.Spec
	d.containers(spec)
	topology := d.IntN(7)
	d.nodeConstraints(spec, topology < 2 || topology == 4 || topology == 5)
	d.tolerations(spec)
	switch topology {
	case 0, 1:
		d.spreads(spec)
	case 2:
		d.affinity(spec)
	case 3:
		d.antiAffinity(spec)
	case 4:
		d.spreads(spec)
		d.antiAffinity(spec)
	case 5:
		d.affinity(spec)
		d.spreads(spec)
	}
	if d.one(4) {
		d.volumes(spec)
	}
	d.add(w)
}

func (d *draw) containers(spec *corev1.PodSpec) {
	c := container("app", pick(d, "100m", "250m", "500m", "900m", "1700m", "3"), pick(d, "64Mi", "512Mi", "2Gi", "6Gi"))
	if d.one(8) {
		c.Ports = []corev1.ContainerPort{d.hostPort()}
	}
	if d.has(RestartRules, 6) {
		never := corev1.ContainerRestartPolicyNever
		c.RestartPolicy = &never
		c.RestartPolicyRules = []corev1.ContainerRestartRule{{
			Action:    corev1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
		}}
	}
	spec.Containers = []corev1.Container{c}
	if d.one(6) {
		spec.InitContainers = append(spec.InitContainers, container("init", pick(d, "100m", "2"), "64Mi"))
	}
	if d.one(6) {
		sidecar := container("sidecar", pick(d, "50m", "300m"), "64Mi")
		always := corev1.ContainerRestartPolicyAlways
		sidecar.RestartPolicy = &always
		if d.has(SidecarPorts, 2) {
			sidecar.Ports = []corev1.ContainerPort{d.hostPort()}
		}
		spec.InitContainers = append(spec.InitContainers, sidecar)
	}
}

func (d *draw) hostPort() corev1.ContainerPort {
	port := corev1.ContainerPort{ContainerPort: 80, HostPort: pick[int32](d, 8080, 8081)}
	if d.one(3) {
		port.HostIP = pick(d, "10.0.0.1", "0.0.0.0")
	}
	if d.one(3) {
		port.Protocol = corev1.ProtocolUDP
	}
	return port
}

// nodeConstraints are selectors and node affinity, required and preferred.
func (d *draw) nodeConstraints(spec *corev1.PodSpec, spread bool) {
	keys := []string{corev1.LabelTopologyZone, corev1.LabelTopologyZone, v1.CapacityTypeLabelKey, corev1.LabelArchStable}
	if _, off := d.off[CustomBesideSpread]; !off || !spread {
		keys = append(keys, cpuLabel, teamLabel, rackLabel, v1.NodePoolLabelKey)
	}
	most := 3
	if _, off := d.off[AlternativesBesideSpread]; off && spread {
		most = 1
	}
	if d.one(4) {
		key := pick(d, keys...)
		spec.NodeSelector = map[string]string{key: pick(d, d.words(key)...)}
	}
	if d.one(4) {
		var terms []corev1.NodeSelectorTerm
		for range 1 + d.IntN(most) {
			terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: d.expressions(keys)})
		}
		nodeAffinity(spec).RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
	}
	if d.one(4) {
		to := nodeAffinity(spec)
		for range 1 + d.IntN(2) {
			to.PreferredDuringSchedulingIgnoredDuringExecution = append(to.PreferredDuringSchedulingIgnoredDuringExecution, corev1.PreferredSchedulingTerm{
				Weight: int32(1 + d.IntN(100)), Preference: corev1.NodeSelectorTerm{MatchExpressions: d.expressions(keys)},
			})
		}
	}
}

// nodeNames adds names of nodes to terms of node affinity, or terms with names. A name may be that of no node.
func (d *draw) nodeNames(spec *corev1.PodSpec) {
	old := d.Rand
	d.Rand = d.names
	defer func() { d.Rand = old }()
	if !d.has(NodeNames, 3) {
		return
	}
	name := func() []corev1.NodeSelectorRequirement {
		operator := pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn)
		return []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: operator, Values: []string{pick(d, append(d.nodes, "no-node")...)}}}
	}
	to := nodeAffinity(spec)
	if d.one(4) {
		to.PreferredDuringSchedulingIgnoredDuringExecution = append(to.PreferredDuringSchedulingIgnoredDuringExecution, corev1.PreferredSchedulingTerm{
			Weight: int32(1 + d.IntN(100)), Preference: corev1.NodeSelectorTerm{MatchFields: name()},
		})
		return
	}
	if to.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		to.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
	}
	required := to.RequiredDuringSchedulingIgnoredDuringExecution
	for i := range required.NodeSelectorTerms {
		if d.one(3) {
			required.NodeSelectorTerms[i].MatchFields = name()
		}
	}
	for range d.IntN(3) {
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchFields: name()})
	}
	if len(required.NodeSelectorTerms) == 0 {
		required.NodeSelectorTerms = []corev1.NodeSelectorTerm{{MatchFields: name()}}
	}
}

func nodeAffinity(spec *corev1.PodSpec) *corev1.NodeAffinity {
	if a := affinity(spec); a.NodeAffinity == nil {
		a.NodeAffinity = &corev1.NodeAffinity{}
	}
	return spec.Affinity.NodeAffinity
}

func affinity(spec *corev1.PodSpec) *corev1.Affinity {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	return spec.Affinity
}

func (d *draw) expressions(keys []string) []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for _, key := range some(d, 2, keys...) {
		e := corev1.NodeSelectorRequirement{Key: key, Operator: pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists)}
		switch {
		case key == cpuLabel && d.one(2):
			e.Operator, e.Values = pick(d, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt), []string{pick(d, "1", "3", "8")}
		case d.one(12):
			e.Operator = corev1.NodeSelectorOpDoesNotExist
		case e.Operator != corev1.NodeSelectorOpExists:
			e.Values = some(d, 2, d.words(key)...)
		}
		out = append(out, e)
	}
	return out
}

func (d *draw) tolerations(spec *corev1.PodSpec) {
	switch d.IntN(4) {
	case 0:
		spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	case 1:
		spec.Tolerations = []corev1.Toleration{{Key: taintKey, Value: pick(d, "x", "y", "z")}}
	}
}

// daemon adds a DaemonSet.
func (d *draw) daemon(name string) {
	labels := map[string]string{"daemon": name, tierLabel: "daemon"}
	if d.has(LabeledDaemons, 3) {
		labels = d.podLabels()
	}
	w := &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
	w.Spec.Template.Labels = labels
	spec := &w.Spec.Template.Spec
	spec.Containers = []corev1.Container{container("app", pick(d, "50m", "100m", "600m"), "64Mi")}
	if d.one(5) {
		spec.Containers[0].Ports = []corev1.ContainerPort{d.hostPort()}
	}
	d.tolerations(spec)
	switch d.IntN(4) {
	case 0:
		spec.NodeSelector = map[string]string{corev1.LabelArchStable: pick(d, d.words(corev1.LabelArchStable)...)}
	case 1:
		spec.NodeSelector = map[string]string{teamLabel: pick(d, d.words(teamLabel)...)}
	}
	if d.has(RestrictedDaemons, 3) {
		key := pick(d, corev1.LabelTopologyZone, v1.CapacityTypeLabelKey)
		spec.NodeSelector = map[string]string{key: pick(d, d.words(key)...)}
		if _, off := d.off[RestrictedDaemonPorts]; off {
			spec.Containers[0].Ports = nil
		}
	}
	d.add(w)
	// On the nodes that exist its pods are bound.
	for i, node := range d.nodes {
		running := *spec.DeepCopy()
		running.NodeName = node
		d.add(&corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: metav1.NamespaceDefault, Name: fmt.Sprintf("%s-%d", name, i), Labels: labels,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: name, UID: "daemon", Controller: new(true)}},
			},
			Spec: running,
		})
	}
}
