package main

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// The namespaces of the two tenants.
const (
	attacker = "attacker"
	honest   = "honest"
)

const (
	// waveLabel is the label of honest pods with the number of their wave.
	waveLabel = "wave"
	// teamKey is a label that pools with openKey leave to pods.
	teamKey = "example.com/team"
	// cpuKey is where the simulated cloud writes how many cores an instance type has.
	cpuKey = "karpenter.kwok.sh/instance-cpu"
	// poolGrace is how long nodes of pools with shortGrace may drain.
	poolGrace = 5 * time.Second
	// ignoreSIGTERM lets a simulated pod run to the end of its grace period.
	ignoreSIGTERM = "local.karpenter-anew.dev/ignore-sigterm"
)

func newPool() *v1.NodePool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1alpha1.Group, Kind: "KWOKNodeClass", Name: "default"}
	p.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}},
		{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"linux"}},
	}
	// Attacks are about launches; pods that consolidation moves would be slow for another reason.
	p.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{}
	return p
}

// openKey leaves the value of a label to pods.
func openKey(p *v1.NodePool) {
	p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements,
		v1.NodeSelectorRequirementWithMinValues{Key: teamKey, Operator: corev1.NodeSelectorOpExists})
}

// shortGrace limits how long nodes drain.
func shortGrace(p *v1.NodePool) {
	p.Spec.Template.Spec.TerminationGracePeriod = &metav1.Duration{Duration: poolGrace}
}

// newPod is a pod of the attacker that requests one core.
func newPod(name string, edit func(*corev1.Pod)) client.Object {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: attacker, Name: name, Labels: map[string]string{"app": attacker}}}
	pod.Spec = podSpec("1")
	edit(pod)
	return pod
}

func podSpec(cpu string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "app", Image: "registry.k8s.io/pause:3.10",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
	}}}
}

// newWave is a workload of honest pods.
func newWave(number, pods int) *appsv1.Deployment {
	labels := map[string]string{"app": honest, waveLabel: fmt.Sprint(number)}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: honest, Name: fmt.Sprintf("wave-%d", number)}}
	d.Spec.Replicas = ptr.To(int32(pods))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec = podSpec("1")
	return d
}

// prefer adds preferred node affinity terms of one expression each.
func prefer(pod *corev1.Pod, expressions ...corev1.NodeSelectorRequirement) {
	affinity := &corev1.NodeAffinity{}
	for _, e := range expressions {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{e}}})
	}
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: affinity}
}

// invalidPreferences have values that the API server accepts in a pod, but not in a NodeClaim.
func invalidPreferences() []client.Object {
	var out []client.Object
	for i, e := range []corev1.NodeSelectorRequirement{
		{Key: cpuKey, Operator: corev1.NodeSelectorOpGt, Values: []string{"-2"}},
		{Key: cpuKey, Operator: corev1.NodeSelectorOpLt, Values: []string{"9223372036854775807"}},
		{Key: teamKey, Operator: corev1.NodeSelectorOpIn, Values: []string{"not a label value!"}},
		{Key: teamKey, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"not a label value!"}},
		{Key: teamKey, Operator: corev1.NodeSelectorOpIn, Values: []string{strings.Repeat("a", 64)}},
		{Key: v1.NodePoolLabelKey, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"not a label value!"}},
		{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"not a host name!"}},
	} {
		out = append(out, newPod(fmt.Sprintf("attacker-%d", i), func(pod *corev1.Pod) { prefer(pod, e) }))
	}
	return out
}

// manyKeys prefer more keys to be absent than a NodeClaim has requirements, as terms and as expressions of one term.
func manyKeys() []client.Object {
	var apart []corev1.NodeSelectorRequirement
	for i := range 105 {
		apart = append(apart, corev1.NodeSelectorRequirement{Key: fmt.Sprintf("example.com/key-%d", i), Operator: corev1.NodeSelectorOpNotIn, Values: []string{"a"}})
	}
	var values []string
	for i := range 1000 {
		values = append(values, fmt.Sprintf("value-%d", i))
	}
	return []client.Object{
		newPod("apart", func(pod *corev1.Pod) { prefer(pod, apart...) }),
		newPod("together", func(pod *corev1.Pod) {
			prefer(pod, apart[0])
			pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Preference.MatchExpressions = apart
		}),
		newPod("required", func(pod *corev1.Pod) {
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: apart}},
			}}}
		}),
		newPod("values", func(pod *corev1.Pod) {
			prefer(pod, corev1.NodeSelectorRequirement{Key: teamKey, Operator: corev1.NodeSelectorOpNotIn, Values: values})
		}),
	}
}

