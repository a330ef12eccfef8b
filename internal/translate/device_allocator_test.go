package translate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// schedulerFeatures are the features of the allocator that kube-scheduler 1.37 uses by default.
var schedulerFeatures = structured.Features{
	AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true, DeviceTaints: true, PartitionableDevices: true, PrioritizedList: true,
}

// TestAllocationIsThatOfKubeScheduler allocates devices on a node for pods that come one after the other, and compares whether each pod
// gets devices with the allocator of kube-scheduler, which decides what the next pod finds.
func TestAllocationIsThatOfKubeScheduler(t *testing.T) {
	t.Attr("covers", "N445 N448")
	outcomes := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		c := drawDeviceCluster(t)
		for pod := range rapid.IntRange(1, 4).Draw(t, "pods") {
			var claims []*resourcev1.ResourceClaim
			for i := range rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "claims") {
				claims = append(claims, drawClaim(t, fmt.Sprintf("p%d-%d", pod, i)))
			}
			want := c.schedulerAllocates(t, claims)
			got, why := c.allocates(claims)
			if got != (want != nil) {
				t.Fatalf("pod %d gets devices: %v (%s), of kube-scheduler: %v", pod, got, why, want)
			}
			outcomes[got]++
			for i := range want {
				claims[i].Status.Allocation = &want[i]
				c.allocated = append(c.allocated, claims[i])
			}
		}
	})
	for _, outcome := range []bool{true, false} {
		if outcomes[outcome] < 20 {
			t.Errorf("%d pods with the outcome %v, want more", outcomes[outcome], outcome)
		}
	}
}

// deviceCluster is a node, the devices that are published and the claims that are allocated.
type deviceCluster struct {
	node      *corev1.Node
	slices    []*resourcev1.ResourceSlice
	rules     []*resourcev1.DeviceTaintRule
	classes   map[string]*resourcev1.DeviceClass
	allocated []*resourcev1.ResourceClaim
}

// List and Get make it the lister of the allocator.
func (c *deviceCluster) List() ([]*resourcev1.DeviceClass, error) {
	return slices.Collect(maps.Values(c.classes)), nil
}

func (c *deviceCluster) Get(name string) (*resourcev1.DeviceClass, error) {
	if class := c.classes[name]; class != nil {
		return class, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "deviceclasses"}, name)
}

// schedulerAllocates are the allocations of kube-scheduler, nil for none.
func (c *deviceCluster) schedulerAllocates(t rapid.TB, claims []*resourcev1.ResourceClaim) []resourcev1.AllocationResult {
	state := structured.AllocatedState{
		AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity: structured.NewConsumedCapacityCollection(),
	}
	for _, claim := range c.allocated {
		for _, r := range claim.Status.Allocation.Devices.Results {
			id := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
			switch {
			case ptr.Deref(r.AdminAccess, false):
			case r.ShareID != nil:
				state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, r.ShareID))
				state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, r.ConsumedCapacity))
			default:
				state.AllocatedDevices.Insert(id)
			}
		}
	}
	allocator, err := structured.NewAllocator(context.Background(), schedulerFeatures, state, c, c.tainted(), dracel.NewCache(10, dracel.Features{EnableConsumableCapacity: true}))
	if err != nil {
		t.Fatal(err)
	}
	out, err := allocator.Allocate(context.Background(), c.node, claims)
	if err != nil {
		t.Logf("kube-scheduler: %v", err)
		return nil
	}
	return out
}

// tainted are the slices with the taints of rules, as kube-scheduler adds them before it allocates.
func (c *deviceCluster) tainted() []*resourcev1.ResourceSlice {
	var out []*resourcev1.ResourceSlice
	for _, s := range c.slices {
		s = s.DeepCopy()
		for _, r := range c.rules {
			is := func(want *string, name string) bool { return want == nil || *want == name }
			if of := r.Spec.DeviceSelector; of != nil && is(of.Driver, s.Spec.Driver) && is(of.Pool, s.Spec.Pool.Name) {
				for i := range s.Spec.Devices {
					if is(of.Device, s.Spec.Devices[i].Name) {
						s.Spec.Devices[i].Taints = append(s.Spec.Devices[i].Taints, r.Spec.Taint)
					}
				}
			}
		}
		out = append(out, s)
	}
	return out
}

