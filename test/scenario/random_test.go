package scenario

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/scenario/check"
)

// The vocabulary of random problems is small, so that objects often refer to each other.
const (
	coresLabel = "test.example/cores" // well-known, an integer
	teamLabel  = "example.com/team"   // custom
	genLabel   = "example.com/generation"
	device     = corev1.ResourceName("example.com/device")
)

// TestRandomProblemsAreSolvedSoundly draws small clusters and checks every plan: every placed pod can run, and no refused pod fits an empty
// new node. The plan must not depend on the order of the objects.
func TestRandomProblemsAreSolvedSoundly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCloud(t)
		objects := manifest.Expand(drawObjects(t))
		result := solveRandom(t, objects, c)
		s := check.Subject{Objects: objects, Types: map[string][]*cloud.InstanceType{}, WellKnown: c.Labels.WellKnown}
		for _, p := range result.Problem.Pools {
			s.Types[p.Name], _ = c.Provider.InstanceTypes(context.Background(), nil)
		}
		answer(&s, result)
		for _, err := range check.Judge(s) {
			t.Errorf("the checker says: %v", err)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		shuffled := slices.Clone(objects)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if diff := cmp.Diff(result.Text(), solveRandom(t, shuffled, c).Text()); diff != "" {
			t.Errorf("another order of objects gives another plan:\n%s", diff)
		}
		if t.Failed() {
			t.Logf("the plan is\n%s", result.Text())
			t.Logf("the objects are\n%s", printed(objects))
		}
	})
}

// printed is objects as YAML, as a scenario has them.
func printed(objects []client.Object) string {
	var out strings.Builder
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	return out.String()
}

func solveRandom(t *rapid.T, objects []client.Object, c cloud.Cloud) simulation.Result {
	result, err := simulation.Run(context.Background(), objects, c, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// catalogProvider is a provider that only lists instance types.
type catalogProvider struct {
	cloud.Provider
	types []*cloud.InstanceType
}

func (s catalogProvider) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	return s.types, nil
}

func drawCloud(t *rapid.T) cloud.Cloud {
	var types []*cloud.InstanceType
	for i := range rapid.IntRange(1, 5).Draw(t, "types") {
		types = append(types, drawType(t, fmt.Sprintf("type-%d", i)))
	}
	return cloud.Cloud{
		Name:     "catalog",
		Provider: catalogProvider{types: types},
		NodeClasses: []cloud.NodeClass{{
			GVK: schema.GroupVersionKind{Group: v1alpha1.Group, Version: "v1alpha1", Kind: "KWOKNodeClass"},
			New: func() cloud.NodeClassObject { return &v1alpha1.KWOKNodeClass{} },
		}},
		Labels: v1.CoreLabelRules().With([]string{coresLabel}, nil),
	}
}

func drawType(t *rapid.T, name string) *cloud.InstanceType {
	cores := rapid.IntRange(1, 8).Draw(t, "cores")
	it := &cloud.InstanceType{
		Name: name,
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewQuantity(int64(cores), resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(int64(rapid.IntRange(1, 16).Draw(t, "gib"))<<30, resource.BinarySI),
			corev1.ResourcePods:   *resource.NewQuantity(int64(rapid.IntRange(1, 8).Draw(t, "places")), resource.DecimalSI),
		},
		Overhead: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
	}
	if rapid.Bool().Draw(t, "has device") {
		it.Capacity[device] = resource.MustParse("1")
	}
	var zones, capacityTypes []string
	for _, zone := range []string{"zone-a", "zone-b"} {
		for _, capacityType := range []string{"spot", "on-demand"} {
			o := cloud.Offering{
				Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelTopologyZone, zone), cloud.In(v1.CapacityTypeLabelKey, capacityType)},
				Price:        float64(rapid.IntRange(1, 40).Draw(t, "cents")) / 100,
				Available:    rapid.IntRange(0, 3).Draw(t, "available") > 0,
			}
			if rapid.IntRange(0, 5).Draw(t, "override") == 0 {
				o.CapacityOverride = corev1.ResourceList{device: resource.MustParse("2")}
			}
			it.Offerings = append(it.Offerings, o)
			if o.Available {
				zones, capacityTypes = append(zones, zone), append(capacityTypes, capacityType)
			}
		}
	}
	values := func(key string, list []string) v1.NodeSelectorRequirementWithMinValues {
		slices.Sort(list)
		if len(list) == 0 {
			return cloud.DoesNotExist(key)
		}
		return cloud.In(key, slices.Compact(list)...)
	}
	it.Requirements = []v1.NodeSelectorRequirementWithMinValues{
		cloud.In(corev1.LabelInstanceTypeStable, name),
		cloud.In(corev1.LabelArchStable, rapid.SampledFrom([]string{"amd64", "arm64"}).Draw(t, "arch")),
		cloud.In(corev1.LabelOSStable, "linux"),
		cloud.In(coresLabel, fmt.Sprint(cores)),
		values(corev1.LabelTopologyZone, zones),
		values(v1.CapacityTypeLabelKey, capacityTypes),
		cloud.DoesNotExist(corev1.LabelTopologyRegion),
		cloud.DoesNotExist(corev1.LabelWindowsBuild),
	}
	return it
}

