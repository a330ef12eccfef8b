package translate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	library "k8s.io/component-helpers/nodedeclaredfeatures/features"
	"pgregory.net/rapid"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/served"
)

// TestNodeFeaturesAreThoseOfTheLibrary compares the table with the registry of kube-scheduler. A feature that a new version of the library
// adds or ends needs a change of the table.
func TestNodeFeaturesAreThoseOfTheLibrary(t *testing.T) {
	t.Attr("covers", "N423")
	var registered, listed []string
	for _, f := range library.AllFeatures {
		entry := f.Name()
		if last := f.MaxVersion(); last != nil {
			entry += fmt.Sprint(" until ", last.Minor())
		}
		registered = append(registered, entry)
	}
	for i := range nodeFeatures {
		f := &nodeFeatures[i]
		switch {
		case f.first > served.Newest || f.last != 0 && f.last < served.Newest:
			continue
		case f.last != 0:
			listed = append(listed, fmt.Sprint(f.name, " until ", f.last))
		default:
			listed = append(listed, f.name)
		}
	}
	slices.Sort(registered)
	if diff := cmp.Diff(registered, listed); diff != "" {
		t.Errorf("the table differs from the library:\n%s", diff)
	}
	if !slices.IsSortedFunc(nodeFeatures, func(a, b nodeFeature) int { return cmpNames(a.name, b.name) }) {
		t.Error("the table is not sorted by name")
	}
}

func cmpNames(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// TestPodsNeedTheFeaturesThatTheLibrarySays compares the features of random pods with those that kube-scheduler infers.
func TestPodsNeedTheFeaturesThatTheLibrarySays(t *testing.T) {
	t.Attr("covers", "N422 N424 N427")
	translator := New(v1.CoreLabelRules())
	newest := version.MustParseGeneric(fmt.Sprintf("1.%d.0", served.Newest))
	seen := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		pod := featurePod(t)
		needed, err := nodedeclaredfeatures.DefaultFramework.InferForPodScheduling(&nodedeclaredfeatures.PodInfo{Spec: &pod.Spec}, newest)
		if err != nil {
			t.Fatal(err)
		}
		want, err := nodedeclaredfeatures.DefaultFramework.Unmap(needed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, translator.Pod(pod).Shape.NodeFeatures); diff != "" {
			t.Fatalf("the pod needs other features than those of the library:\n%s", diff)
		}
		for _, name := range want {
			seen[name] = true
		}
	})
	for i := range nodeFeatures {
		if nodeFeatures[i].requiredBy(served.Newest) && !seen[nodeFeatures[i].name] {
			t.Errorf("no random pod needed %s", nodeFeatures[i].name)
		}
	}
}

// featurePod is a random pod that uses what may need a feature of its node.
func featurePod(t *rapid.T) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Spec.HostNetwork = rapid.Bool().Draw(t, "host network")
	if rapid.Bool().Draw(t, "users set") {
		pod.Spec.HostUsers = new(rapid.Bool().Draw(t, "host users"))
	}
	container := func(label string) corev1.Container {
		var c corev1.Container
		action := rapid.SampledFrom([]corev1.ContainerRestartRuleAction{"", corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers}).Draw(t, label+" action")
		if action != "" {
			c.RestartPolicyRules = []corev1.ContainerRestartRule{{Action: action}}
		}
		if rapid.IntRange(0, 3).Draw(t, label+" mount") == 0 {
			c.VolumeMounts = []corev1.VolumeMount{{Name: "a"}, {Name: "b", BindMountOptions: []string{"noexec"}}}
		}
		return c
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "containers") {
		pod.Spec.Containers = append(pod.Spec.Containers, container(fmt.Sprint("container ", i)))
	}
	for i := range rapid.IntRange(0, 1).Draw(t, "init containers") {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, container(fmt.Sprint("init container ", i)))
	}
	return pod
}

// TestEarlierSchedulersIgnoreFeatures holds the first version of each row.
func TestEarlierSchedulersIgnoreFeatures(t *testing.T) {
	t.Attr("covers", "N423 N424")
	all := &corev1.PodSpec{HostNetwork: true, HostUsers: new(false), Containers: []corev1.Container{{
		RestartPolicyRules: []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}},
		VolumeMounts:       []corev1.VolumeMount{{BindMountOptions: []string{"noexec"}}},
	}}}
	for minor, want := range map[int][]string{
		0: nil, 34: nil,
		35: {"RestartAllContainersOnContainerExits"},
		36: {"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"},
		37: {"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "VolumeBindMountOptions"},
	} {
		got := NewWith(v1.CoreLabelRules(), Settings{Minor: minor}).Pod(&corev1.Pod{Spec: *all}).Shape.NodeFeatures
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version 1.%d: %s", minor, diff)
		}
	}
	over := nodeFeature{first: 35, last: 36, needed: mapsUsersOnHostNetwork}
	if !over.requiredBy(36) || over.requiredBy(37) {
		t.Error("a feature is to be required up to its last version")
	}
}

func TestFeaturesAreRequiredOnceTheGateIsKnownToBeOn(t *testing.T) {
	t.Attr("covers", "N420")
	var nodes model.Editor[*model.Node]
	nodes.Put("a", &model.Node{})
	none := &model.Snapshot{Nodes: nodes.Publish()}
	nodes.Put("b", &model.Node{NodeFeatures: []string{"ExtendWebSocketsToKubelet"}})
	some := &model.Snapshot{Nodes: nodes.Publish()}
	for _, tc := range []struct {
		minor      int
		none, some bool
	}{{0, false, false}, {34, false, false}, {36, false, true}, {37, true, true}} {
		translator := NewWith(v1.CoreLabelRules(), Settings{Minor: tc.minor})
		if got := translator.RequiresFeatures(none); got != tc.none {
			t.Errorf("version 1.%d, no node declares any: %v", tc.minor, got)
		}
		if got := translator.RequiresFeatures(some); got != tc.some {
			t.Errorf("version 1.%d, a node declares some: %v", tc.minor, got)
		}
	}
}

func TestExpectedFeaturesAreThoseOfTheNewestNodes(t *testing.T) {
	t.Attr("covers", "N425 N426")
	translator := New(v1.CoreLabelRules())
	pool := &v1.NodePool{}
	pool.Name = "default"
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: "example.com", Kind: "Class", Name: "c"}
	ofPool, ofClass := model.PoolFeatures{Hash: pool.Hash(), NodeFeatures: []string{"A"}}, model.PoolFeatures{NodeFeatures: []string{"B"}}
	stale := model.PoolFeatures{Hash: "another", NodeFeatures: []string{"C"}}
	class := v1.NodeClassLabelKey("example.com", "Class") + "=c"
	for _, tc := range []struct {
		name    string
		learned model.LearnedFeatures
		want    []string
	}{
		{"nothing seen", model.LearnedFeatures{}, []string{"RestartAllContainersOnContainerExits"}},
		{"kubelets are older", model.LearnedFeatures{Kubelet: 35}, nil},
		{"node class", model.LearnedFeatures{Classes: map[string]model.PoolFeatures{class: ofClass}}, []string{"B"}},
		{"pool", model.LearnedFeatures{Pools: map[string]model.PoolFeatures{"default": ofPool}, Classes: map[string]model.PoolFeatures{class: ofClass}}, []string{"A"}},
		{"pool changed since", model.LearnedFeatures{Pools: map[string]model.PoolFeatures{"default": stale}}, []string{"RestartAllContainersOnContainerExits"}},
	} {
		if got, _ := translator.ExpectedFeatures(pool, tc.learned); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
