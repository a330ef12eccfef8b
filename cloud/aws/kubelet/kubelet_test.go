package kubelet_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
)

// block reads a kubelet block the way it comes from a manifest.
func block(t testing.TB, text string) map[string]apiextensionsv1.JSON {
	t.Helper()
	var out map[string]apiextensionsv1.JSON
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

const everything = `{clusterDNS: [10.0.0.10], maxPods: 20, podsPerCore: 3, systemReserved: {cpu: 100m}, kubeReserved: {memory: 1Gi, pid: "100"},
  evictionHard: {memory.available: 5%, pid.available: 100%}, evictionSoft: {nodefs.available: 10Gi}, evictionSoftGracePeriod: {nodefs.available: 1m},
  evictionMaxPodGracePeriod: 60, imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 0, cpuCFSQuota: false}`

func TestValidate(t *testing.T) {
	t.Attr("covers", "A057 A058 A059 A060 A061 A062 A063 A064 A065 A066 A067 A069 N311 N312")
	for _, test := range []struct {
		name, block string
		want        []string
	}{
		{"nothing", `{}`, nil},
		{"every field that is read", everything, nil},
		{"other fields, deep ones and zeros", `{cpuManagerPolicy: static, memorySwap: {swapBehavior: LimitedSwap}, topologyManagerPolicyOptions: {a: b}, maxPods: 0, podsPerCore: 0, evictionHard: {memory.available: 0%}, logging: {format: json}}`, nil},
		{"unknown at the top", `{maxPod: 3}`, []string{`spec.kubelet: unknown field "maxPod"`}},
		{"unknown below", `{logging: {fmt: json}, authentication: {webhook: {up: true}}}`, []string{`spec.kubelet: unknown field "authentication.webhook.up"`, `spec.kubelet: unknown field "logging.fmt"`}},
		{"three levels down", `{logging: {options: {json: {size: 1}}}}`, []string{`spec.kubelet: unknown field "logging.options.json.size"`}},
		{"negative numbers", `{maxPods: -1, podsPerCore: -2, evictionMaxPodGracePeriod: -3}`, []string{
			"spec.kubelet.podsPerCore: -2 can't be negative", "spec.kubelet.evictionMaxPodGracePeriod: -3 can't be negative", "spec.kubelet.maxPods: -1 can't be negative",
		}},
		{"bounds of image collection", `{imageGCHighThresholdPercent: 101, imageGCLowThresholdPercent: -1}`, []string{
			"spec.kubelet.imageGCHighThresholdPercent: 101 must be between 0 and 100", "spec.kubelet.imageGCLowThresholdPercent: -1 must be between 0 and 100",
		}},
		{"order of image collection", `{imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 50}`, []string{
			"spec.kubelet: imageGCHighThresholdPercent (50) must be greater than imageGCLowThresholdPercent (50)",
		}},
		{"reserved", `{kubeReserved: {gpu: "1", cpu: "-1"}, systemReserved: {memory: "vcpus * 100"}}`, []string{
			`spec.kubelet.kubeReserved: "gpu" isn't a reservable resource, must be one of cpu, memory, ephemeral-storage, pid`,
			`spec.kubelet.kubeReserved[cpu]: "-1" can't be a negative resource quantity`,
		}},
		{"signals and thresholds", `{evictionHard: {memory.free: 5%, nodefs.available: 101%, imagefs.available: x}, evictionMinimumReclaim: {memory.available: -1Gi, x: 1Gi}}`, []string{
			`spec.kubelet.evictionHard: "memory.free" isn't a valid eviction signal, must be one of memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available`,
			`spec.kubelet.evictionHard[imagefs.available]: "x" must be a percentage or a resource quantity`,
			`spec.kubelet.evictionHard[nodefs.available]: "101%" must be a percentage or a resource quantity`,
			`spec.kubelet.evictionMinimumReclaim: "x" isn't a valid eviction signal, must be one of memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available`,
			`spec.kubelet.evictionMinimumReclaim[memory.available]: "-1Gi" can't be a negative resource quantity`,
		}},
		{"soft thresholds", `{evictionSoft: {memory.free: NaN%}, evictionSoftGracePeriod: {memory.free: 1m}}`, []string{
			`spec.kubelet.evictionSoft: "memory.free" isn't a valid eviction signal, must be one of memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available`,
			`spec.kubelet.evictionSoft[memory.free]: "NaN%" must be a percentage or a resource quantity`,
			`spec.kubelet.evictionSoftGracePeriod: "memory.free" isn't a valid eviction signal, must be one of memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available`,
		}},
		{"pairs", `{evictionSoft: {memory.available: 1Gi}, evictionSoftGracePeriod: {nodefs.available: 1m}}`, []string{
			"spec.kubelet.evictionSoftGracePeriod[nodefs.available]: has no matching evictionSoft", "spec.kubelet.evictionSoft[memory.available]: has no matching evictionSoftGracePeriod",
		}},
		{"grace periods", `{evictionSoft: {memory.available: 1Gi, pid.available: 1%}, evictionSoftGracePeriod: {memory.available: soon, pid.available: -1s}}`, []string{
			`spec.kubelet.evictionSoftGracePeriod[memory.available]: "soon" must be a duration`, `spec.kubelet.evictionSoftGracePeriod[pid.available]: "-1s" can't be a negative duration`,
		}},
		{"taints", `{registerWithTaints: []}`, []string{
			"spec.kubelet.registerWithTaints: can't be set, Karpenter sets it from the NodeClaim's taints so the node registers unschedulable until it's ready",
		}},
		{"all at once", `{maxPod: 3, maxPods: -1, registerWithTaints: []}`, []string{
			`spec.kubelet: unknown field "maxPod"`,
			"spec.kubelet.registerWithTaints: can't be set, Karpenter sets it from the NodeClaim's taints so the node registers unschedulable until it's ready",
			"spec.kubelet.maxPods: -1 can't be negative",
		}},
		{"expressions stand for numbers", `{maxPods: "vcpus * 2"}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := kubelet.Validate(block(t, test.block)); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(strings.Join(test.want, "; "), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestWrongTypes(t *testing.T) {
	t.Attr("covers", "A059 N311")
	for _, text := range []string{`{podsPerCore: "x"}`, `{evictionHard: [1]}`, `{clusterDNS: 10.0.0.1}`, `{maxPods: [1]}`, `{cpuCFSQuota: "yes"}`, `{kubeReserved: {cpu: 1}}`} {
		if err := kubelet.Validate(block(t, text)); err == nil || !strings.HasPrefix(err.Error(), "spec.kubelet: ") {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

func TestParse(t *testing.T) {
	t.Attr("covers", "A068")
	got, err := kubelet.Parse(block(t, everything))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range kubelet.Fields() {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s was lost", name)
		}
	}
	if got.MaxPods.IntVal != 20 || got.EvictionSoftGracePeriod["nodefs.available"].Duration != time.Minute || *got.CPUCFSQuota {
		t.Errorf("got %s", text)
	}
	for _, broken := range []string{`{maxPods: {}}`, `{clusterDNS: x}`} {
		if _, err := kubelet.Parse(block(t, broken)); err == nil || !strings.HasPrefix(err.Error(), "parsing spec.kubelet, ") {
			t.Errorf("%s: error %v", broken, err)
		}
	}
}

// TestExponentsAreBounded: to read these quantities takes hours.
func TestExponentsAreBounded(t *testing.T) {
	for _, text := range []string{
		`{reservedMemory: [{numaNode: 0, limits: {memory: "1e-999999999"}}]}`, `{reservedMemory: [{numaNode: 0, limits: {memory: "1e999999999"}}]}`,
		`{evictionHard: {memory.available: "1e-999999999"}}`,
	} {
		if err := kubelet.Validate(block(t, text)); err == nil || !strings.Contains(err.Error(), "resource quantity") {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

// FuzzValidateImpliesParse checks that what is valid can always be read.
func FuzzValidateImpliesParse(f *testing.F) {
	f.Attr("covers", "A068")
	for _, seed := range []string{everything, `{"maxPods":"x","evictionSoft":null}`, `{"maxPods":null,"clusterDNS":[null]}`, `{"kubeReserved":{"cpu":null}}`, `{"reservedMemory":[{"numaNode":0,"limits":{"memory":"1e-999999999"}}]}`, `{"evictionHard":{"memory.available":"1e-999999999"}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var in map[string]apiextensionsv1.JSON
		if yaml.Unmarshal([]byte(text), &in) != nil || kubelet.Validate(in) != nil {
			return
		}
		if _, err := kubelet.Parse(in); err != nil {
			t.Errorf("%s is valid, but: %v", text, err)
		}
	})
}

func TestExpressions(t *testing.T) {
	t.Attr("covers", "A069")
	for text, want := range map[string]bool{
		everything: false, `{}`: false, `{maxPods: "110"}`: true, `{kubeReserved: {cpu: 100m, memory: "memory_mib / 10"}}`: true, `{systemReserved: {cpu: vcpus}}`: true,
	} {
		config, err := kubelet.Parse(block(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if config.HasExpressions() != want {
			t.Errorf("%s: expressions %t", text, !want)
		}
	}
}

func TestStatic(t *testing.T) {
	config, err := kubelet.Parse(block(t, `{maxPods: vcpus, kubeReserved: {cpu: 100m, memory: vcpus}, systemReserved: {cpu: vcpus}}`))
	if err != nil {
		t.Fatal(err)
	}
	static := config.Static()
	if static.HasExpressions() || static.MaxPods != nil || static.KubeReserved["cpu"] != "100m" || len(static.KubeReserved)+len(static.SystemReserved) != 1 {
		t.Errorf("got %+v", static)
	}
	static.KubeReserved["cpu"] = "1"
	if config.KubeReserved["cpu"] != "100m" || config.KubeReserved["memory"] != "vcpus" || *config.MaxPods != intstr.FromString("vcpus") {
		t.Errorf("the original changed: %+v", config)
	}
}

// TestCopiesAreIndependent overwrites whatever a copy refers to, field by field, so that a field that is added later is covered too.
func TestCopiesAreIndependent(t *testing.T) {
	t.Attr("covers", "A071")
	original, err := kubelet.Parse(block(t, everything))
	if err != nil {
		t.Fatal(err)
	}
	c := original.DeepCopy()
	if diff := cmp.Diff(original, c); diff != "" {
		t.Fatalf("the copy differs (-original +copy)\n%s", diff)
	}
	fields := reflect.ValueOf(&c).Elem()
	for i := range fields.NumField() {
		switch f := fields.Field(i); f.Kind() {
		case reflect.Pointer:
			f.Elem().SetZero()
		case reflect.Map:
			f.Clear()
		case reflect.Slice:
			f.Index(0).SetZero()
		default:
			t.Fatalf("field %s is neither set by the block nor known here", fields.Type().Field(i).Name)
		}
	}
	want, err := kubelet.Parse(block(t, everything))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, original); diff != "" {
		t.Errorf("the original changed with its copy (-want +got)\n%s", diff)
	}
}

func TestPassthrough(t *testing.T) {
	t.Attr("covers", "A070")
	if got := kubelet.Passthrough(block(t, everything)); got != nil {
		t.Errorf("fields that are read are passed through: %v", got)
	}
	got := kubelet.Passthrough(block(t, `{zeta: 1, maxPods: 3, alpha: 2}`))
	if !slices.Equal(got, []string{"alpha", "zeta"}) {
		t.Errorf("got %v", got)
	}
}

func TestUnsupported(t *testing.T) {
	t.Attr("covers", "N314")
	for _, test := range []struct {
		name     string
		families []awsv1.Family
		block    string
		want     string
	}{
		{
			"fields that would be dropped",
			[]awsv1.Family{awsv1.FamilyAL2},
			`{zeta: 1, maxPods: 3, alpha: 2}`,
			"spec.kubelet has fields not applied by the AL2 AMI family that would be silently dropped: alpha, zeta",
		},
		{
			"on Windows",
			[]awsv1.Family{awsv1.FamilyWindows2022},
			`{alpha: 2}`,
			"spec.kubelet has fields not applied by the Windows2022 AMI family that would be silently dropped: alpha",
		},
		{
			"on Bottlerocket",
			[]awsv1.Family{awsv1.FamilyBottlerocket},
			`{alpha: 2, podsPerCore: 3, zeta: 3}`,
			"spec.kubelet has fields not applied by the Bottlerocket AMI family that would be silently dropped: alpha, podsPerCore, zeta",
		},
		{
			"several addresses",
			[]awsv1.Family{awsv1.FamilyAL2},
			`{clusterDNS: [a, b]}`,
			"spec.kubelet.clusterDNS: the AL2 AMI family doesn't accept multiple entries, only one, but 2 were set",
		},
		{
			"both kinds",
			[]awsv1.Family{awsv1.FamilyBottlerocket},
			`{clusterDNS: [a, b], alpha: 1}`,
			"spec.kubelet has fields not applied by the Bottlerocket AMI family that would be silently dropped: alpha; " +
				"spec.kubelet.clusterDNS: the Bottlerocket AMI family doesn't accept multiple entries, only one, but 2 were set",
		},
		{"families that take all", []awsv1.Family{awsv1.FamilyAL2023, awsv1.FamilyCustom}, `{alpha: 1, podsPerCore: 3, clusterDNS: [a, b]}`, ""},
		{"one address and podsPerCore", []awsv1.Family{awsv1.FamilyAL2, awsv1.FamilyWindows2019, awsv1.FamilyWindows2025}, `{podsPerCore: 3, clusterDNS: [a]}`, ""},
		{"nothing", []awsv1.Family{awsv1.FamilyAL2, awsv1.FamilyBottlerocket}, `{}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, family := range test.families {
				got := ""
				if err := kubelet.Unsupported(block(t, test.block), family); err != nil {
					got = err.Error()
				}
				if got != test.want {
					t.Errorf("%s: got %q, want %q", family, got, test.want)
				}
			}
		})
	}
}
