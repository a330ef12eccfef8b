package provider_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/devices"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/aws/unavailableofferings"
)

// list are the types of the class by name.
func (w *world) list() map[string]*cloud.InstanceType {
	w.t.Helper()
	types, err := w.Catalog.Types(w.t.Context(), w.class)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]*cloud.InstanceType{}
	for _, t := range types {
		out[t.Name] = t
	}
	return out
}

// podsOf shows how many pods each type takes.
func podsOf(types map[string]*cloud.InstanceType) string {
	var out []string
	for name, t := range types {
		out = append(out, fmt.Sprintf("%s %d", name, t.Capacity.Pods().Value()))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestExpressionsForPods(t *testing.T) {
	t.Attr("covers", "A231 N316 N317 N347")
	w := newWorld(t, "m5.large", "m5.xlarge")
	w.Catalog.EvaluatesExpressions = true
	w.resolve(func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet = kubeletBlock(t, `{"maxPods": "vcpus * 5"}`) })
	if got := podsOf(w.list()); got != "m5.large 10, m5.metal 480, m5.xlarge 20" {
		t.Errorf("pods: %s", got)
	}
	for broken, first := range map[string]string{"10 / (vcpus - 4)": "large", "3 - vcpus": "metal", "vcpus * 500000000": "metal"} { // in the order of their names
		w.resolve(func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet = kubeletBlock(t, `{"maxPods": "`+broken+`"}`) })
		if types, err := w.Catalog.Types(t.Context(), w.class); err == nil || !strings.HasPrefix(err.Error(), "resolving instance type m5."+first+",") || types != nil {
			t.Errorf("%s: %d types, %v", broken, len(types), err)
		}
		if _, err := w.InstanceTypes(t.Context(), w.pool); err == nil {
			t.Errorf("%s: the list for the pool does not fail", broken)
		}
	}
	// The interfaces that are set aside are no part of what lists are remembered under: here they show what was.
	w.resolve(func(c *awsv1.EC2NodeClass) {
		c.Spec.Kubelet = kubeletBlock(t, `{"maxPods": "max_pods + 100 / (max_pods - 58)"}`) // m5.xlarge has 58, and comes last
	})
	if _, err := w.Catalog.Types(t.Context(), w.class); err == nil {
		t.Error("a division by zero is no failure")
	}
	w.Catalog.ReservedENIs = 1
	if got := podsOf(w.list()); !strings.HasPrefix(got, "m5.large 18,") {
		t.Errorf("something of the failed list was remembered: %s", got)
	}
}

// TestUnreadableKubeletBlocks has a block that validation has not seen: no type is listed and nothing launched with defaults in its place.
func TestUnreadableKubeletBlocks(t *testing.T) {
	t.Attr("covers", "N315")
	w := newWorld(t, "m5.large")
	w.resolve(func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet = kubeletBlock(t, `{"clusterDNS": "10.0.0.10"}`) })
	if types, err := w.Catalog.Types(t.Context(), w.class); err == nil || !strings.HasPrefix(err.Error(), "parsing spec.kubelet, ") {
		t.Errorf("%d types, %v", len(types), err)
	}
	if _, err := w.Create(t.Context(), w.claim()); err == nil || len(w.account.LaunchTemplates()) > 0 {
		t.Errorf("launched with %d templates, %v", len(w.account.LaunchTemplates()), err)
	}
}

func TestExpressionsAreOffByDefault(t *testing.T) {
	t.Attr("covers", "A233")
	w := newWorld(t, "m5.large")
	w.resolve(func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet = kubeletBlock(t, `{"maxPods": "vcpus * 5"}`) })
	if got := podsOf(w.list()); got != "m5.large 29, m5.metal 737" {
		t.Errorf("pods: %s", got)
	}
}

