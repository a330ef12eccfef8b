package template_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/template"
)

// input is the input that most tests start from.
func input(change func(*template.Input)) template.Input {
	class := &awsv1.EC2NodeClass{}
	class.Status.SecurityGroups = []awsv1.SecurityGroup{{ID: "sg-1"}, {ID: "sg-2"}}
	class.Status.InstanceProfile = "profile"
	class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
	in := template.Input{
		Class: class, Tags: map[string]string{"a": "1", "b": "2"}, UserData: "dXNlcg==", ImageID: "ami-1", CapacityType: "on-demand", Tenancy: "default", ReservesCapacity: true,
	}
	if change != nil {
		change(&in)
	}
	return in
}

func build(t *testing.T, change func(*template.Input)) (string, *ec2types.RequestLaunchTemplateData) {
	t.Helper()
	out, err := template.Build(input(change))
	if err != nil {
		t.Fatal(err)
	}
	return *out.LaunchTemplateName, out.LaunchTemplateData
}

func TestEveryInputNamesAnotherTemplate(t *testing.T) {
	t.Attr("covers", "A290 A294 N315")
	plain, _ := build(t, nil)
	if again, _ := build(t, nil); again != plain {
		t.Errorf("%s and %s for the same", plain, again)
	}
	reservation := awsv1.CapacityReservation{ID: "cr-1"}
	names := map[string]string{plain: "nothing"}
	for what, change := range map[string]func(*template.Input){
		"image": func(in *template.Input) { in.ImageID = "ami-2" }, "user data": func(in *template.Input) { in.UserData = "b3RoZXI=" },
		"tags": func(in *template.Input) { in.Tags = map[string]string{"a": "1", "b": "3"} }, "capacity type": func(in *template.Input) { in.CapacityType = "spot" },
		"tenancy": func(in *template.Input) { in.Tenancy = "dedicated" }, "adapters": func(in *template.Input) { in.EFAs = 2 }, "more adapters": func(in *template.Input) { in.EFAs = 4 },
		"reservation": func(in *template.Input) { in.Reservation = &reservation },
		"another":     func(in *template.Input) { in.Reservation = &awsv1.CapacityReservation{ID: "cr-2"} },
		"block": func(in *template.Input) {
			in.Reservation = &awsv1.CapacityReservation{ID: "cr-1", ReservationType: "capacity-block"}
		},
		"may be taken back": func(in *template.Input) { in.Reservation = &awsv1.CapacityReservation{ID: "cr-1", Interruptible: true} },
		"no reservations":   func(in *template.Input) { in.ReservesCapacity = false }, "enclaves": func(in *template.Input) { in.Class.Spec.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} },
		"IPv6": func(in *template.Input) { in.IPv6 = true }, "group": func(in *template.Input) { in.PlacementGroupID = "pg-1" },
		"partition": func(in *template.Input) { in.PlacementGroupID, in.Partition = "pg-1", "3" },
		"groups":    func(in *template.Input) { in.Class.Status.SecurityGroups = in.Class.Status.SecurityGroups[:1] },
		"profile":   func(in *template.Input) { in.Class.Status.InstanceProfile = "other" },
		"family":    func(in *template.Input) { in.Class.Spec.AMISelectorTerms[0].Alias = "bottlerocket@latest" },
		"public":    func(in *template.Input) { in.Class.Spec.AssociatePublicIPAddress = aws.Bool(false) },
		"prefixes":  func(in *template.Input) { in.Class.Spec.IPPrefixCount = aws.Int32(1) },
		"monitored": func(in *template.Input) { in.Class.Spec.DetailedMonitoring = aws.Bool(true) },
		"metadata": func(in *template.Input) {
			in.Class.Spec.MetadataOptions = &awsv1.MetadataOptions{HTTPTokens: aws.String("optional")}
		},
		"nested": func(in *template.Input) {
			in.Class.Spec.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: aws.String("enabled")}
		},
		"tracking": func(in *template.Input) {
			in.Class.Spec.ConnectionTracking = &awsv1.ConnectionTracking{UDPTimeout: aws.Int32(30)}
		},
	} {
		name, _ := build(t, change)
		if other, taken := names[name]; taken {
			t.Errorf("%s makes no difference from %s", what, other)
		}
		names[name] = what
	}
}