// allocates reports whether the engine has devices for the claims, and why not.
func (c *deviceCluster) allocates(claims []*resourcev1.ResourceClaim) (bool, string) {
	translator := New(v1.CoreLabelRules())
	var published []*device.Slice
	for _, s := range c.slices {
		published = append(published, translator.Slice(s))
	}
	var rules []*device.TaintRule
	for _, r := range c.rules {
		if rule := DeviceTaintRule(r); rule != nil {
			rules = append(rules, rule)
		}
	}
	usages := map[device.ID]*device.Usage{}
	for _, claim := range c.allocated {
		for id, share := range DeviceShares(claim) {
			if usages[id] == nil {
				usages[id] = &device.Usage{Device: id}
			}
			usages[id].Shares = append(usages[id].Shares, share)
		}
	}
	anything := func(string) bool { return true }
	allocated := device.NewAllocated(slices.Collect(maps.Values(usages)), func(string) bool { return false })
	allocations := device.NewAllocations(device.NewInventory(published, rules, anything), allocated)
	var asked []*device.Claim
	for _, claim := range claims {
		asked = append(asked, translator.DeviceClaim(claim, func(name string) *resourcev1.DeviceClass { return c.classes[name] }).Claim)
	}
	labels := requirement.Labels(c.node.Labels)
	found, failure := allocations.Allocate(device.Candidate{Owner: c.node.Name, Node: c.node.Name, Requirements: labels, Fixed: true, Templates: []*device.Template{nil}}, asked, nil)
	if failure != nil {
		return false, failure.Text
	}
	allocations.Commit(c.node.Name, found)
	return true, fmt.Sprint(allocations.Outcomes(c.node.Name, nil))
}

// namedCluster has a node and device classes, and no devices.
func namedCluster() *deviceCluster {
	return &deviceCluster{
		node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here", Labels: map[string]string{"zone": "a"}}},
		classes: map[string]*resourcev1.DeviceClass{
			"any":   {ObjectMeta: metav1.ObjectMeta{Name: "any"}},
			"large": {ObjectMeta: metav1.ObjectMeta{Name: "large"}, Spec: resourcev1.DeviceClassSpec{Selectors: selecting(`device.attributes["a.example"].size == "large"`)}},
			"odd":   {ObjectMeta: metav1.ObjectMeta{Name: "odd"}, Spec: resourcev1.DeviceClassSpec{Selectors: selecting(`device.attributes["a.example"].missing == "x"`)}},
		},
	}
}

func drawDeviceCluster(t *rapid.T) *deviceCluster {
	c := namedCluster()
	for pool := range rapid.IntRange(1, 3).Draw(t, "pools") {
		c.slices = append(c.slices, drawPool(t, fmt.Sprintf("pool-%d", pool))...)
	}
	for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "rules") {
		c.rules = append(c.rules, drawTaintRule(t))
	}
	return c
}

func drawTaintRule(t *rapid.T) *resourcev1.DeviceTaintRule {
	r := &resourcev1.DeviceTaintRule{Spec: resourcev1.DeviceTaintRuleSpec{Taint: drawTaint(t)}}
	if rarely(t, "no selector") {
		return r
	}
	name := func(what string, of ...string) *string {
		if rapid.Bool().Draw(t, what) {
			return nil
		}
		return ptr.To(rapid.SampledFrom(of).Draw(t, what+" name"))
	}
	r.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{
		Driver: name("driver", "a.example", "b.example"), Pool: name("pool", "pool-0", "pool-1"), Device: name("device", "d-1-0", "d-1-1", "d-2-0"),
	}
	return r
}

func drawTaint(t *rapid.T) resourcev1.DeviceTaint {
	return resourcev1.DeviceTaint{Key: rapid.SampledFrom([]string{"broken", "worn"}).Draw(t, "key"), Effect: rapid.SampledFrom([]resourcev1.DeviceTaintEffect{
		resourcev1.DeviceTaintEffectNone, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute, "Unknown",
	}).Draw(t, "effect")}
}

// rarely is true for one in ten.
func rarely(t *rapid.T, what string) bool { return rapid.IntRange(0, 9).Draw(t, what) == 9 }