// TestNodesReserveWhatWasPlanned has types that differ in what they reserve, and in nothing else that nodes are told.
func TestNodesReserveWhatWasPlanned(t *testing.T) {
	t.Attr("covers", "A323 N316")
	w := newWorld(t, "m5.large", "m5.xlarge")
	w.Catalog.EvaluatesExpressions = true
	w.resolve(func(c *awsv1.EC2NodeClass) {
		c.Spec.Kubelet = kubeletBlock(t, `{"maxPods": 20, "kubeReserved": {"memory": "vcpus * 100"}}`)
	})
	w.create(w.claim(cloud.In(corev1.LabelInstanceTypeStable, "m5.large", "m5.xlarge")))
	var told []string
	for _, template := range w.account.LaunchTemplates() {
		text, err := base64.StdEncoding.DecodeString(template.Data["UserData"])
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if memory, ok := strings.CutPrefix(strings.TrimSpace(line), "memory: "); ok {
				told = append(told, memory)
			}
		}
	}
	slices.Sort(told)
	if got := strings.Join(told, " "); got != "208Mi 400Mi" {
		t.Errorf("nodes are told to reserve %s", got)
	}
	types := w.list()
	for name, want := range map[string]int64{"m5.large": 208, "m5.xlarge": 400} {
		if got := types[name].Overhead.Memory().Value()>>20 - 100; got != want { // 100 are for eviction
			t.Errorf("%s is planned with %d Mi", name, got)
		}
	}
}

func TestMarksMakeOfferingsAnew(t *testing.T) {
	t.Attr("covers", "A246")
	w := newWorld(t, "m5.large", "c5.large")
	first := w.list()
	if again := w.list(); again["m5.large"] != first["m5.large"] || again["c5.large"] != first["c5.large"] {
		t.Fatal("types are worked out again although nothing has changed")
	}
	w.Catalog.UnavailableOfferings.MarkUnavailable(unavailableofferings.Offering{InstanceType: "m5.large", CapacityType: "spot", Zone: "us-east-1a"})
	marked := w.list()
	if marked["m5.large"] == first["m5.large"] || marked["c5.large"] != first["c5.large"] {
		t.Error("a mark changes its own type, and no other")
	}
	for _, o := range marked["m5.large"].Offerings {
		if o.Zone() == "us-east-1a" && o.CapacityType() == "spot" && o.Available {
			t.Error("what is marked is available")
		}
	}
	w.Catalog.UnavailableOfferings.MarkCapacityTypeUnavailable("spot")
	for name, it := range w.list() {
		if it == marked[name] {
			t.Errorf("%s is as it was", name)
		}
		if slices.ContainsFunc(it.Offerings, func(o cloud.Offering) bool { return o.Available && o.CapacityType() == "spot" }) {
			t.Errorf("%s can be had as spot", name)
		}
	}
}

func TestNewDataCountsAtOnce(t *testing.T) {
	t.Attr("covers", "A248")
	const local = "us-east-1-bos-1a"
	w := newWorld(t, "m5.large", "c5.large")
	w.account.AddSubnet(awstest.Subnet{ID: "subnet-local", Zone: local, ZoneID: "use1-bos1-az1", Free: 100, Tags: map[string]string{"karpenter.sh/discovery": "test"}})
	w.clock.Step(time.Minute) // for which subnets are remembered
	w.resolve(func(*awsv1.EC2NodeClass) {})
	sold := func() bool {
		return slices.ContainsFunc(w.list()["m5.large"].Offerings, func(o cloud.Offering) bool { return o.Available && o.Zone() == local })
	}
	if sold() {
		t.Fatal("offered too early")
	}
	w.account.AddOffering("m5.large", local, 0)
	refresh := func() error { return w.Catalog.Inventory.RefreshTypes(t.Context()) }
	if err := refresh(); err != nil || !sold() {
		t.Errorf("after a refresh (%v) the new zone does not count", err)
	}
	before := w.list()
	resume := w.account.SellNothing()
	if err := refresh(); err == nil {
		t.Error("an empty answer is taken for news")
	}
	if after := w.list(); len(after) != len(before) || after["m5.large"] != before["m5.large"] {
		t.Error("an empty answer spoilt something")
	}
	resume()
	if err := refresh(); err != nil || w.list()["m5.large"] != before["m5.large"] {
		t.Errorf("a refresh without news: %v", err)
	}
}

// TestNewPricesCountAtOnce checks that prices which are read late, because the first attempt failed, are used as soon as they are read.
func TestNewPricesCountAtOnce(t *testing.T) {
	w := newWorld(t, "m5.large")
	price := func() float64 {
		for _, o := range w.list()["m5.large"].Offerings {
			if o.Zone() == "us-east-1a" && o.CapacityType() == "spot" {
				return o.Price
			}
		}
		return 0
	}
	before := w.list()["m5.large"]
	w.account.SetSpotPrice("m5.large", "us-east-1a", 0.0123)
	refresh := func() error { return w.Catalog.Inventory.RefreshSpot(t.Context(), w.clock.Now()) }
	if err := refresh(); err != nil || price() != 0.0123 {
		t.Errorf("after a refresh (%v) it costs %g, want 0.0123", err, price())
	}
	after := w.list()["m5.large"]
	if err := refresh(); err != nil || after == before || w.list()["m5.large"] != after {
		t.Errorf("a refresh without news (%v) makes another type", err)
	}
}

