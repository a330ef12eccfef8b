package translate_test

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresource "k8s.io/component-helpers/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// everything returns a pending pod with a value in every field that its translation reads.
func everything() *corev1.Pod {
	always, one := corev1.ContainerRestartPolicyAlways, int32(1)
	honor, ignore := corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore
	amounts := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("1Gi")}
	}
	selector := &metav1.LabelSelector{
		MatchLabels:      map[string]string{"app": "web"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"front"}}},
	}
	podTerm := corev1.PodAffinityTerm{
		LabelSelector: selector, Namespaces: []string{"other"}, TopologyKey: corev1.LabelTopologyZone,
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
		MatchLabelKeys:    []string{"pod-template-hash"}, MismatchLabelKeys: []string{"color"},
	}
	required := []corev1.PodAffinityTerm{podTerm}
	preferred := []corev1.WeightedPodAffinityTerm{{Weight: 3, PodAffinityTerm: podTerm}}
	nodeTerm := corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"arm64"}}},
		MatchFields:      []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n"}}},
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web-1", UID: "web-1",
			Labels:      map[string]string{"app": "web", "pod-template-hash": "1", "color": "red"},
			Annotations: map[string]string{"controller.kubernetes.io/pod-deletion-cost": "7"},
		},
		Spec: corev1.PodSpec{
			Priority: &one, Overhead: amounts("10m"), Resources: &corev1.ResourceRequirements{Requests: amounts("3")},
			NodeSelector: map[string]string{corev1.LabelTopologyZone: "zone-1"},
			Containers: []corev1.Container{{
				Name: "main", Resources: corev1.ResourceRequirements{Requests: amounts("1")},
				Ports: []corev1.ContainerPort{{HostPort: 80, HostIP: "10.0.0.1", Protocol: corev1.ProtocolUDP}, {ContainerPort: 81}},
			}, {Name: "second", Resources: corev1.ResourceRequirements{Requests: amounts("100u")}}},
			InitContainers: []corev1.Container{{
				Name: "sidecar", RestartPolicy: &always, Resources: corev1.ResourceRequirements{Requests: amounts("250m")},
			}, {Name: "init", Resources: corev1.ResourceRequirements{Requests: amounts("4")}}},
			Tolerations: []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpEqual, Value: "v", Effect: corev1.TaintEffectNoSchedule}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew: 2, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector,
				MinDomains: &one, NodeAffinityPolicy: &ignore, NodeTaintsPolicy: &honor, MatchLabelKeys: []string{"pod-template-hash"},
			}},
			Affinity: &corev1.Affinity{
				NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution:  &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{nodeTerm}},
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 5, Preference: corev1.NodeSelectorTerm{MatchExpressions: nodeTerm.MatchExpressions}}},
				},
				PodAffinity: &corev1.PodAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred,
				},
				PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred,
				},
			},
		},
		Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Reason: corev1.PodReasonUnschedulable},
				{Type: corev1.PodResizePending, Reason: corev1.PodReasonDeferred},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", AllocatedResources: amounts("2"), Resources: &corev1.ResourceRequirements{Requests: amounts("6")},
			}},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "init", AllocatedResources: amounts("8")}},
		},
	}
}

// resizing returns a pod whose containers have other resources than they request, and whose resize is infeasible.
func resizing() *corev1.Pod {
	pod := everything()
	pod.Spec.Resources = nil
	pod.Spec.InitContainers = pod.Spec.InitContainers[1:]
	pod.Status.Conditions[1].Reason = corev1.PodReasonInfeasible
	return pod
}

// plain returns a pod whose requests are those of its containers and its overhead.
func plain() *corev1.Pod {
	pod := everything()
	pod.Spec.Resources, pod.Spec.InitContainers = nil, nil
	pod.Spec.Containers[1].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("300m")
	pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "main"}}, nil
	return pod
}

// mutate calls f once for every value below v that can be changed, while it is changed: numbers, strings, booleans, map entries
// and optional values. at names the value.
func mutate(v reflect.Value, at string, f func(at string)) {
	try := func(changed reflect.Value, how string) {
		before := reflect.New(v.Type()).Elem()
		before.Set(v)
		v.Set(changed)
		f(at + how)
		v.Set(before)
	}
	switch v.Kind() {
	case reflect.String:
		try(reflect.ValueOf(v.String()+"x").Convert(v.Type()), "+x")
		try(reflect.Zero(v.Type()), " empty")
	case reflect.Int32, reflect.Int64:
		try(reflect.ValueOf(v.Int()+1).Convert(v.Type()), "+1")
	case reflect.Bool:
		try(reflect.ValueOf(!v.Bool()), " flipped")
	case reflect.Pointer:
		if v.IsNil() {
			try(reflect.New(v.Type().Elem()), " set")
			return
		}
		try(reflect.Zero(v.Type()), " left out")
		mutate(v.Elem(), at, f)
	case reflect.Slice:
		try(reflect.Append(v.Slice3(0, v.Len(), v.Len()), reflect.Zero(v.Type().Elem())), " longer")
		if v.Len() > 0 {
			try(v.Slice(0, v.Len()-1), " shorter")
		}
		for i := range v.Len() {
			mutate(v.Index(i), fmt.Sprintf("%s[%d]", at, i), f)
		}
	case reflect.Map:
		try(reflect.Zero(v.Type()), " left out")
		try(reflect.MakeMap(v.Type()), " empty")
		mutateMap(v, at, f)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[resource.Quantity]() || v.Type() == reflect.TypeFor[metav1.Time]() {
			return
		}
		for i := range v.NumField() {
			mutate(v.Field(i), at+"."+v.Type().Field(i).Name, f)
		}
	}
}