// drawPool are the slices of a pool: two with devices at most, and one with the counters that partitions consume.
func drawPool(t *rapid.T, name string) []*resourcev1.ResourceSlice {
	counters := rapid.Bool().Draw(t, "counters")
	var out []*resourcev1.ResourceSlice
	add := func() *resourcev1.ResourceSlice {
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, len(out))}}
		s.Spec.Driver, s.Spec.Pool.Name = rapid.SampledFrom([]string{"a.example"}).Draw(t, "driver"), name
		out = append(out, s)
		return s
	}
	for range rapid.IntRange(1, 2).Draw(t, "slices") {
		s := add()
		drawAccess(t, &s.Spec)
		for range rapid.IntRange(1, 3).Draw(t, "devices") {
			n := len(s.Spec.Devices)
			d := drawDevice(t, fmt.Sprintf("d-%d-%d", len(out), n), counters)
			if ptr.Deref(s.Spec.PerDeviceNodeSelection, false) {
				drawDeviceAccess(t, &d)
			}
			s.Spec.Devices = append(s.Spec.Devices, d)
		}
	}
	if counters {
		s := add()
		drawAccess(t, &s.Spec)
		s.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "set", Counters: map[string]resourcev1.Counter{
			"memory":  {Value: *apiresource.NewQuantity(rapid.Int64Range(1, 6).Draw(t, "counter"), apiresource.DecimalSI)},
			"engines": {Value: *apiresource.NewQuantity(rapid.Int64Range(1, 4).Draw(t, "engines"), apiresource.DecimalSI)},
		}}}
	}
	missing := int64(0)
	if rarely(t, "incomplete") {
		missing = 1
	}
	for _, s := range out {
		s.Spec.Pool.Generation, s.Spec.Pool.ResourceSliceCount = 1, int64(len(out))+missing
	}
	if rarely(t, "another generation") {
		out[len(out)-1].Spec.Pool.Generation = 2
		out[len(out)-1].Spec.Pool.ResourceSliceCount = rapid.Int64Range(1, 2).Draw(t, "count")
	}
	return out
}

func zoneSelector(zone string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
		Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{zone},
	}}}}}
}

func drawAccess(t *rapid.T, s *resourcev1.ResourceSliceSpec) {
	switch rapid.SampledFrom([]string{"node", "node", "all", "zone", "devices"}).Draw(t, "access") {
	case "node":
		s.NodeName = ptr.To(rapid.SampledFrom([]string{"here", "here", "there"}).Draw(t, "node name"))
	case "all":
		s.AllNodes = ptr.To(true)
	case "zone":
		s.NodeSelector = zoneSelector(rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "zone"))
	case "devices":
		s.PerDeviceNodeSelection = ptr.To(true)
	}
}

func drawDeviceAccess(t *rapid.T, d *resourcev1.Device) {
	s := resourcev1.ResourceSliceSpec{}
	for drawAccess(t, &s); ptr.Deref(s.PerDeviceNodeSelection, false); drawAccess(t, &s) {
		s = resourcev1.ResourceSliceSpec{}
	}
	d.NodeName, d.AllNodes, d.NodeSelector = s.NodeName, s.AllNodes, s.NodeSelector
}

func drawDevice(t *rapid.T, name string, counters bool) resourcev1.Device {
	d := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"size": {StringValue: ptr.To(rapid.SampledFrom([]string{"large", "large", "small"}).Draw(t, "size"))},
	}}
	if rapid.Bool().Draw(t, "root") {
		d.Attributes["root"] = resourcev1.DeviceAttribute{IntValue: ptr.To(rapid.Int64Range(0, 1).Draw(t, "root value"))}
	}
	if rarely(t, "same name") {
		d.Name = "d-1-0"
	}
	if rapid.IntRange(0, 2).Draw(t, "shared") == 0 {
		d.AllowMultipleAllocations = ptr.To(true)
	}
	if rapid.Bool().Draw(t, "has capacity") {
		d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {
			Value: *apiresource.NewQuantity(rapid.Int64Range(1, 6).Draw(t, "capacity"), apiresource.DecimalSI), RequestPolicy: drawPolicy(t, d.AllowMultipleAllocations != nil),
		}}
	}
	if counters && rapid.Bool().Draw(t, "consumes") {
		d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "set", Counters: map[string]resourcev1.Counter{
			rapid.SampledFrom([]string{"memory", "memory", "engines"}).Draw(t, "consumed counter"): {
				Value: *apiresource.NewQuantity(rapid.Int64Range(0, 4).Draw(t, "consumed"), apiresource.DecimalSI),
			},
		}}}
	}
	if rarely(t, "taint") {
		d.Taints = []resourcev1.DeviceTaint{drawTaint(t)}
	}
	if rarely(t, "binding conditions") {
		d.BindingConditions, d.BindsToNode = []string{"attached"}, ptr.To(rapid.Bool().Draw(t, "binds to node"))
	}
	return d
}