func TestLocalZones(t *testing.T) {
	t.Attr("covers", "A213")
	const local = "us-east-1-bos-1a"
	w := newWorld(t, "m5.large")
	w.account.AddSubnet(awstest.Subnet{ID: "subnet-local", Zone: local, ZoneID: "use1-bos1-az1", Free: 100, Tags: map[string]string{"karpenter.sh/discovery": "test"}})
	w.account.AddOffering("m5.large", local, 0)
	if err := w.Catalog.Inventory.RefreshTypes(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(time.Minute) // for which subnets are remembered
	w.resolve(func(*awsv1.EC2NodeClass) {})
	created := w.create(w.claim(cloud.In(corev1.LabelTopologyZone, local)))
	i := w.account.Instances()[0]
	if i.Subnet != "subnet-local" || i.Spot || created.Labels[corev1.LabelTopologyZone] != local || created.Labels[awsv1.LabelZoneID] != "use1-bos1-az1" ||
		created.Labels[corev1.LabelTopologyRegion] != "us-east-1" {
		t.Errorf("%+v, labels %v", i, created.Labels)
	}
	if _, err := w.Create(t.Context(), w.claim(cloud.In(corev1.LabelTopologyZone, local), cloud.In(v1.CapacityTypeLabelKey, "spot"))); !cloud.IsInsufficientCapacity(err) {
		t.Errorf("spot is not offered there: %v", err)
	}
}

func TestDisksHaveAnEnd(t *testing.T) {
	t.Attr("covers", "A239")
	w := newWorld(t, "m5.large")
	ask := func(amount string) error {
		claim := w.claim()
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(amount)}
		_, err := w.Create(t.Context(), claim)
		return err
	}
	if err := ask("17Gi"); err != nil { // of 20: a tenth is kept free, and 1Gi reserved
		t.Error(err)
	}
	if err := ask("18Gi"); !cloud.IsInsufficientCapacity(err) {
		t.Errorf("more than there is: %v", err)
	}
	size, device := resource.MustParse("100Gi"), "/dev/xvda"
	w.resolve(func(c *awsv1.EC2NodeClass) {
		c.Spec.BlockDeviceMappings = []*awsv1.BlockDeviceMapping{{DeviceName: &device, EBS: &awsv1.BlockDevice{VolumeSize: &size}}}
	})
	if err := ask("89Gi"); err != nil {
		t.Error(err)
	}
	if err := ask("90Gi"); !cloud.IsInsufficientCapacity(err) {
		t.Errorf("more than there is: %v", err)
	}
}

func TestFabricAdapters(t *testing.T) {
	t.Attr("covers", "A186 N338")
	w := newWorld(t, "c5n.18xlarge")
	plain := w.claim(cloud.In(corev1.LabelInstanceTypeStable, "c5n.18xlarge"))
	asking := w.claim(plain.Spec.Requirements...)
	asking.Spec.Resources.Requests = corev1.ResourceList{awsv1.ResourceEFA: resource.MustParse("1")}
	fabric := w.claim(plain.Spec.Requirements...)
	fabric.Annotations = map[string]string{v1.RequestedDRADriversAnnotationKey: "dra.net,gpu.nvidia.com"}
	others := w.claim(plain.Spec.Requirements...)
	others.Annotations = map[string]string{v1.RequestedDRADriversAnnotationKey: "gpu.nvidia.com"}
	laidOut := w.claim(plain.Spec.Requirements...)
	for _, test := range []struct {
		name string
		of   *v1.NodeClaim
		want int64
	}{{"not asked for", plain, 0}, {"asked for", asking, 1}, {"asked for as devices", fabric, 1}, {"other devices", others, 0}, {"laid out by the class", laidOut, 1}} {
		if test.of == laidOut {
			w.resolve(func(c *awsv1.EC2NodeClass) {
				c.Spec.NetworkInterfaces = []*awsv1.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 1, InterfaceType: awsv1.InterfaceTypeEFAOnly}}
			})
		}
		created := w.create(test.of)
		for _, list := range []corev1.ResourceList{created.Status.Capacity, created.Status.Allocatable} {
			q, there := list[awsv1.ResourceEFA]
			if there != (test.want > 0) || q.Value() != test.want {
				t.Errorf("%s: %s adapters (%t)", test.name, q.String(), there)
			}
		}
	}
}

