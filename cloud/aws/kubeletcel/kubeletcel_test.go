package kubeletcel_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubeletcel"
)

var m5 = kubeletcel.Variables{VCPUs: 2, MemoryMiB: 8192, DefaultENIs: 3, IPsPerENI: 10, MaxPods: 29, InstanceType: "m5.large"}

func withPods(text string) kubelet.Config {
	return kubelet.Config{MaxPods: new(intstr.FromString(text))}
}

func TestPods(t *testing.T) {
	for text, want := range map[string]int32{
		"110": 110, "vcpus * 8": 16, "min(110, default_enis * (ips_per_eni - 1) + 2)": 29, "max_pods + 1": 30, "memory_mib / 1024": 8,
		"instance_type.startsWith('m5') ? 7 : 8": 7, "max(double(vcpus) * 1.5, 2.9)": 3, "max(2, 2.5)": 2, "max(2.5, 2)": 2, "min(2.5, 3)": 2, "min(2.5, 2.4)": 2, "max(1, 2)": 2,
		"2147483647": 2147483647, "0": 0, "-0.5": 0, "double(vcpus) * 3.99": 7, "size(instance_type)": 8, "[1, 2, 3].exists(n, n == vcpus) ? 1 : 0": 1,
	} {
		c, err := kubeletcel.Compile(withPods(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := c.Pods(m5)
		if err != nil || got.MaxPods.IntVal != want || got.HasExpressions() {
			t.Errorf("%s: %v, %v, want %d", text, got.MaxPods, err, want)
		}
	}
}

// TestTheSizeOfExpressionsIsBounded: to check the types of 240 maps in each other takes half a minute.
func TestTheSizeOfExpressionsIsBounded(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("{1: ", n) + "1" + strings.Repeat("}", n) + ".size()" }
	for name, text := range map[string]string{"nesting": nested(70), "length": "1" + strings.Repeat(" ", 5000)} {
		if _, err := kubeletcel.Compile(withPods(text)); err == nil {
			t.Errorf("%s has no bound", name)
		}
	}
	for name, text := range map[string]string{
		"nesting": nested(15), "a sum": "1" + strings.Repeat(" + 1", 40), "choices": strings.Repeat("vcpus > 1000 ? 1 : ", 20) + "2", "parentheses": strings.Repeat("(", 10) + "1" + strings.Repeat(")", 10),
	} {
		if _, err := kubeletcel.Compile(withPods(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestExpressionsThatDoNotCompile(t *testing.T) {
	for _, text := range []string{"", "vcpus *", "cores * 2", "instance_type", "vcpus > 2", "true ? dyn(1) : dyn(2)", "min(1)", "min(1, 'x')", "vcpus * 1.5"} {
		if _, err := kubeletcel.Compile(withPods(text)); err == nil || !strings.Contains(err.Error(), "spec.kubelet.maxPods: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := kubeletcel.Compile(kubelet.Config{
		MaxPods: new(intstr.FromString("x")), KubeReserved: map[string]string{"cpu": "y", "memory": "1Gi"}, SystemReserved: map[string]string{"pid": "z +"},
	})
	for _, field := range []string{"spec.kubelet.maxPods", "spec.kubelet.kubeReserved[cpu]", "spec.kubelet.systemReserved[pid]"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not told: %v", field, err)
		}
	}
}

func TestPodsThatCannotBe(t *testing.T) {
	for _, text := range []string{
		"vcpus / (vcpus - 2)", "vcpus - 3", "2147483648", "double(vcpus) / 0.0", "0.0 / 0.0", "-1.0 / 0.0", "1e300", "9223372036854775807 + vcpus", "-1",
		"[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, [1,2,3,4,5,6,7,8,9,10].map(c, [1,2,3,4,5,6,7,8,9,10].map(d, [1,2,3,4,5,6,7,8,9,10].map(e, e))))).size()",
	} {
		c, err := kubeletcel.Compile(withPods(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := c.Pods(m5); err == nil {
			t.Errorf("%s gives %v", text, got.MaxPods)
		}
	}
}

func TestReserved(t *testing.T) {
	t.Attr("covers", "N316")
	for _, test := range []struct{ key, text, want string }{
		{"cpu", "vcpus * 33", "70m"},
		{"cpu", "0", "0"},
		{"cpu", "vcpus * 35", "70m"},
		{"memory", "max_pods * 11 + 255", "576Mi"},
		{"memory", "memory_mib / 512", "16Mi"},
		{"memory", "max_pods - 29", "0Mi"},
		{"ephemeral-storage", "vcpus * 2 + 1", "5Gi"},
		{"pid", "vcpus * 1000 + 1", "2001"},
		{"cpu", "100m", "100m"},
		{"memory", "9223372036854775800 + vcpus", "9223372036854775802Mi"},
		{"cpu", "vcpus / (vcpus - 2)", ""},
		{"memory", "vcpus - 3", ""},
	} {
		c, err := kubeletcel.Compile(kubelet.Config{KubeReserved: map[string]string{test.key: test.text, "pid": "7"}, SystemReserved: map[string]string{test.key: test.text}})
		if test.key == "pid" {
			c, err = kubeletcel.Compile(kubelet.Config{KubeReserved: map[string]string{test.key: test.text}, SystemReserved: map[string]string{test.key: test.text}})
		}
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		kube, system, dropped := c.Reserved(m5)
		if kube[test.key] != test.want || system[test.key] != test.want || len(dropped) != map[bool]int{true: 2, false: 0}[test.want == ""] {
			t.Errorf("%s of %s: %v, %v, dropped %v, want %s", test.text, test.key, kube, system, dropped, test.want)
		}
		if test.key != "pid" && kube["pid"] != "7" {
			t.Errorf("a plain value became %q", kube["pid"])
		}
	}
}