func drawPolicy(t *rapid.T, shared bool) *resourcev1.CapacityRequestPolicy {
	if !shared {
		return nil
	}
	one, two := apiresource.MustParse("1"), apiresource.MustParse("2")
	switch rapid.SampledFrom([]string{"none", "values", "range"}).Draw(t, "policy") {
	case "values":
		return &resourcev1.CapacityRequestPolicy{Default: &one, ValidValues: []apiresource.Quantity{one, apiresource.MustParse("3")}}
	case "range":
		return &resourcev1.CapacityRequestPolicy{Default: &two, ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: &one, Step: &two}}
	}
	return nil
}

func drawClaim(t *rapid.T, name string) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	var names []string
	for r := range rapid.IntRange(1, 2).Draw(t, "requests") {
		request := resourcev1.DeviceRequest{Name: fmt.Sprintf("r%d", r)}
		names = append(names, request.Name)
		if rapid.IntRange(0, 2).Draw(t, "form") == 0 {
			for a := range rapid.IntRange(1, 2).Draw(t, "alternatives") {
				e := drawExact(t)
				sub := resourcev1.DeviceSubRequest{
					Name: fmt.Sprintf("s%d", a), DeviceClassName: e.DeviceClassName, Selectors: e.Selectors, AllocationMode: e.AllocationMode, Count: e.Count,
					Tolerations: e.Tolerations, Capacity: e.Capacity,
				}
				request.FirstAvailable = append(request.FirstAvailable, sub)
				names = append(names, request.Name+"/"+sub.Name)
			}
		} else {
			e := drawExact(t)
			if rarely(t, "admin") {
				e.AdminAccess = ptr.To(true)
			}
			request.Exactly = &e
		}
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, request)
	}
	if rapid.IntRange(0, 2).Draw(t, "constraint") == 0 {
		root := resourcev1.FullyQualifiedName("a.example/root")
		constraint := resourcev1.DeviceConstraint{MatchAttribute: &root}
		if rapid.Bool().Draw(t, "distinct") {
			constraint = resourcev1.DeviceConstraint{DistinctAttribute: &root}
		}
		if rapid.Bool().Draw(t, "of a request") {
			constraint.Requests = []string{rapid.SampledFrom(names).Draw(t, "of")}
		}
		claim.Spec.Devices.Constraints = append(claim.Spec.Devices.Constraints, constraint)
	}
	return claim
}

func drawExact(t *rapid.T) resourcev1.ExactDeviceRequest {
	e := resourcev1.ExactDeviceRequest{
		DeviceClassName: rapid.SampledFrom([]string{"any", "any", "any", "any", "large", "large", "large", "odd"}).Draw(t, "class"),
		AllocationMode:  resourcev1.DeviceAllocationModeExactCount,
		Count:           rapid.SampledFrom([]int64{1, 1, 1, 2, 3}).Draw(t, "count"),
	}
	if rapid.IntRange(0, 4).Draw(t, "mode") == 0 {
		e.AllocationMode, e.Count = resourcev1.DeviceAllocationModeAll, 0
	}
	if rapid.IntRange(0, 3).Draw(t, "selectors") == 0 {
		e.Selectors = selecting(`device.attributes["a.example"].size == "small"`)
	}
	if rapid.IntRange(0, 3).Draw(t, "tolerates") == 0 {
		e.Tolerations = []resourcev1.DeviceToleration{{Key: "broken", Operator: resourcev1.DeviceTolerationOpExists}}
	}
	if rapid.IntRange(0, 3).Draw(t, "wants capacity") == 0 {
		e.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]apiresource.Quantity{
			resourcev1.QualifiedName(rapid.SampledFrom([]string{"memory", "memory", "memory", "bandwidth"}).Draw(t, "dimension")): *apiresource.NewQuantity(rapid.Int64Range(1, 4).Draw(t, "amount"), apiresource.DecimalSI),
		}}
	}
	return e
}
