package cluster

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// allocated is a claim that has devices; a device with an amount is shared.
func allocated(name string, pods []string, devices map[string]string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	if devices != nil {
		c.Status.Allocation = &resourcev1.AllocationResult{}
	}
	for id, amount := range devices {
		r := resourcev1.DeviceRequestAllocationResult{Driver: "d", Pool: "p", Device: id}
		if amount != "" {
			r.ConsumedCapacity = map[resourcev1.QualifiedName]apiresource.Quantity{"memory": apiresource.MustParse(amount)}
		}
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, r)
	}
	for _, uid := range pods {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", UID: types.UID(uid)})
	}
	return c
}

// uses lists the claims that use a part of a device, as claim or claim=amount, and the properties of the whole device.
func uses(s *Store, name string) []string {
	usage, ok := s.Snapshot().Devices.Usages.Get(device.ID{Driver: "d", Pool: "p", Name: name}.String())
	if !ok {
		return nil
	}
	var out []string
	for _, share := range usage.Shares {
		text := share.Claim
		for _, a := range share.Consumed {
			text += "=" + apiresource.NewMilliQuantity(a.Value, apiresource.DecimalSI).String()
		}
		out = append(out, text)
	}
	if usage.Shared() {
		out = append(out, "shared")
	}
	if usage.Releasable() {
		out = append(out, "releasable")
	}
	return out
}

