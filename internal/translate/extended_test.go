package translate

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// TestExtendedResourcesHaveTheClassOfKubeScheduler compares which class serves an extended resource with the library that kube-scheduler uses.
func TestExtendedResourcesHaveTheClassOfKubeScheduler(t *testing.T) {
	t.Attr("covers", "N440 N441")
	rapid.Check(t, func(t *rapid.T) {
		classes := map[string]*resourcev1.DeviceClass{}
		for _, name := range []string{"a", "b", "c", "d"} {
			class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{
				Name: name, CreationTimestamp: metav1.NewTime(time.Unix(int64(rapid.IntRange(1, 3).Draw(t, "age")), 0)),
			}}
			if named := rapid.SampledFrom([]string{"", "example.org/x", "example.org/y"}).Draw(t, "name"); named != "" {
				class.Spec.ExtendedResourceName = ptr.To(named)
			}
			classes[name] = class
		}
		theirs := extendedresourcecache.NewExtendedResourceCache(klog.Background())
		for _, name := range rapid.Permutation(slices.Sorted(maps.Keys(classes))).Draw(t, "order") {
			theirs.OnAdd(classes[name], true)
		}
		ours := New(v1.CoreLabelRules()).ExtendedClasses(classes)
		for _, resource := range []string{"example.org/x", "example.org/y", "example.org/z", "deviceclass.resource.kubernetes.io/none"} {
			want := ""
			if class := theirs.GetDeviceClass(corev1.ResourceName(resource)); class != nil {
				want = class.Name
			}
			if got := ours[resource].Name; got != want {
				t.Fatalf("%s has the class %q, want %q", resource, got, want)
			}
		}
		for name := range classes {
			if got := ours[resourcev1.ResourceDeviceClassPrefix+name].Name; got != name {
				t.Fatalf("the implicit name of %s has the class %q", name, got)
			}
		}
	})
}

func TestExtendedRequests(t *testing.T) {
	t.Attr("covers", "N442")
	asks := func(amounts map[string]string, sidecar bool) corev1.Container {
		c := corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}
		for name, amount := range amounts {
			c.Resources.Requests[corev1.ResourceName(name)] = apiresource.MustParse(amount)
		}
		if sidecar {
			c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		return c
	}
	x := func(n string) corev1.Container { return asks(map[string]string{"example.org/x": n}, false) }
	sidecar := asks(map[string]string{"example.org/x": "1"}, true)
	type requests = []model.ExtendedRequest
	for name, c := range map[string]struct {
		init, containers []corev1.Container
		want             requests
	}{
		"none":              {nil, []corev1.Container{asks(map[string]string{"cpu": "1", "hugepages-2Mi": "2Mi", "kubernetes.io/y": "1", "example.org/x": "0"}, false)}, nil},
		"one per container": {nil, []corev1.Container{x("2"), x("3")}, requests{{Name: "example.org/x", Counts: []int{2, 3}}}},
		"several names, sorted": {nil, []corev1.Container{asks(map[string]string{"example.org/x": "1", "deviceclass.resource.kubernetes.io/gpu": "2"}, false)}, requests{
			{Name: "deviceclass.resource.kubernetes.io/gpu", Counts: []int{2}}, {Name: "example.org/x", Counts: []int{1}},
		}},
		"init containers use the devices of later containers": {[]corev1.Container{x("2")}, []corev1.Container{x("1"), x("1")}, requests{{Name: "example.org/x", Counts: []int{1, 1}}}},
		"what they need beyond these":                         {[]corev1.Container{x("5"), x("3")}, []corev1.Container{x("1")}, requests{{Name: "example.org/x", Counts: []int{1, 4}}}},
		"beside the sidecars before them":                     {[]corev1.Container{sidecar, x("2")}, []corev1.Container{x("1")}, requests{{Name: "example.org/x", Counts: []int{1, 1, 1}}}},
		"not beside the sidecars after them":                  {[]corev1.Container{x("2"), sidecar}, []corev1.Container{x("1")}, requests{{Name: "example.org/x", Counts: []int{1, 1}}}},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: c.init, Containers: c.containers}}
		if diff := cmp.Diff(c.want, New(v1.CoreLabelRules()).Shape(pod).Extended); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