func TestInterfaces(t *testing.T) {
	t.Attr("covers", "A301 A302 A303")
	tracking := &awsv1.ConnectionTracking{TCPEstablishedTimeout: aws.Int32(300)}
	all := func(in *template.Input) {
		in.Class.Spec.ConnectionTracking, in.Class.Spec.AssociatePublicIPAddress, in.Class.Spec.IPPrefixCount = tracking, aws.Bool(true), aws.Int32(3)
	}
	for _, test := range []struct {
		name   string
		change func(*template.Input)
		kinds  []string
	}{
		{"one", all, []string{""}},
		{"adapters", func(in *template.Input) { all(in); in.EFAs = 3 }, []string{"efa", "efa", "efa"}},
		{"laid out", func(in *template.Input) {
			all(in)
			in.Class.Spec.NetworkInterfaces = []*awsv1.NetworkInterface{{InterfaceType: "interface"}, {NetworkCardIndex: 1, DeviceIndex: 1, InterfaceType: "efa-only"}}
		}, []string{"interface", "efa-only"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, data := build(t, test.change)
			if len(data.NetworkInterfaces) != len(test.kinds) {
				t.Fatalf("%d interfaces", len(data.NetworkInterfaces))
			}
			for i, face := range data.NetworkInterfaces {
				kind := aws.ToString(face.InterfaceType)
				if kind != test.kinds[i] || len(face.Groups) != 2 {
					t.Errorf("interface %d is %q with groups %v", i, kind, face.Groups)
				}
				carries := face.Ipv4PrefixCount != nil && face.AssociatePublicIpAddress != nil && face.ConnectionTrackingSpecification != nil
				nothing := face.Ipv4PrefixCount == nil && face.AssociatePublicIpAddress == nil && face.ConnectionTrackingSpecification == nil && face.Ipv6AddressCount == nil
				if kind == "efa-only" && !nothing || kind != "efa-only" && !carries {
					t.Errorf("interface %d (%s) is %+v", i, kind, face)
				}
			}
		})
	}
	_, data := build(t, func(in *template.Input) { in.EFAs = 3 })
	for i, want := range []int32{0, 1, 1} {
		if face := data.NetworkInterfaces[i]; *face.DeviceIndex != want || *face.NetworkCardIndex != int32(i) {
			t.Errorf("adapter %d is in place %d of card %d", i, *face.DeviceIndex, *face.NetworkCardIndex)
		}
	}
}

func TestOptions(t *testing.T) {
	_, plain := build(t, nil)
	t.Run("metadata", func(t *testing.T) {
		t.Attr("covers", "A306")
		_, isolated := build(t, func(in *template.Input) { in.MetadataHasNoIPv6 = true })
		if plain.MetadataOptions.HttpProtocolIpv6 != "disabled" || isolated.MetadataOptions.HttpProtocolIpv6 != "" || isolated.MetadataOptions.InstanceMetadataTags != "disabled" {
			t.Errorf("%+v and %+v", plain.MetadataOptions, isolated.MetadataOptions)
		}
	})
	t.Run("enclaves", func(t *testing.T) {
		t.Attr("covers", "A307 N318")
		_, with := build(t, func(in *template.Input) { in.Class.Spec.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} })
		if *plain.EnclaveOptions.Enabled || !*with.EnclaveOptions.Enabled {
			t.Error("enclaves do not follow what was asked for")
		}
	})
	t.Run("nested virtualization", func(t *testing.T) {
		t.Attr("covers", "A308")
		_, with := build(t, func(in *template.Input) {
			in.Class.Spec.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: aws.String("enabled")}
		})
		if plain.CpuOptions != nil || with.CpuOptions.NestedVirtualization != "enabled" {
			t.Errorf("%+v and %+v", plain.CpuOptions, with.CpuOptions)
		}
	})
	t.Run("reservations", func(t *testing.T) {
		t.Attr("covers", "A309")
		_, off := build(t, func(in *template.Input) { in.ReservesCapacity = false })
		if off.CapacityReservationSpecification != nil || off.InstanceMarketOptions != nil {
			t.Errorf("with the feature off: %+v", off.CapacityReservationSpecification)
		}
		if plain.CapacityReservationSpecification.CapacityReservationPreference != "none" {
			t.Errorf("without: %+v", plain.CapacityReservationSpecification)
		}
		for market, r := range map[string]awsv1.CapacityReservation{
			"": {ID: "cr-1"}, "capacity-block": {ID: "cr-1", ReservationType: "capacity-block"}, "interruptible-capacity-reservation": {ID: "cr-1", Interruptible: true},
		} {
			_, data := build(t, func(in *template.Input) { in.Reservation = &r })
			s := data.CapacityReservationSpecification
			if s.CapacityReservationPreference != "capacity-reservations-only" || *s.CapacityReservationTarget.CapacityReservationId != "cr-1" {
				t.Errorf("%q: %+v", market, s)
			}
			if got := data.InstanceMarketOptions; market == "" && got != nil || market != "" && string(got.MarketType) != market {
				t.Errorf("%q: %+v", market, got)
			}
		}
	})
	t.Run("IPv6", func(t *testing.T) {
		t.Attr("covers", "A304")
		_, data := build(t, func(in *template.Input) { in.IPv6, in.Class.Spec.IPPrefixCount = true, aws.Int32(2) })
		if face := data.NetworkInterfaces[0]; !*face.PrimaryIpv6 || *face.Ipv6AddressCount != 1 || *face.Ipv6PrefixCount != 2 || face.Ipv4PrefixCount != nil {
			t.Errorf("%+v", face)
		}
	})
}

// TestSizesOfDisksAreWholeGibibytes: EC2 counts whole GiB, so that sizes are rounded up.
func TestSizesOfDisksAreWholeGibibytes(t *testing.T) {
	for size, want := range map[string]int32{"1G": 1, "20Gi": 20, "21G": 20, "1Gi": 1, "21Gi": 21, "1": 1} {
		_, data := build(t, func(in *template.Input) {
			quantity := resource.MustParse(size)
			in.Class.Spec.BlockDeviceMappings = []*awsv1.BlockDeviceMapping{{DeviceName: aws.String("/dev/xvda"), EBS: &awsv1.BlockDevice{VolumeSize: &quantity}}}
		})
		if got := *data.BlockDeviceMappings[0].Ebs.VolumeSize; got != want {
			t.Errorf("%s: %d, want %d", size, got, want)
		}
	}
}
