package devices_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/devices"
)

var (
	g5   = devices.Hardware{InstanceType: "g5.48xlarge", GPU: "A10G", GPUs: 8, GPUMemoryMiB: 24576, EFAs: 1}
	both = devices.Settings{NVIDIA: true, EFA: true}
)

// render writes one line for each device and each binding.
func render(d *cloud.DynamicResources) string {
	if d == nil {
		return ""
	}
	var b strings.Builder
	for _, s := range d.ResourceSlices {
		for _, device := range s.Spec.Devices {
			fmt.Fprintf(&b, "%s %s/%d %s", s.Spec.Driver, s.Spec.Pool.Name, s.Spec.Pool.ResourceSliceCount, device.Name)
			for _, name := range slices.Sorted(maps.Keys(device.Attributes)) {
				fmt.Fprintf(&b, " %s=%s", name, value(device.Attributes[name]))
			}
			if device.AllowMultipleAllocations != nil && *device.AllowMultipleAllocations {
				b.WriteString(" shared")
			}
			for _, name := range slices.Sorted(maps.Keys(device.Capacity)) {
				c := device.Capacity[name]
				fmt.Fprintf(&b, " %s=%s", name, c.Value.String())
				if p := c.RequestPolicy; p != nil {
					r := p.ValidRange
					fmt.Fprintf(&b, "(default %s, %s to %s by %s)", p.Default, r.Min, r.Max, r.Step)
				}
			}
			b.WriteString("\n")
		}
	}
	for _, a := range d.AttributeBindings {
		fmt.Fprintf(&b, "%s is the same on %d devices\n", a.Attribute, len(a.Devices))
	}
	return b.String()
}

func value(a resourcev1.DeviceAttribute) string {
	switch {
	case a.StringValue != nil:
		return *a.StringValue
	case a.VersionValue != nil:
		return "v" + *a.VersionValue
	default:
		return fmt.Sprint(*a.BoolValue)
	}
}

func TestPredict(t *testing.T) {
	t.Attr("covers", "N334 N335 N336 N337")
	two := g5
	two.GPUs = 2
	const gpus = `gpu.nvidia.com gpus-g5.48xlarge/1 gpu-0 architecture=Ampere cudaComputeCapability=v8.6.0 type=gpu memory=22609Mi
gpu.nvidia.com gpus-g5.48xlarge/1 gpu-1 architecture=Ampere cudaComputeCapability=v8.6.0 type=gpu memory=22609Mi
gpu.nvidia.com/driverVersion is the same on 2 devices
gpu.nvidia.com/cudaDriverVersion is the same on 2 devices
`
	const efa = "dra.net network-g5.48xlarge/1 efa-0 rdma=true\n"
	lines := strings.SplitAfter(gpus, "\n")
	for _, test := range []struct {
		name     string
		hardware devices.Hardware
		settings devices.Settings
		want     string
	}{
		{"both drivers", two, both, strings.Join(lines[:2], "") + efa + strings.Join(lines[2:], "")},
		{"GPUs", two, devices.Settings{NVIDIA: true}, gpus},
		{"EFA", two, devices.Settings{EFA: true}, efa},
		{"no driver", two, devices.Settings{}, ""},
		{"no devices", devices.Hardware{InstanceType: "m5.large"}, both, ""},
		{
			"one GPU of a kind that is not known, without memory",
			devices.Hardware{InstanceType: "x", GPU: "Z1", GPUs: 1},
			both,
			"gpu.nvidia.com gpus-x/1 gpu-0 type=gpu\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, render(devices.Predict(test.hardware, test.settings, devices.Sharing{}))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestSharing(t *testing.T) {
	t.Attr("covers", "N333")
	one := g5
	one.GPUs, one.EFAs = 1, 0
	const gpu = "gpu.nvidia.com gpus-g5.48xlarge/1 gpu-0 architecture=Ampere cudaComputeCapability=v8.6.0 type=gpu"
	for text, want := range map[string]string{
		"":          gpu + " memory=22609Mi\n",
		"disabled":  gpu + " memory=22609Mi\n",
		"memory":    gpu + " shared memory=22609Mi(default 22609Mi, 1Mi to 22609Mi by 1Mi)\n",
		"unlimited": gpu + " shared memory=22609Mi(default 0, 0 to 22609Mi by 1Mi)\n",
		"10":        gpu + " shared memory=22609Mi(default 0, 0 to 22609Mi by 1Mi) shares=10(default 1, 1 to 10 by 1)\n",
	} {
		sharing, err := devices.ParseSharing(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, render(devices.Predict(one, both, sharing))); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
		bare := one
		bare.GPUMemoryMiB = 0
		if got := render(devices.Predict(bare, both, sharing)); strings.Contains(got, "shared") {
			t.Errorf("%q: a GPU without memory is shared: %s", text, got)
		}
	}
	for _, text := range []string{"0", "-1", "1.5", "Memory", "enabled", " memory", "9223372036854775808"} {
		if _, err := devices.ParseSharing(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
