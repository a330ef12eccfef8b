package instancetype_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubeletcel"
	"github.com/karpenter-anew/karpenter/cloud/aws/userdata"
)

// compile reads a kubelet block and compiles its expressions.
func compile(t testing.TB, text string) (map[string]apiextensionsv1.JSON, kubelet.Config, *kubeletcel.Compiled) {
	t.Helper()
	var block map[string]apiextensionsv1.JSON
	if err := yaml.Unmarshal([]byte(text), &block); err != nil {
		t.Fatal(err)
	}
	config, err := kubelet.Parse(block)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := kubeletcel.Compile(config)
	if err != nil {
		t.Fatal(err)
	}
	return block, config, compiled
}

func TestResolveKubelet(t *testing.T) {
	t.Attr("covers", "A232")
	for _, test := range []struct{ block, want string }{
		{`{maxPods: "max_pods - 9", kubeReserved: {memory: "max_pods * 16"}}`, "20 pods, memory 320Mi"},
		{`{maxPods: "max_pods * 2", podsPerCore: 10, kubeReserved: {memory: "max_pods * 16"}}`, "20 pods, memory 320Mi"},
		{`{maxPods: 12, kubeReserved: {memory: "max_pods * 16"}}`, "12 pods, memory 192Mi"},
		{`{kubeReserved: {memory: "max_pods * 16"}}`, "29 pods, memory 464Mi"},
		{`{maxPods: "default_enis * ips_per_eni", kubeReserved: {memory: "memory_mib / 8"}}`, "30 pods, memory 1Gi"},
	} {
		_, config, compiled := compile(t, test.block)
		in := input(t, "m5.large")
		in.Class.Kubelet = config
		resolved, dropped, err := instancetype.ResolveKubelet(in, compiled)
		if err != nil || len(dropped) > 0 {
			t.Fatalf("%s: %v, %v", test.block, dropped, err)
		}
		in.Class.Kubelet = resolved
		it := instancetype.Resolve(in)
		memory := it.Overhead.Memory().DeepCopy()
		memory.Sub(*mebibytes(100)) // what has to stay free
		if got := fmt.Sprintf("%d pods, memory %s", it.Capacity.Pods().Value(), memory.String()); got != test.want {
			t.Errorf("%s: %s, want %s", test.block, got, test.want)
		}
	}
}

func TestResolveKubeletFails(t *testing.T) {
	_, config, compiled := compile(t, `{maxPods: "vcpus - 3"}`)
	in := input(t, "m5.large")
	in.Class.Kubelet = config
	if _, _, err := instancetype.ResolveKubelet(in, compiled); err == nil || !strings.HasPrefix(err.Error(), "resolving instance type m5.large, ") {
		t.Errorf("got %v", err)
	}
	_, config, compiled = compile(t, `{kubeReserved: {cpu: "vcpus - 3", memory: 1Gi}}`)
	in.Class.Kubelet = config
	resolved, dropped, err := instancetype.ResolveKubelet(in, compiled)
	if err != nil || len(dropped) != 1 || len(resolved.KubeReserved) != 1 {
		t.Errorf("got %v, %v, %v", resolved, dropped, err)
	}
}

// TestPlanAndNodeAgree checks that the user data has the values that scheduling used.
func TestPlanAndNodeAgree(t *testing.T) {
	t.Attr("covers", "A314 A323")
	block, config, compiled := compile(t, `{maxPods: "vcpus * 7", kubeReserved: {memory: "max_pods * 10", cpu: 300m}, systemReserved: {cpu: "vcpus * 21"}}`)
	in := input(t, "m5.xlarge")
	in.Class.Kubelet = config
	resolved, _, err := instancetype.ResolveKubelet(in, compiled)
	if err != nil {
		t.Fatal(err)
	}
	in.Class.Kubelet = resolved
	it := instancetype.Resolve(in)
	rendered, err := userdata.Render(userdata.Input{
		Family: awsv1.FamilyAL2023, ClusterName: "c", ClusterCIDR: "10.0.0.0/16", MaxPods: new(it.Capacity.Pods().Value()), Kubelet: resolved, KubeletBlock: block,
	})
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Spec struct {
			Kubelet struct {
				Config struct {
					MaxPods        json.RawMessage
					KubeReserved   corev1.ResourceList
					SystemReserved corev1.ResourceList
				}
			}
		}
	}
	_, text, _ := strings.Cut(rendered.Text, "# Karpenter Generated NodeConfig\n")
	text, _, _ = strings.Cut(text, "\n--//--")
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	node := document.Spec.Kubelet.Config
	if string(node.MaxPods) != "28" || it.Capacity.Pods().Value() != 28 {
		t.Errorf("the node has %s pods", node.MaxPods)
	}
	cpu, memory := node.KubeReserved.Cpu().DeepCopy(), node.KubeReserved.Memory().DeepCopy()
	cpu.Add(*node.SystemReserved.Cpu())
	memory.Add(*mebibytes(100))
	if cpu.Cmp(*it.Overhead.Cpu()) != 0 || memory.Cmp(*it.Overhead.Memory()) != 0 {
		t.Errorf("the node keeps %s and %s, the plan %v", cpu.String(), memory.String(), it.Overhead)
	}
}