func mutateMap(v reflect.Value, at string, f func(at string)) {
	for _, key := range v.MapKeys() {
		before := v.MapIndex(key)
		v.SetMapIndex(key, reflect.Value{})
		f(fmt.Sprintf("%s[%v] left out", at, key))
		switch value := before.Interface().(type) {
		case string:
			v.SetMapIndex(key, reflect.ValueOf(value+"x"))
			f(fmt.Sprintf("%s[%v]+x", at, key))
			v.SetMapIndex(key, reflect.ValueOf(""))
			f(fmt.Sprintf("%s[%v] empty", at, key))
		case resource.Quantity:
			for _, more := range []string{"1", "1m", "1u"} {
				sum := value.DeepCopy()
				sum.Add(resource.MustParse(more))
				v.SetMapIndex(key, reflect.ValueOf(sum))
				f(fmt.Sprintf("%s[%v]+%s", at, key, more))
			}
		}
		v.SetMapIndex(key, before)
	}
}

// exact compares all fields of models; nil and an empty list are equal.
func exact() cmp.Options {
	return cmp.Options{cmpopts.EquateEmpty(), cmp.Exporter(func(t reflect.Type) bool {
		return t.PkgPath() == reflect.TypeFor[requirement.Requirement]().PkgPath() || t.PkgPath() == reflect.TypeFor[topology.Selector]().PkgPath()
	})}
}

// TestEveryFieldOfAPodCounts changes one field of a pod after the other and compares its translation with that by a
// translator that has seen no other pod: what is cached for one pod is never used for a different one.
func TestEveryFieldOfAPodCounts(t *testing.T) {
	for name, pod := range map[string]*corev1.Pod{"pod": everything(), "resizing": resizing(), "plain": plain()} {
		t.Run(name, func(t *testing.T) { everyFieldCounts(t, name, pod, true, 200) })
		t.Run(name+" without preferences", func(t *testing.T) { everyFieldCounts(t, name, pod, false, 150) })
	}
}

func everyFieldCounts(t *testing.T, name string, pod *corev1.Pod, preferences bool, least int) {
	t.Helper()
	settings := translate.Settings{IgnorePreferences: !preferences, Minor: 37}
	seasoned := translate.NewWith(v1.CoreLabelRules(), settings)
	first := seasoned.Pod(pod)
	mutations, different := 0, 0
	var mutants []*corev1.Pod
	var shapes []*model.Shape
	mutate(reflect.ValueOf(pod).Elem(), name, func(at string) {
		mutations++
		fresh := translate.NewWith(v1.CoreLabelRules(), settings)
		want := fresh.Pod(pod)
		asked := podresource.PodRequests(pod, podresource.PodResourcesOptions{UseStatusResources: true})
		asked[corev1.ResourcePods] = resource.MustParse("1")
		if diff := cmp.Diff(fresh.Vector(asked), want.Shape.Requests); diff != "" {
			t.Errorf("%s: requests differ from those that Kubernetes counts (-want +got):\n%s", at, diff)
		}
		mutant := pod.DeepCopy() // shapes share lists with their pods
		mutants, shapes = append(mutants, mutant), append(shapes, translate.NewWith(v1.CoreLabelRules(), settings).Pod(mutant).Shape)
		// Once without the cache, and once with it.
		for range 2 {
			got := seasoned.Pod(pod)
			if diff := cmp.Diff(want, got, exact()); diff != "" {
				t.Errorf("%s (-without memory +with):\n%s", at, diff)
			}
			if !cmp.Equal(first.Shape, got.Shape, exact()) {
				different++
			}
		}
	})
	if mutations < 300 || different < least {
		t.Errorf("%d changes were tried and %d translations differed: the test does not reach the fields", mutations, different)
	}
	runtime.KeepAlive(first)
	allAtOnceEqual(t, mutants, shapes, settings)
}

// allAtOnceEqual translates a list of pods that is long enough for several chunks, which put shapes together from the parts of others.
func allAtOnceEqual(t *testing.T, pods []*corev1.Pod, shapes []*model.Shape, settings translate.Settings) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	list := slices.Clone(pods)
	for len(list) < 2500 {
		list = append(list, pods...)
	}
	for i, got := range translate.NewWith(v1.CoreLabelRules(), settings).Pods(list) {
		if diff := cmp.Diff(shapes[i%len(pods)], got.Shape, exact()); diff != "" {
			t.Errorf("pod %d of a list (-alone +in the list):\n%s", i, diff)
		}
	}
}

// TestUnusedShapesAreRemoved counts the shapes of deleted pods that are left while other pods are created and deleted.
func TestUnusedShapesAreRemoved(t *testing.T) {
	translator := translate.New(v1.CoreLabelRules())
	kept := translator.Pod(workloadPod(0, 0))
	for round := range 10 {
		for i := range 100 {
			translator.Pod(workloadPod(1+100*round+i, 0))
			translator.Pod(workloadPod(1+100*round+i, 1))
		}
		runtime.GC()
		if n := translator.Remembered(); n > 300 {
			t.Fatalf("%d questions are remembered after %d rounds of 100 workloads each", n, round+1)
		}
	}
	if again := translator.Pod(workloadPod(0, 2)); again.Shape != kept.Shape {
		t.Error("the pod that is left does not share its shape with the next one")
	}
}