func drawObjects(t *rapid.T) []client.Object {
	objects := []client.Object{&v1alpha1.KWOKNodeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: "karpenter.kwok.sh/v1alpha1", Kind: "KWOKNodeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Status:     v1alpha1.KWOKNodeClassStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}},
	}}
	for i := range rapid.IntRange(1, 3).Draw(t, "pools") {
		objects = append(objects, drawPool(t, fmt.Sprintf("pool-%d", i)))
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "nodes") {
		name := fmt.Sprintf("node-%d", i)
		objects = append(objects, drawNode(t, name))
		for k := range rapid.IntRange(0, 2).Draw(t, "bound pods") {
			objects = append(objects, drawBound(t, fmt.Sprintf("%s-%d", name, k), name))
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "daemons") {
		d := &appsv1.DaemonSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("daemon-%d", i)}}
		d.Spec.Template.Spec = drawPodSpec(t, 4, []string{corev1.LabelArchStable, coresLabel, teamLabel})
		objects = append(objects, d)
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "workloads") {
		name := fmt.Sprintf("work-%d", i)
		replicas := int32(rapid.IntRange(1, 9).Draw(t, "replicas"))
		d := &appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("deployment/default/" + name)},
			Spec:       appsv1.DeploymentSpec{Replicas: &replicas},
		}
		d.Spec.Template.Spec = drawPodSpec(t, 1, []string{corev1.LabelArchStable, coresLabel, teamLabel, genLabel, corev1.LabelTopologyZone, v1.CapacityTypeLabelKey, v1.NodePoolLabelKey})
		d.Spec.Template.Labels = drawLabels(t)
		drawTopology(t, &d.Spec.Template.Spec)
		drawVolumes(t, &d.Spec.Template.Spec)
		objects = append(objects, d)
	}
	return append(objects, drawStorage(t, objects)...)
}

func drawPool(t *rapid.T, name string) *v1.NodePool {
	pool := &v1.NodePool{TypeMeta: metav1.TypeMeta{APIVersion: "karpenter.sh/v1", Kind: "NodePool"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	if w := int32(rapid.IntRange(0, 2).Draw(t, "weight")); w > 0 {
		pool.Spec.Weight = &w
	}
	spec := &pool.Spec.Template.Spec
	spec.NodeClassRef = &v1.NodeClassReference{Group: v1alpha1.Group, Kind: "KWOKNodeClass", Name: "default"}
	for range rapid.IntRange(0, 2).Draw(t, "pool requirements") {
		e := drawExpression(t, []string{corev1.LabelArchStable, coresLabel, teamLabel, genLabel, corev1.LabelTopologyZone, v1.CapacityTypeLabelKey})
		spec.Requirements = append(spec.Requirements, v1.NodeSelectorRequirementWithMinValues{Key: e.Key, Operator: e.Operator, Values: e.Values})
	}
	if n := rapid.IntRange(0, 8).Draw(t, "least types"); n == 2 || n == 3 {
		spec.Requirements = append(spec.Requirements, v1.NodeSelectorRequirementWithMinValues{
			Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: &n,
		})
	}
	if rapid.IntRange(0, 2).Draw(t, "labelled") == 0 {
		pool.Spec.Template.Labels = map[string]string{teamLabel: rapid.SampledFrom([]string{"blue", "red"}).Draw(t, "team")}
	}
	spec.Taints = drawTaints(t)
	switch rapid.IntRange(0, 5).Draw(t, "limits") {
	case 0:
		pool.Spec.Limits = v1.Limits{corev1.ResourceCPU: *resource.NewQuantity(int64(rapid.IntRange(0, 12).Draw(t, "limit")), resource.DecimalSI)}
	case 1:
		pool.Spec.Limits = v1.Limits{v1.ResourceNodes: *resource.NewQuantity(int64(rapid.IntRange(0, 3).Draw(t, "limit")), resource.DecimalSI)}
	}
	return pool
}

func drawNode(t *rapid.T, name string) *corev1.Node {
	node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname:     name, // every kubelet sets it, and the engine relies on it
		corev1.LabelTopologyZone: rapid.SampledFrom([]string{"zone-a", "zone-b"}).Draw(t, "zone"),
	}}}
	if rapid.Bool().Draw(t, "has a team") {
		node.Labels[teamLabel] = rapid.SampledFrom([]string{"blue", "red"}).Draw(t, "team")
	}
	node.Spec.Taints = drawTaints(t)
	if rapid.IntRange(0, 4).Draw(t, "goes") == 0 {
		node.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	}
	node.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(rapid.IntRange(1, 6).Draw(t, "cores")), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods:   *resource.NewQuantity(int64(rapid.IntRange(1, 6).Draw(t, "places")), resource.DecimalSI),
	}
	return node
}