func TestWhoUsesADevice(t *testing.T) {
	t.Attr("covers", "L340")
	update := func(c *resourcev1.ResourceClaim) func(*Store) {
		return func(s *Store) { s.Devices.UpdateResourceClaim(c) }
	}
	remove := func(name string) func(*Store) { return func(s *Store) { s.Devices.DeleteResourceClaim("ns", name) } }
	one := map[string]string{"gpu": ""}
	part := func(amount string) map[string]string { return map[string]string{"gpu": amount} }
	for _, tc := range []struct {
		name  string
		steps []func(*Store)
		want  []string
	}{
		{"a claim adds what it has", []func(*Store){update(allocated("a", nil, one))}, []string{"ns/a"}},
		{"a claim without devices adds nothing", []func(*Store){update(allocated("a", nil, nil))}, nil},
		{"losing the last claim removes the device", []func(*Store){update(allocated("a", nil, one)), remove("a")}, nil},
		{"deallocation removes the device", []func(*Store){update(allocated("a", nil, one)), update(allocated("a", nil, nil))}, nil},
		{"another device takes its place", []func(*Store){update(allocated("a", nil, one)), update(allocated("a", nil, map[string]string{"other": ""}))}, nil},
		{"several claims share a device", []func(*Store){update(allocated("b", nil, part("2"))), update(allocated("a", nil, part("1")))}, []string{"ns/a=1", "ns/b=2", "shared"}},
		{"a share may change", []func(*Store){update(allocated("a", nil, part("1"))), update(allocated("a", nil, part("3")))}, []string{"ns/a=3", "shared"}},
		{"one of several claims goes", []func(*Store){update(allocated("a", nil, part("1"))), update(allocated("b", nil, part("2"))), remove("a")}, []string{"ns/b=2", "shared"}},
		{"from shared to exclusive", []func(*Store){update(allocated("a", nil, part("1"))), update(allocated("a", nil, one))}, []string{"ns/a"}},
		{"from exclusive to shared", []func(*Store){update(allocated("a", nil, one)), update(allocated("a", nil, part("1")))}, []string{"ns/a=1", "shared"}},
		{"reserved for pods only", []func(*Store){update(allocated("a", []string{"p", "q"}, one))}, []string{"ns/a", "releasable"}},
		{"every claim must be reserved for pods", []func(*Store){update(allocated("a", []string{"p"}, part("1"))), update(allocated("b", nil, part("1")))}, []string{"ns/a=1", "ns/b=1", "shared"}},
		{"a reservation may come later", []func(*Store){update(allocated("a", nil, one)), update(allocated("a", []string{"p"}, one))}, []string{"ns/a", "releasable"}},
		{"removing an unknown claim has no effect", []func(*Store){remove("a")}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStore()
			s.Devices.Track()
			for _, step := range tc.steps {
				step(s)
				s.Snapshot() // publishing in between must not freeze anything
			}
			if diff := cmp.Diff(tc.want, uses(s, "gpu")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDevicesAreAppliedBeforeTheWatcherIsReady checks that existing objects are applied before the watcher is ready, and that
// WaitReady returns when the context ends.
func TestDevicesAreAppliedBeforeTheWatcherIsReady(t *testing.T) {
	t.Attr("covers", "L340")
	s := newStore()
	if slices.Contains(namesOf(s.kinds()), "ResourceClaim") {
		t.Errorf("without tracking, %v are waited for", namesOf(s.kinds()))
	}
	s.Devices.Track()
	feed := NewWatcher(s, clock.RealClock{})
	for _, kind := range []string{"DeviceClass", "ResourceClaim", "ResourceSlice"} {
		if !slices.Contains(feed.Missing(), kind) {
			t.Errorf("%s is not waited for", kind)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if feed.WaitReady(ctx) {
		t.Error("ready before anything was delivered")
	}
}

func namesOf(kinds []kind) []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name())
	}
	return out
}

func TestClaimsFollowTheirClass(t *testing.T) {
	s := newStore()
	s.Devices.Track()
	claim := allocated("a", []string{"p"}, nil)
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}}
	problem := func() string {
		c, ok := s.Snapshot().Devices.Claims.Get("ns/a")
		if !ok {
			t.Fatal("the claim is not there")
		}
		return c.Problem
	}
	s.Devices.UpdateResourceClaim(claim)
	if problem() == "" {
		t.Error("a claim of a class that does not exist has no problem")
	}
	s.Devices.UpdateDeviceClass(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
	if got := problem(); got != "" {
		t.Errorf("the class is there, and the problem still %q", got)
	}
	s.Devices.DeleteDeviceClass("gpu")
	if problem() == "" {
		t.Error("the class is gone, and there is no problem")
	}
}

func TestSlicesComeAndGo(t *testing.T) {
	s := newStore()
	s.Devices.Track()
	s.Devices.UpdateResourceSlice(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{Driver: "d"}})
	before := s.Snapshot()
	s.Devices.DeleteResourceSlice("s")
	if before.Devices.Slices.Len() != 1 || s.Snapshot().Devices.Slices.Len() != 0 {
		t.Errorf("%d slices before and %d after the deletion", before.Devices.Slices.Len(), s.Snapshot().Devices.Slices.Len())
	}
}

func TestDevicesAreIgnoredUnlessTracked(t *testing.T) {
	s := newStore()
	s.Devices.UpdateResourceClaim(allocated("a", nil, nil))
	s.Devices.UpdateDeviceClass(&resourcev1.DeviceClass{})
	s.Devices.DeleteResourceSlice("s")
	if got := s.Snapshot().Devices; got != (*model.Devices)(nil) {
		t.Errorf("got %+v", got)
	}
}

func TestDeviceTaintRulesAreReadWhereTheyAreServed(t *testing.T) {
	t.Attr("covers", "N445")
	s := newStore()
	s.Devices.Track()
	if slices.Contains(namesOf(s.kinds()), "DeviceTaintRule") {
		t.Error("a kind that is not served is waited for")
	}
	s.Devices.TrackTaintRules()
	if !slices.Contains(namesOf(s.kinds()), "DeviceTaintRule") {
		t.Error("the kind is not waited for")
	}
	rule := func(effect resourcev1.DeviceTaintEffect) *resourcev1.DeviceTaintRule {
		return &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "rule"}, Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{}, Taint: resourcev1.DeviceTaint{Key: "broken", Effect: effect},
		}}
	}
	for i, step := range []struct {
		apply func()
		want  int
	}{
		{func() { s.Devices.UpdateTaintRule(rule(resourcev1.DeviceTaintEffectNone)) }, 0},
		{func() { s.Devices.UpdateTaintRule(rule(resourcev1.DeviceTaintEffectNoSchedule)) }, 1},
		{func() { s.Devices.UpdateTaintRule(rule(resourcev1.DeviceTaintEffectNone)) }, 0},
		{func() { s.Devices.UpdateTaintRule(rule(resourcev1.DeviceTaintEffectNoExecute)) }, 1},
		{func() { s.Devices.DeleteTaintRule("rule") }, 0},
	} {
		before := s.Snapshot().Version
		if step.apply(); s.Snapshot().Devices.TaintRules.Len() != step.want || s.Snapshot().Version == before {
			t.Errorf("step %d: %d rules, want %d", i, s.Snapshot().Devices.TaintRules.Len(), step.want)
		}
	}
}

func TestClassesServeExtendedResources(t *testing.T) {
	t.Attr("covers", "N440")
	class := func(resource string) *resourcev1.DeviceClass {
		return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: &resource}}
	}
	for _, track := range []bool{true, false} {
		s := newStore()
		s.Devices.Track()
		if track {
			s.Devices.TrackExtendedResources()
		}
		served := func(resource string) bool { return s.Snapshot().Devices.Extended[resource].Name == "gpu" }
		s.Devices.UpdateDeviceClass(class("example.org/gpu"))
		if served("example.org/gpu") != track || served("deviceclass.resource.kubernetes.io/gpu") != track {
			t.Errorf("tracked %v: %v", track, s.Snapshot().Devices.Extended)
		}
		if s.Devices.UpdateDeviceClass(class("example.org/other")); served("example.org/other") != track || served("example.org/gpu") {
			t.Errorf("after a change, tracked %v: %v", track, s.Snapshot().Devices.Extended)
		}
		if s.Devices.DeleteDeviceClass("gpu"); len(s.Snapshot().Devices.Extended) > 0 {
			t.Errorf("after the class is gone: %v", s.Snapshot().Devices.Extended)
		}
	}
}