// TestDevicesOfDrivers: each driver has its gate, and the class says how GPUs are shared.
func TestDevicesOfDrivers(t *testing.T) {
	t.Attr("covers", "N333 N334")
	predicted := func(w *world) (out []string) {
		for name, it := range w.list() {
			if it.DynamicResources == nil {
				continue
			}
			for _, s := range it.DynamicResources.ResourceSlices {
				for _, d := range s.Spec.Devices {
					out = append(out, fmt.Sprint(name, " ", s.Spec.Driver, " ", s.Spec.Pool.Name, " ", d.Name, " ", d.AllowMultipleAllocations != nil))
				}
			}
		}
		return out
	}
	if got := predicted(newWorld(t, "g4dn.xlarge")); len(got) > 0 {
		t.Errorf("without gates: %v", got)
	}
	w := newWorld(t, "g4dn.xlarge", "m5.large")
	w.Catalog.PlansGPUs = true
	for text, shared := range map[string]string{"": "false", "memory": "true"} {
		w.resolve(func(c *awsv1.EC2NodeClass) {
			c.Annotations = map[string]string{devices.SharingAnnotation: text}
		})
		if got, want := strings.Join(predicted(w), ", "), "g4dn.xlarge gpu.nvidia.com gpus-g4dn.xlarge gpu-0 "+shared; got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestFurtherSourcesOfOfferings(t *testing.T) {
	t.Attr("covers", "A254")
	w := newWorld(t, "m5.large")
	label := "example.com/deal"
	w.Catalog.OfferingSources = []instancetype.OfferingSource{
		func(in instancetype.Input, have []cloud.Offering) []cloud.Offering {
			return append(have, cloud.Offering{
				Requirements: []v1.NodeSelectorRequirementWithMinValues{
					cloud.In(v1.CapacityTypeLabelKey, "on-demand"), cloud.In(corev1.LabelTopologyZone, in.Class.Subnets[0].Zone), cloud.In(label, "special"),
				},
				Price: in.Market.OnDemand / 2, Available: true,
			})
		},
		func(_ instancetype.Input, have []cloud.Offering) []cloud.Offering {
			return slices.DeleteFunc(slices.Clone(have), func(o cloud.Offering) bool { return o.CapacityType() == "spot" })
		},
	}
	it := w.list()["m5.large"]
	special := 0
	for _, o := range it.Offerings {
		if o.CapacityType() == "spot" {
			t.Errorf("the second source is not heard: %v", o)
		}
		if o.Label(label) == "special" && o.Price > 0 {
			special++
		}
	}
	if special != 1 || len(it.Offerings) < 2 {
		t.Errorf("%d of %d offerings come from the first source", special, len(it.Offerings))
	}
	for _, r := range it.Requirements {
		if r.Key == v1.CapacityTypeLabelKey && slices.Contains(r.Values, "spot") {
			t.Error("labels are not those of the offerings")
		}
	}
}

// TestClassesShareOfferingsOnlyIfTheyLaunchTheSame: what a class asks of instances takes effect at once, although instance types are cached.
func TestClassesShareOfferingsOnlyIfTheyLaunchTheSame(t *testing.T) {
	t.Attr("covers", "N318 N319")
	w := newWorld(t, "m5.large", "c5.large")
	launchable := func() string {
		var out []string
		for name, it := range w.list() {
			if slices.ContainsFunc(it.Offerings, func(o cloud.Offering) bool { return o.Launchable() }) {
				out = append(out, name)
			}
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	w.resolve(func(*awsv1.EC2NodeClass) {})
	all, enabled := launchable(), "enabled"
	for _, change := range []func(*awsv1.EC2NodeClass){
		func(c *awsv1.EC2NodeClass) { c.Spec.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} },
		func(c *awsv1.EC2NodeClass) {
			c.Spec.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: &enabled}
		},
	} {
		before := w.class.DeepCopy().Spec
		w.resolve(change)
		if got := launchable(); got == all {
			t.Errorf("%s can be launched, as without the option", got)
		}
		w.resolve(func(c *awsv1.EC2NodeClass) { c.Spec = before })
		if got := launchable(); got != all {
			t.Errorf("%s can be launched again, want %s", got, all)
		}
	}
}
