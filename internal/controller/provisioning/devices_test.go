package provisioning

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// claiming makes a pod use a resource claim.
func claiming(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}
	}
}

// TestDevicesAreIgnoredByDefault: the pod gets an event with the reason, which is not an error, and other pods are scheduled.
func TestDevicesAreIgnoredByDefault(t *testing.T) {
	t.Attr("covers", "L315")
	w := newHarness(t, readyPool("default"))
	w.see(pendingPod("a", claiming("c")), pendingPod("b"))
	w.decide()
	const why = "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"
	if events := w.Events(); !slices.ContainsFunc(events, func(e string) bool {
		return strings.Contains(e, "FailedScheduling") && strings.Contains(e, why)
	}) {
		t.Errorf("events %q", events)
	}
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "level=ERROR") {
			t.Errorf("logged as an error: %s", line)
		}
	}
	if !strings.Contains(w.log.String(), "level=INFO msg=\"could not schedule pod(s)\"") {
		t.Errorf("not logged:\n%s", w.log)
	}
	if claims := w.claims(); len(claims) != 1 {
		t.Errorf("%d nodeclaims, want one for the other pod", len(claims))
	}
}

// gpuType is an instance type with a GPU.
func gpuType() *cloud.InstanceType {
	out := instanceType("gpu", "zone-1")
	slice := resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.org", Pool: resourcev1.ResourcePool{Name: "gpus", ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "gpu-0"}},
	}}
	out.DynamicResources = &cloud.DynamicResources{ResourceSlices: []resourcev1.ResourceSlice{slice}}
	return out
}

func oneGPU(name string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}}
	return c
}

// TestPodsKeepTheirDevicesDuringLaunch: the NodeClaim names the driver, and no later pass gives the device of the launching node to
// another pod, or launches a second node for the same pod.
func TestPodsKeepTheirDevicesDuringLaunch(t *testing.T) {
	t.Attr("covers", "L316")
	w := newHarness(t, readyPool("default"))
	w.Provider.Types = append(w.Provider.Types, gpuType())
	w.store.Devices.Track()
	w.store.Devices.UpdateDeviceClass(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
	w.store.Devices.UpdateResourceClaim(oneGPU("c"))
	w.see(pendingPod("a", claiming("c")))
	w.decide()
	claims := w.claims()
	if len(claims) != 1 || claims[0].Annotations[v1.RequestedDRADriversAnnotationKey] != "gpu.example.org" {
		t.Fatalf("nodeclaims %+v", claims)
	}
	w.decide()
	if got := len(w.claims()); got != 1 {
		t.Fatalf("%d nodeclaims after a second pass", got)
	}
	w.store.Devices.UpdateResourceClaim(oneGPU("d"))
	w.see(pendingPod("b", claiming("d")))
	w.decide()
	if got := len(w.claims()); got != 2 {
		t.Errorf("%d nodeclaims for two pods that want a GPU each", got)
	}
}

// TestASearchForDevicesHasItsTime: a search ends after five seconds.
func TestASearchForDevicesHasItsTime(t *testing.T) {
	w := newHarness(t)
	over := w.p.builder().Policy.DeviceTimeout()
	w.Time.Step(5 * time.Second)
	if over() {
		t.Error("over after five seconds")
	}
	w.Time.Step(time.Millisecond)
	if !over() {
		t.Error("not over after more than five seconds")
	}
}
