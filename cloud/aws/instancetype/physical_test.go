package instancetype_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
)

// TestNothingBeyondWhatThereIs compares the capacity of types with what EC2 provides: CPUs, memory, and addresses for pods,
// two of which need none.
func TestNothingBeyondWhatThereIs(t *testing.T) {
	t.Attr("covers", "A212")
	fabric := []*awsv1.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 1, InterfaceType: awsv1.InterfaceTypeEFAOnly}}
	for _, family := range []awsv1.Family{awsv1.FamilyAL2, awsv1.FamilyAL2023, awsv1.FamilyBottlerocket, awsv1.FamilyCustom} {
		for _, name := range []string{"a1.medium", "c6g.large", "m5.large", "t3.large", "m5.metal", "p5.48xlarge", "m6idn.32xlarge", "u-6tb1.metal"} {
			for setting, change := range map[string]func(*instancetype.Input){
				"plain": func(*instancetype.Input) {}, "fabric": func(in *instancetype.Input) { in.Class.NetworkInterfaces = fabric },
				"set aside": func(in *instancetype.Input) { in.Settings.ReservedENIs = 1 }, "no address": func(in *instancetype.Input) { in.Settings.ReservedENIs = 100 },
				"nothing lost": func(in *instancetype.Input) { in.Settings.VMMemoryOverheadPercent = 0 },
			} {
				in := input(t, name)
				in.Class.Family = family
				change(&in)
				it := instancetype.Resolve(in)
				addresses := in.Description.Network.Cards[0].MaximumInterfaces * (in.Description.Network.IPv4PerInterface - 1)
				switch setting {
				case "fabric", "set aside":
					addresses -= in.Description.Network.IPv4PerInterface - 1
				case "no address":
					addresses = -2
				}
				for resource, most := range map[corev1.ResourceName]int64{
					corev1.ResourcePods: addresses + 2, corev1.ResourceCPU: in.Description.VCPUs, corev1.ResourceMemory: in.Description.MemoryMiB << 20,
				} {
					capacity, allocatable := it.Capacity[resource], it.Allocatable()[resource]
					if capacity.Value() > most || allocatable.Cmp(capacity) > 0 {
						t.Errorf("%s on %s, %s: %s of %s %s, and there are %d", name, family, setting, allocatable.String(), capacity.String(), resource, most)
					}
				}
			}
		}
	}
}