func drawTaints(t *rapid.T) []corev1.Taint {
	switch rapid.IntRange(0, 5).Draw(t, "taint") {
	case 0:
		return []corev1.Taint{{Key: "example.com/taint", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
	case 1:
		return []corev1.Taint{{Key: "example.com/taint", Effect: corev1.TaintEffectPreferNoSchedule}}
	}
	return nil
}

// drawPodSpec is a pod of at most 5 cores divided by share, with requirements on labels among keys.
func drawPodSpec(t *rapid.T, share int, keys []string) corev1.PodSpec {
	var spec corev1.PodSpec
	requests := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(rapid.IntRange(0, 50).Draw(t, "decicores")*100/share), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(rapid.IntRange(0, 6).Draw(t, "gib"))<<30/int64(share), resource.BinarySI),
	}
	if share == 1 && rapid.IntRange(0, 4).Draw(t, "wants device") == 0 {
		requests[device] = resource.MustParse("1")
	}
	spec.Containers = []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: requests}}}
	if rapid.IntRange(0, 2).Draw(t, "tolerates") == 0 {
		spec.Tolerations = []corev1.Toleration{{Key: "example.com/taint", Operator: corev1.TolerationOpExists}}
	}
	if rapid.IntRange(0, 2).Draw(t, "selects") == 0 {
		e := drawExpression(t, keys)
		if e.Operator == corev1.NodeSelectorOpIn {
			spec.NodeSelector = map[string]string{e.Key: e.Values[0]}
		}
	}
	affinity := &corev1.NodeAffinity{}
	var terms []corev1.NodeSelectorTerm
	for range rapid.IntRange(0, 2).Draw(t, "terms") {
		terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: drawExpressions(t, keys)})
	}
	if len(terms) > 0 {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
	}
	for range rapid.IntRange(0, 2).Draw(t, "preferences") {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution, corev1.PreferredSchedulingTerm{
			Weight:     int32(rapid.IntRange(1, 100).Draw(t, "preference weight")),
			Preference: corev1.NodeSelectorTerm{MatchExpressions: drawExpressions(t, keys)},
		})
	}
	spec.Affinity = &corev1.Affinity{NodeAffinity: affinity}
	return spec
}

func drawExpressions(t *rapid.T, keys []string) []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for range rapid.IntRange(1, 2).Draw(t, "expressions") {
		out = append(out, drawExpression(t, keys))
	}
	return out
}

func drawExpression(t *rapid.T, keys []string) corev1.NodeSelectorRequirement {
	vocabulary := map[string][]string{
		corev1.LabelArchStable:   {"amd64", "arm64"},
		coresLabel:               {"1", "2", "3", "4", "6", "8"},
		teamLabel:                {"blue", "red"},
		genLabel:                 {"1", "2", "3"},
		corev1.LabelTopologyZone: {"zone-a", "zone-b"},
		v1.CapacityTypeLabelKey:  {"spot", "on-demand"},
		v1.NodePoolLabelKey:      {"pool-0", "pool-1"},
	}
	e := corev1.NodeSelectorRequirement{Key: rapid.SampledFrom(keys).Draw(t, "key")}
	operators := []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist}
	if e.Key == coresLabel || e.Key == genLabel {
		operators = append(operators, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)
	}
	e.Operator = rapid.SampledFrom(operators).Draw(t, "operator")
	switch e.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		e.Values = rapid.SliceOfNDistinct(rapid.SampledFrom(vocabulary[e.Key]), 1, 2, rapid.ID[string]).Draw(t, "values")
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		e.Values = []string{rapid.SampledFrom(vocabulary[e.Key]).Draw(t, "bound")}
	}
	return e
}
