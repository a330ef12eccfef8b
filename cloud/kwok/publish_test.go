package kwok

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

func (w *world) slices() []resourcev1.ResourceSlice {
	w.t.Helper()
	var list resourcev1.ResourceSliceList
	if err := w.client.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// accelerated is a launched claim of a type with four GPUs and two NICs.
func (w *world) accelerated() *v1.NodeClaim {
	w.t.Helper()
	claim := w.claim(cloud.In(corev1.LabelInstanceTypeStable, "g-16x"))
	w.launch(claim)
	return w.stored(claim.Name)
}

func TestDevicesArePublishedWithTheNode(t *testing.T) {
	w := newWorld(t, Options{Catalog: DevicesCatalog})
	claim := w.accelerated()
	w.join(claim.Name)
	node := w.theNode()
	var got []string
	for _, s := range w.slices() {
		if s.Spec.NodeName == nil || *s.Spec.NodeName != node.Name || s.Spec.Pool.ResourceSliceCount != 1 {
			t.Errorf("slice %s is for %+v", s.Name, s.Spec)
		}
		got = append(got, s.Spec.Driver+" "+s.Spec.Pool.Name)
	}
	slices.Sort(got)
	want := []string{"gpu.example.org " + node.Name + "-gpus", "nic.example.org " + node.Name + "-nics"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pools (-want +got):\n%s", diff)
	}
}

func TestDevicesThatFailedToBePublishedAreLater(t *testing.T) {
	w := newWorld(t, Options{Catalog: DevicesCatalog})
	claim := w.accelerated()
	left := 1
	failing := *w.joiner
	failing.client = w.intercepted(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if _, ok := o.(*resourcev1.ResourceSlice); ok {
			if left == 0 {
				return errors.New("not now")
			}
			left--
		}
		return c.Create(ctx, o, opts...)
	}})
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: claim.Name}}
	if _, err := failing.Reconcile(t.Context(), request); err == nil || len(w.slices()) != 1 {
		t.Fatalf("%d slices are there, error %v", len(w.slices()), err)
	}
	// The node was registered concurrently.
	claim = w.stored(claim.Name)
	w.update(claim, func() { condition.For(claim, w.clock.Now()).True(v1.ConditionTypeRegistered) })
	w.join(claim.Name)
	w.join(claim.Name)
	if len(w.slices()) != 2 || len(w.nodes()) != 1 {
		t.Errorf("%d slices and %d nodes", len(w.slices()), len(w.nodes()))
	}
}

func TestARegisteredNodeThatIsGoneDoesNotComeBackForItsDevices(t *testing.T) {
	w := newWorld(t, Options{Catalog: DevicesCatalog})
	claim := w.accelerated()
	w.update(claim, func() { condition.For(claim, w.clock.Now()).True(v1.ConditionTypeRegistered) })
	w.join(claim.Name)
	if len(w.nodes()) != 0 || len(w.slices()) != 0 {
		t.Errorf("%d nodes and %d slices", len(w.nodes()), len(w.slices()))
	}
}

func TestTypesWithoutDevicesPublishNone(t *testing.T) {
	w := newWorld(t, Options{Catalog: DevicesCatalog})
	claim := w.claim(cloud.In(corev1.LabelInstanceTypeStable, "c-4x"))
	w.launch(claim)
	w.join(claim.Name)
	if len(w.slices()) != 0 {
		t.Errorf("%d slices", len(w.slices()))
	}
}

func TestDevicesCatalog(t *testing.T) {
	types := byName(t, Options{Catalog: DevicesCatalog})
	for name, pools := range map[string]map[string]int64{
		"c-4x":  {},
		"g-4x":  {"gpu.example.org/gpus": 1},
		"g-16x": {"gpu.example.org/gpus": 1, "nic.example.org/nics": 1},
		"p-8x":  {"gpu.example.org/gpus": 2}, // counters and devices
	} {
		got := map[string]int64{}
		if devices := types[name].DynamicResources; devices != nil {
			for _, s := range devices.ResourceSlices {
				got[s.Spec.Driver+"/"+s.Spec.Pool.Name] = s.Spec.Pool.ResourceSliceCount
			}
		}
		if diff := cmp.Diff(pools, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	bindings := types["l-16x"].DynamicResources.AttributeBindings
	if len(bindings) != 2 || bindings[0].Attribute != "gpu.example.org/fabric" || bindings[0].Devices[1] != (cloud.DeviceID{Driver: "gpu.example.org", Pool: "gpus", Device: "gpu-1"}) {
		t.Errorf("bindings %+v", bindings)
	}
}

func TestBoundDevicesGetTheSameValue(t *testing.T) {
	w := newWorld(t, Options{Catalog: DevicesCatalog})
	claim := w.claim(cloud.In(corev1.LabelInstanceTypeStable, "l-16x"))
	w.launch(claim)
	w.join(claim.Name)
	values := map[string]string{}
	for _, s := range w.slices() {
		for _, d := range s.Spec.Devices {
			values[d.Name] = *d.Attributes["gpu.example.org/fabric"].StringValue
		}
	}
	if values["gpu-0"] != values["gpu-1"] || values["gpu-2"] != values["gpu-3"] || values["gpu-0"] == values["gpu-2"] {
		t.Errorf("got %v", values)
	}
}

func TestBindingsHangTogether(t *testing.T) {
	id := func(name string) cloud.DeviceID { return cloud.DeviceID{Driver: "d", Pool: "p", Device: name} }
	bind := func(attribute string, names ...string) cloud.AttributeBinding {
		b := cloud.AttributeBinding{Attribute: resourcev1.FullyQualifiedName(attribute)}
		for _, n := range names {
			b.Devices = append(b.Devices, id(n))
		}
		return b
	}
	all := []cloud.AttributeBinding{bind("d/x", "a", "b"), bind("d/y", "a", "c"), bind("d/x", "d", "e"), bind("d/x", "b", "d")}
	for i, want := range []int{0, 1, 0, 0} {
		if got := first(all, all[i]); got != want {
			t.Errorf("binding %d hangs together with %d, want %d", i, got, want)
		}
	}
}
