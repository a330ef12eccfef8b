package offline

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// class is a class as it is written in a file.
func class(alias string, change ...func(*awsv1.EC2NodeClass)) *awsv1.EC2NodeClass {
	out := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if alias != "" {
		out.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: alias}}
	}
	for _, c := range change {
		c(out)
	}
	return out
}

// list are the types of a region for a pool of a class.
func list(t *testing.T, catalog string, c *awsv1.EC2NodeClass) map[string]*cloud.InstanceType {
	t.Helper()
	p, err := New(Options{Catalog: catalog, VMMemoryOverheadPercent: 0.075}, []*awsv1.EC2NodeClass{c})
	if err != nil {
		t.Fatal(err)
	}
	pool := &v1.NodePool{}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	types, err := p.InstanceTypes(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*cloud.InstanceType{}
	for _, it := range types {
		out[it.Name] = it
	}
	return out
}

// TestAllocatable compares with what EC2's own description of the types comes to.
func TestAllocatable(t *testing.T) {
	types := list(t, "aws/us-east-1", class("al2023@latest"))
	for name, want := range map[string]string{
		"a1.medium": "940m 1392Mi 8", "a1.large": "1930m 3055Mi 29", "a1.xlarge": "3920m 6525Mi 58", "c6g.large": "1930m 3055Mi 29", "m5.large": "1930m 6903Mi 29",
		"t3.large": "1930m 6837Mi 35", "g4dn.8xlarge": "31850m 120248Mi 58", "inf2.xlarge": "3920m 14162Mi 58", "trn1.2xlarge": "7910m 29317Mi 58",
		"i3en.24xlarge": "95690m 718987Mi 737", "m5.metal": "95690m 355262Mi 737",
	} {
		it := types[name]
		if it == nil {
			t.Errorf("%s is not there", name)
			continue
		}
		free := it.Allocatable()
		if got := strings.Join([]string{free.Cpu().String(), free.Memory().String(), free.Pods().String()}, " "); got != want {
			t.Errorf("%s has %s for pods, want %s", name, got, want)
		}
	}
	for resource, name := range map[corev1.ResourceName]string{
		awsv1.ResourceNVIDIAGPU: "g4dn.8xlarge", awsv1.ResourceNeuron: "inf2.xlarge", awsv1.ResourcePodENI: "m5.large", awsv1.ResourceAMDGPU: "g4ad.4xlarge",
	} {
		if q := types[name].Capacity[resource]; q.IsZero() {
			t.Errorf("%s has no %s", name, resource)
		}
	}
}

// TestGPUs holds the catalog against the numbers of GPUs that the specification has.
func TestGPUs(t *testing.T) {
	t.Attr("covers", "N339")
	types := list(t, CatalogFor("us-east-1"), class("al2023@latest"))
	for want, names := range map[int64]string{
		1: "g4dn.xlarge g4dn.8xlarge g4dn.16xlarge g5.xlarge g5.8xlarge g5.16xlarge g5g.xlarge g6.xlarge g6.16xlarge g6e.8xlarge gr6.4xlarge p5.4xlarge",
		2: "g5g.16xlarge g5g.metal", 4: "g4dn.12xlarge g5.12xlarge g5.24xlarge g6.24xlarge g6e.12xlarge",
		8: "g4dn.metal g5.48xlarge g6.48xlarge g6e.48xlarge p3dn.24xlarge p4d.24xlarge p4de.24xlarge p5.48xlarge p5en.48xlarge p6-b200.48xlarge",
	} {
		for _, name := range strings.Fields(names) {
			it := types[name]
			if it == nil {
				continue // the region does not have it
			}
			if q := it.Capacity[awsv1.ResourceNVIDIAGPU]; q.Value() != want {
				t.Errorf("%s has %s GPUs, want %d", name, q.String(), want)
			}
		}
	}
}

// TestNetwork holds the catalog against the numbers of fabric adapters, and of pods by the interfaces of the first network card, that AWS
// documents.
func TestNetwork(t *testing.T) {
	const unknownFabric = "hpc6a.48xlarge hpc6id.32xlarge hpc7a.96xlarge trn2.48xlarge" // they support EFA; their network cards are in no data set
	hardware, err := parseHardware(hardwareText)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(unknownFabric) {
		if h := hardware[name]; h.fabricAdapters != 1 || len(h.cards) > 0 {
			t.Errorf("%s has %d fabric adapters and network cards %v, want one without known cards", name, h.fabricAdapters, h.cards)
		}
	}
	types := map[string]*cloud.InstanceType{}
	for _, region := range []string{"us-east-1", "us-west-2"} {
		maps.Copy(types, list(t, CatalogFor(region), class("al2023@latest")))
	}
	for want, names := range map[string]string{
		"0": "m5.large c6g.metal g6.4xlarge c6in.16xlarge c7i.metal-24xl u-6tb1.56xlarge",
		"1": "g4dn.8xlarge g5.8xlarge g6.8xlarge g6e.8xlarge gr6.8xlarge g5.48xlarge c5n.9xlarge c6i.32xlarge c7g.metal c7gn.16xlarge i3en.metal hpc7g.16xlarge " + unknownFabric,
		"2": "c6in.32xlarge m6idn.metal i7ie.48xlarge", "4": "p4d.24xlarge dl1.24xlarge g6e.48xlarge", "8": "trn1.32xlarge",
		"16": "p5en.48xlarge trn1n.32xlarge", "32": "p5.48xlarge",
	} {
		for _, name := range strings.Fields(names) {
			it := types[name]
			if it == nil {
				continue // no region has it
			}
			if q := it.Capacity[awsv1.ResourceEFA]; q.String() != want {
				t.Errorf("%s has %s fabric adapters, want %s", name, q.String(), want)
			}
		}
	}
	for name, want := range map[string]string{"p5.48xlarge": "100", "p4d.24xlarge": "737", "c6in.32xlarge": "394", "trn1.32xlarge": "247", "i3en.24xlarge": "737"} {
		if it := types[name]; it != nil && it.Capacity.Pods().String() != want {
			t.Errorf("%s has %s pods, want %s", name, it.Capacity.Pods(), want)
		}
	}
}

func TestSettingsOfTheControllerCount(t *testing.T) {
	p, err := New(Options{Catalog: "aws/us-east-1", ReservedENIs: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := class("al2023@latest")
	p.complete(c)
	types, err := p.of(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range types {
		if it.Name == "m5.large" && (it.Capacity.Memory().String() != "8Gi" || it.Capacity.Pods().Value() != 20) {
			t.Errorf("with an interface set aside, and no overhead: %s, %s pods", it.Capacity.Memory(), it.Capacity.Pods())
		}
	}
}

func TestLabels(t *testing.T) {
	types := list(t, "aws/us-east-1", class("al2023@latest"))
	for name, want := range map[string]map[string]string{
		"g4dn.8xlarge": {
			awsv1.LabelInstanceCPU: "32", awsv1.LabelInstanceCPUClockSpeed: "2500", awsv1.LabelInstanceMemory: "131072", awsv1.LabelInstanceEBSBandwidth: "9500",
			awsv1.LabelInstanceNetworkBandwidth: "50000", awsv1.LabelInstanceGPUName: "t4", awsv1.LabelInstanceGPUManufacturer: "nvidia", awsv1.LabelInstanceGPUCount: "1",
			awsv1.LabelInstanceGPUMemory: "16384", awsv1.LabelInstanceLocalNVMe: "900", awsv1.LabelInstanceHypervisor: "nitro",
		},
		"a1.medium": {
			awsv1.LabelInstanceCategory: "a", awsv1.LabelInstanceGeneration: "1", awsv1.LabelInstanceCPUManufacturer: "aws", awsv1.LabelInstanceCPUClockSpeed: "2300",
			awsv1.LabelInstanceEBSBandwidth: "3500", corev1.LabelArchStable: "arm64", corev1.LabelTopologyRegion: "us-east-1",
		},
		"m4.large":     {awsv1.LabelInstanceHypervisor: "xen"},
		"m5.metal":     {awsv1.LabelInstanceHypervisor: ""},
		"trn1.2xlarge": {awsv1.LabelInstanceAcceleratorName: "trainium", awsv1.LabelInstanceAcceleratorCount: "1"},
	} {
		set := cloud.Requirements(types[name].Requirements, awsv1.LabelRules())
		for key, value := range want {
			if r := set.Get(key); !r.Has(value) || len(r.Values()) != 1 {
				t.Errorf("%s: %s is %s, want %q", name, key, r, value)
			}
		}
	}
}

func TestEveryCatalogIsKnown(t *testing.T) {
	known, err := parseHardware(hardwareText)
	if err != nil {
		t.Fatal(err)
	}
	if len(Catalogs()) < 4 {
		t.Errorf("catalogs %v", Catalogs())
	}
	for _, catalog := range Catalogs() {
		region := strings.TrimPrefix(catalog, "aws/")
		for name, it := range list(t, catalog, class("al2023@latest")) {
			if _, ok := known[name]; !ok {
				t.Errorf("%s: the composition of %s is unknown", catalog, name)
			}
			for _, o := range it.Offerings {
				if !strings.HasPrefix(o.Zone(), region) || o.Available && o.Price <= 0 {
					t.Errorf("%s: %s in %s at %g", catalog, name, o.Zone(), o.Price)
				}
			}
			if strings.HasPrefix(name, "a1.") == slices.ContainsFunc(it.Offerings, func(o cloud.Offering) bool { return o.Available }) {
				t.Errorf("%s: %s can be bought, or cannot, and AL2023 runs on all but a1", catalog, name)
			}
		}
	}
	for _, name := range []string{"generic", "aws/nowhere-1", ""} {
		if _, err := New(Options{Catalog: name}, nil); err == nil {
			t.Errorf("there is a catalog %q", name)
		}
	}
}

func TestClassesGetAStatus(t *testing.T) {
	ready := func(c *awsv1.EC2NodeClass) string {
		t.Helper()
		if _, err := New(Options{Catalog: "aws/us-east-1"}, []*awsv1.EC2NodeClass{c}); err != nil {
			t.Fatal(err)
		}
		for _, have := range c.Status.Conditions {
			if have.Type == awsv1.ConditionTypeReady {
				return string(have.Status) + " " + have.Message
			}
		}
		return "none"
	}
	kubelet := func(name, value string) func(*awsv1.EC2NodeClass) {
		return func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet = block(name, value) }
	}
	for name, test := range map[string]struct {
		class *awsv1.EC2NodeClass
		want  string
	}{
		"plain":            {class("al2023@latest"), "True "},
		"expressions":      {class("al2023@latest", kubelet("maxPods", `"vcpus * 8"`)), "True "},
		"failing":          {class("al2023@latest", kubelet("maxPods", `"1 / (vcpus - 2)"`)), "False KubeletExpressionEvaluationFailed: resolving instance type"},
		"not understood":   {class("al2023@latest", kubelet("maxPods", "-1")), "False InvalidKubeletConfiguration: spec.kubelet.maxPods: -1 can't be negative"},
		"dropped":          {class("bottlerocket@latest", kubelet("serializeImagePulls", "true")), "False UnsupportedKubeletConfiguration"},
		"a wrong alias":    {class("al2023@a@b"), "False UnsupportedAlias"},
		"restricted tags":  {class("al2023@latest", func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"karpenter.sh/nodepool": "x"} }), "False TagValidationFailed"},
		"from a cluster":   {class("al2023@latest", func(c *awsv1.EC2NodeClass) { conditioned(c, metav1.ConditionFalse) }), "False as it was"},
		"ready, no status": {class("", func(c *awsv1.EC2NodeClass) { conditioned(c, metav1.ConditionTrue) }), "True "},
	} {
		if got := ready(test.class); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: ready is %q, want %q", name, got, test.want)
		}
		if bought := condition.Status(test.class, awsv1.ConditionTypeReady) == metav1.ConditionTrue; bought && len(test.class.Status.Subnets) != 6 {
			t.Errorf("%s: subnets %v", name, test.class.Status.Subnets)
		}
	}
	narrow := class("al2023@latest", func(c *awsv1.EC2NodeClass) {
		conditioned(c, metav1.ConditionTrue)
		c.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: "us-east-1b", ZoneID: "use1-az2"}}
	})
	for _, o := range list(t, "aws/us-east-1", narrow)["m5.large"].Offerings {
		if o.Available != (o.Zone() == "us-east-1b") {
			t.Errorf("with a subnet in us-east-1b alone: %s available %t", o.Zone(), o.Available)
		}
	}
}

