package translate

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestAllocationOfRareClusters compares the engine with kube-scheduler on clusters that drawn problems rarely have.
func TestAllocationOfRareClusters(t *testing.T) {
	t.Attr("covers", "N445")
	for _, tc := range []struct {
		name    string
		slices  []*resourcev1.ResourceSlice
		request resourcev1.DeviceRequest
		want    bool
	}{
		{
			name: "an allocated name draws from counters on every node that has it",
			slices: cardSlices(map[string]int64{"memory": 1},
				onAllNodes(partitionOf("a", "memory", 0), partitionOf("b", "memory", 0)), onNode("there", partitionOf("a", "memory", 3))),
			request: firstOfCapacity(), want: false,
		},
		{
			name: "the device of another name does not",
			slices: cardSlices(map[string]int64{"memory": 1},
				onAllNodes(partitionOf("a", "memory", 0), partitionOf("b", "memory", 0)), onNode("there", partitionOf("c", "memory", 3))),
			request: firstOfCapacity(), want: true,
		},
		{
			name:    "no device that consumes counters is allocated while another counter is overdrawn",
			slices:  cardSlices(map[string]int64{"memory": 1, "engines": 2}, onAllNodes(partitionOf("a", "memory", 2), partitionOf("b", "engines", 1))),
			request: firstOfCapacity(), want: false,
		},
		{
			name:    "a device that consumes no counters is, while a counter is overdrawn",
			slices:  cardSlices(map[string]int64{"memory": 1}, onAllNodes(partitionOf("a", "memory", 2), resourcev1.Device{Name: "b"})),
			request: firstOfCapacity(), want: true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := namedCluster()
			c.slices = tc.slices
			c.allocated = []*resourcev1.ResourceClaim{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "earlier"},
				Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
					Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r0", Driver: "a.example", Pool: "pool", Device: "a"}},
				}}},
			}}
			claims := []*resourcev1.ResourceClaim{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "later"},
				Spec:       resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{tc.request}}},
			}}
			if got := c.schedulerAllocates(t, claims); (got != nil) != tc.want {
				t.Errorf("kube-scheduler allocates %v, want %v", got, tc.want)
			}
			if got, why := c.allocates(claims); got != tc.want {
				t.Errorf("allocates: %v (%s), want %v", got, why, tc.want)
			}
		})
	}
}

// firstOfCapacity asks for three devices with a capacity that none has, or for any device.
func firstOfCapacity() resourcev1.DeviceRequest {
	return resourcev1.DeviceRequest{Name: "r0", FirstAvailable: []resourcev1.DeviceSubRequest{
		{
			Name: "s0", DeviceClassName: "any", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 3,
			Capacity: &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]apiresource.Quantity{"bandwidth": apiresource.MustParse("4")}},
		},
		{Name: "s1", DeviceClassName: "any", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
	}}
}

func partitionOf(name, counter string, amount int64) resourcev1.Device {
	return resourcev1.Device{Name: name, ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "card", Counters: map[string]resourcev1.Counter{
		counter: {Value: *apiresource.NewQuantity(amount, apiresource.DecimalSI)},
	}}}}
}

func onAllNodes(devices ...resourcev1.Device) resourcev1.ResourceSliceSpec {
	return resourcev1.ResourceSliceSpec{AllNodes: ptr.To(true), Devices: devices}
}

func onNode(name string, devices ...resourcev1.Device) resourcev1.ResourceSliceSpec {
	return resourcev1.ResourceSliceSpec{NodeName: &name, Devices: devices}
}

// cardSlices are a pool of slices with devices, and one with the counters.
func cardSlices(counters map[string]int64, specs ...resourcev1.ResourceSliceSpec) []*resourcev1.ResourceSlice {
	set := resourcev1.CounterSet{Name: "card", Counters: map[string]resourcev1.Counter{}}
	for name, amount := range counters {
		set.Counters[name] = resourcev1.Counter{Value: *apiresource.NewQuantity(amount, apiresource.DecimalSI)}
	}
	specs = append(specs, resourcev1.ResourceSliceSpec{AllNodes: ptr.To(true), SharedCounters: []resourcev1.CounterSet{set}})
	var out []*resourcev1.ResourceSlice
	for i, spec := range specs {
		spec.Driver = "a.example"
		spec.Pool = resourcev1.ResourcePool{Name: "pool", Generation: 1, ResourceSliceCount: int64(len(specs))}
		out = append(out, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + i))}, Spec: spec})
	}
	return out
}