// distinctPreferences are pods each of which names keys that no other names.
func distinctPreferences() []client.Object {
	var out []client.Object
	for i := range 300 {
		out = append(out, newPod(fmt.Sprintf("attacker-%d", i), func(pod *corev1.Pod) {
			var list []corev1.NodeSelectorRequirement
			for j := range 100 {
				list = append(list, corev1.NodeSelectorRequirement{
					Key: fmt.Sprintf("pod-%d.example.com/key-%d", i, j), Operator: corev1.NodeSelectorOpNotIn, Values: []string{"a"},
				})
			}
			prefer(pod, list...)
		}))
	}
	return out
}

// softConstraints are a pod with as many preferred spread constraints as fit in an object.
func softConstraints() []client.Object {
	return []client.Object{newPod("attacker", func(pod *corev1.Pod) {
		for i := range 4000 {
			pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
				MaxSkew: 1, TopologyKey: fmt.Sprintf("example.com/key-%d", i), WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": attacker}},
			})
		}
	})}
}

// endlessGrace is a protected pod whose grace period is more nanoseconds than an int64 holds.
func endlessGrace() []client.Object {
	return []client.Object{newPod("attacker", func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{ignoreSIGTERM: "true", v1.DoNotDisruptAnnotationKey: "true"}
		pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(9_223_372_037))
	})}
}

// invented are pods that request resources that no node has.
func invented(pods, names int) []client.Object {
	var out []client.Object
	for i := range pods {
		out = append(out, newPod(fmt.Sprintf("attacker-%d", i), func(pod *corev1.Pod) {
			r := &pod.Spec.Containers[0].Resources
			r.Limits = corev1.ResourceList{}
			for j := range names {
				name := corev1.ResourceName(fmt.Sprintf("a.b/%d-%d", i, j))
				r.Requests[name], r.Limits[name] = resource.MustParse("1"), resource.MustParse("1")
			}
		}))
	}
	return out
}

// inventedDaemonSets are pods that name as owners DaemonSets that do not exist.
func inventedDaemonSets() []client.Object {
	var out []client.Object
	for i := range 2000 {
		out = append(out, newPod(fmt.Sprintf("attacker-%d", i), func(pod *corev1.Pod) {
			name := fmt.Sprintf("invented-%d", i)
			pod.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "DaemonSet", Name: name, UID: types.UID(name), Controller: ptr.To(true),
			}}
			pod.Annotations = map[string]string{"example.com/note": name + strings.Repeat(" ", 150<<10)}
		}))
	}
	return out
}

// oversizedDaemonSet requests more on each node than any instance type has.
func oversizedDaemonSet() []client.Object {
	labels := map[string]string{"app": "oversized"}
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: attacker, Name: "oversized"}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec = podSpec("100000")
	return []client.Object{d}
}

// overflowing are pods whose containers together request more than an int64 holds: the sum wraps to less than nothing with two, and to a
// lot with three.
func overflowing() []client.Object {
	var out []client.Object
	for i, request := range []corev1.ResourceList{
		{corev1.ResourceMemory: resource.MustParse("8E")},
		{corev1.ResourceCPU: resource.MustParse("9000000000000000")},
		{corev1.ResourceEphemeralStorage: resource.MustParse("8E")},
	} {
		for _, containers := range []int{2, 3} {
			out = append(out, newPod(fmt.Sprintf("attacker-%d-%d", i, containers), func(pod *corev1.Pod) {
				container := pod.Spec.Containers[0]
				pod.Spec.Containers = nil
				for j := range containers {
					container.Name, container.Resources.Requests = fmt.Sprintf("app-%d", j), request
					pod.Spec.Containers = append(pod.Spec.Containers, container)
				}
			}))
		}
	}
	return out
}