// TestReservationsHaveTheirPrice: running capacity in a reservation is nearly free, and nothing is launched into it, as the remaining capacity is unknown.
func TestReservationsHaveTheirPrice(t *testing.T) {
	reserving := class("al2023@latest", func(c *awsv1.EC2NodeClass) {
		conditioned(c, metav1.ConditionTrue)
		c.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: "us-east-1b"}}
		c.Status.CapacityReservations = []awsv1.CapacityReservation{{ID: "cr-1", InstanceType: "m5.large", AvailabilityZone: "us-east-1b"}}
	})
	types := list(t, "aws/us-east-1", reserving)
	for name, want := range map[string]int{"m5.large": 1, "m5.xlarge": 0} {
		reserved := slices.DeleteFunc(slices.Clone(types[name].Offerings), func(o cloud.Offering) bool { return o.CapacityType() != v1.CapacityTypeReserved })
		if len(reserved) != want {
			t.Errorf("%s: %+v", name, reserved)
		}
		for _, o := range reserved {
			if o.Launchable() || o.Price <= 0 || o.Price > 1e-6 || o.Label(awsv1.LabelCapacityReservationID) != "cr-1" {
				t.Errorf("%s: %+v", name, o)
			}
		}
	}
}

func TestZonesTellTheCatalog(t *testing.T) {
	for zones, want := range map[string]string{
		"us-east-1a": "aws/us-east-1", "us-east-1a us-east-1f": "aws/us-east-1", "us-east-1-bos-1a": "aws/us-east-1", "eu-west-1c": "aws/eu-west-1",
		"us-east-1a eu-west-1c": "", "us-east-10a": "", "us-east-1": "", "": "", "us-east-1a nowhere-1a": "",
	} {
		if got := CatalogOf(strings.Fields(zones)); got != want {
			t.Errorf("%q are of the catalog %q, want %q", zones, got, want)
		}
	}
}

// conditioned is a class of a cluster.
func conditioned(c *awsv1.EC2NodeClass, status metav1.ConditionStatus) {
	c.Status.Conditions = []metav1.Condition{{Type: awsv1.ConditionTypeReady, Status: status, Message: "as it was"}}
}

// block is a kubelet block of one field.
func block(name, value string) map[string]apiextensionsv1.JSON {
	return map[string]apiextensionsv1.JSON{name: {Raw: []byte(value)}}
}
