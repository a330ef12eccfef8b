package image_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/image"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
)

func TestParameters(t *testing.T) {
	for alias, want := range map[string][]string{
		"al2@latest": {
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id standard", "/aws/service/eks/optimized-ami/1.32/amazon-linux-2-arm64/recommended/image_id standard",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id neuron nvidia",
		},
		"al2@v20240807": {
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2/amazon-eks-node-1.32-v20240807/image_id standard",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-arm64/amazon-eks-arm64-node-1.32-v20240807/image_id standard",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/amazon-eks-gpu-node-1.32-v20240807/image_id neuron nvidia",
		},
		"al2023@latest": {
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/recommended/image_id standard", "/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/nvidia/recommended/image_id nvidia",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/neuron/recommended/image_id neuron", "/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/arm64/standard/recommended/image_id standard",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/arm64/nvidia/recommended/image_id nvidia",
		},
		"bottlerocket@v1.20.0": {
			"/aws/service/bottlerocket/aws-k8s-1.32/x86_64/1.20.0/image_id standard neuron", "/aws/service/bottlerocket/aws-k8s-1.32/arm64/1.20.0/image_id standard",
			"/aws/service/bottlerocket/aws-k8s-1.32-nvidia/x86_64/1.20.0/image_id nvidia", "/aws/service/bottlerocket/aws-k8s-1.32-nvidia/arm64/1.20.0/image_id nvidia",
		},
		"windows2022@latest": {"/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.32/image_id windows"},
	} {
		parsed, err := awsv1.ParseAlias(alias)
		if err != nil {
			t.Fatal(err)
		}
		parameters, err := image.Parameters(parsed, "1.32")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range parameters {
			got = append(got, p.Path+" "+strings.Trim(fmt.Sprint(p.Variants), "[]"))
			if p.Mutable != strings.HasSuffix(alias, "@latest") {
				t.Errorf("%s: mutable %t", p.Path, p.Mutable)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", alias, diff)
		}
	}
	pinned, err := image.Parameters(awsv1.Alias{Family: awsv1.FamilyAL2023, Version: "v20250101"}, "1.33")
	if want := "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/arm64/nvidia/amazon-eks-node-al2023-arm64-nvidia-1.33-v20250101/image_id"; err != nil || pinned[4].Path != want {
		t.Errorf("got %v, %v", pinned, err)
	}
}

func TestVersions(t *testing.T) {
	for _, test := range []struct {
		family  awsv1.Family
		version string
		ok      bool
	}{
		{awsv1.FamilyAL2, "1.32", true},
		{awsv1.FamilyAL2, "1.33", false},
		{awsv1.FamilyAL2, "1.34", false},
		{awsv1.FamilyAL2023, "1.33", true},
		{awsv1.FamilyWindows2025, "1.34", false},
		{awsv1.FamilyWindows2025, "1.35", true},
		{awsv1.FamilyWindows2022, "1.26", true},
	} {
		_, err := image.Parameters(awsv1.Alias{Family: test.family, Version: "latest"}, test.version)
		var unsupported *image.UnsupportedAliasError
		if (err == nil) != test.ok || (err != nil && !errors.As(err, &unsupported)) {
			t.Errorf("%s on %s: %v", test.family, test.version, err)
		}
	}
	for _, version := range []string{"", "1", "1.x"} {
		if _, err := image.Parameters(awsv1.Alias{Family: awsv1.FamilyAL2023, Version: "latest"}, version); err == nil {
			t.Errorf("version %q is accepted", version)
		}
	}
}

func TestRequirements(t *testing.T) {
	for _, test := range []struct {
		arch    string
		variant image.Variant
		want    string
	}{
		{"x86_64", image.VariantStandard, "kubernetes.io/arch In amd64; karpenter.k8s.aws/instance-gpu-count DoesNotExist; karpenter.k8s.aws/instance-accelerator-count DoesNotExist"},
		{"arm64", image.VariantNVIDIA, "kubernetes.io/arch In arm64; karpenter.k8s.aws/instance-gpu-count Exists"},
		{"x86_64", image.VariantNeuron, "kubernetes.io/arch In amd64; karpenter.k8s.aws/instance-accelerator-count Exists"},
		{"x86_64", image.VariantWindows, "kubernetes.io/os In windows; kubernetes.io/arch In amd64; node.kubernetes.io/windows-build In 10.0.20348"},
		{"arm64", image.VariantAny, "kubernetes.io/arch In arm64"},
	} {
		requirements, ok := image.Requirements(test.arch, test.variant, awsv1.FamilyWindows2022)
		var got []string
		for _, r := range requirements {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Key, r.Operator, strings.Join(r.Values, ","))))
		}
		if !ok || strings.Join(got, "; ") != test.want {
			t.Errorf("%s %s: %s", test.arch, test.variant, strings.Join(got, "; "))
		}
	}
	if _, ok := image.Requirements("i386", image.VariantAny, awsv1.FamilyCustom); ok {
		t.Error("i386 is an architecture of nodes")
	}
}

func TestQueries(t *testing.T) {
	t.Attr("covers", "A098 A099 A100")
	for _, test := range []struct {
		name  string
		terms []awsv1.AMISelectorTerm
		ids   []string
		want  []image.Query
	}{
		{
			"a name",
			[]awsv1.AMISelectorTerm{{Name: "x*", Tags: map[string]string{"b": "*", "a": "c"}}},
			nil,
			[]image.Query{{Filters: []image.Filter{{Name: "name", Values: []string{"x*"}}, {Name: "tag:a", Values: []string{"c"}}, {Name: "tag-key", Values: []string{"b"}}}, Owners: []string{"self", "amazon"}}},
		},
		{
			"a name and its owner",
			[]awsv1.AMISelectorTerm{{Name: "x", Owner: "0123"}},
			nil,
			[]image.Query{{Filters: []image.Filter{{Name: "name", Values: []string{"x"}}}, Owners: []string{"0123"}}},
		},
		{"tags", []awsv1.AMISelectorTerm{{Tags: map[string]string{"a": "b"}}}, nil, []image.Query{{Filters: []image.Filter{{Name: "tag:a", Values: []string{"b"}}}}}},
		{
			"tags and an owner",
			[]awsv1.AMISelectorTerm{{Tags: map[string]string{"a": "b"}, Owner: "self"}},
			nil,
			[]image.Query{{Filters: []image.Filter{{Name: "tag:a", Values: []string{"b"}}}, Owners: []string{"self"}}},
		},
		{
			"ids and parameters",
			[]awsv1.AMISelectorTerm{{ID: "ami-2"}, {Name: "x", Owner: "self"}, {SSMParameter: "/p"}, {ID: "ami-1"}},
			[]string{"ami-3", "ami-2"},
			[]image.Query{image.ByID([]string{"ami-1", "ami-2", "ami-3"}), {Filters: []image.Filter{{Name: "name", Values: []string{"x"}}}, Owners: []string{"self"}}},
		},
		{"nothing", []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}, {}}, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, image.Queries(test.terms, test.ids)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// day is a day of a month.
func day(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }

func TestReduce(t *testing.T) {
	t.Attr("covers", "A101 A102 A103 A104 A106")
	x86 := func(id, name string, created, deprecated int) image.Found {
		f := image.Found{ID: id, Name: name, Architecture: "x86_64", Created: day(created)}
		if deprecated > 0 {
			f.Deprecated = day(deprecated)
		}
		return f
	}
	with := func(f image.Found, arch string, variants ...image.Variant) image.Found {
		f.Architecture, f.Variants = arch, variants
		return f
	}
	for _, test := range []struct {
		name  string
		found []image.Found
		want  string
	}{
		{"in force before newer", []image.Found{x86("ami-1", "a", 5, 9), x86("ami-2", "b", 3, 0)}, "ami-2"},
		{"not outdated yet", []image.Found{x86("ami-1", "a", 5, 11), x86("ami-2", "b", 3, 0)}, "ami-1"},
		{"outdated at this moment", []image.Found{x86("ami-1", "a", 5, 10), x86("ami-2", "b", 3, 0)}, "ami-2"},
		{"the newer of two that are outdated", []image.Found{x86("ami-1", "a", 3, 4), x86("ami-2", "b", 5, 9)}, "ami-2!"},
		{"the greater name", []image.Found{x86("ami-1", "b", 3, 0), x86("ami-2", "a", 3, 0)}, "ami-1"},
		{"newest first, then by id", []image.Found{
			with(x86("ami-3", "a", 3, 0), "arm64"), with(x86("ami-2", "a", 4, 5), "x86_64", image.VariantStandard), with(x86("ami-1", "a", 3, 0), "x86_64", image.VariantNVIDIA),
		}, "ami-2! ami-1 ami-3"},
		{"one entry a variant", []image.Found{with(x86("ami-1", "a", 3, 0), "x86_64", image.VariantNeuron, image.VariantNVIDIA)}, "ami-1 ami-1"},
		{"architectures of no node", []image.Found{with(x86("ami-1", "a", 3, 0), "i386")}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				var got []string
				for _, kept := range image.Reduce(rapid.Permutation(test.found).Draw(r, "found"), awsv1.FamilyAL2023, day(10)) {
					mark := ""
					if kept.Deprecated {
						mark = "!"
					}
					got = append(got, kept.ID+mark)
				}
				if strings.Join(got, " ") != test.want {
					r.Errorf("kept %v, want %s", got, test.want)
				}
			})
		})
	}
}

func TestChoose(t *testing.T) {
	var found []image.Found
	for i, f := range []struct {
		arch     string
		variants []image.Variant
	}{
		{"x86_64", []image.Variant{image.VariantStandard}}, {"arm64", []image.Variant{image.VariantStandard}}, {"x86_64", []image.Variant{image.VariantNVIDIA}}, {"x86_64", []image.Variant{image.VariantNeuron}},
	} {
		found = append(found, image.Found{ID: fmt.Sprintf("ami-%d", i), Architecture: f.arch, Variants: f.variants, Created: day(1)})
	}
	images := image.Reduce(found, awsv1.FamilyAL2023, day(2))
	plain := instancetype.Description{Name: "m5.large", VCPUs: 2, MemoryMiB: 8192, Architectures: []string{"x86_64"}}
	arm, gpu, neuron, both := plain, plain, plain, plain
	arm.Architectures = []string{"arm64"}
	gpu.GPUs = []instancetype.Accelerator{{Name: "T4", Manufacturer: "NVIDIA", Count: 1}}
	neuron.Neurons = []instancetype.Neuron{{Name: "x", Count: 1}}
	both.Architectures, both.GPUs = []string{"arm64"}, gpu.GPUs
	for want, d := range map[string]instancetype.Description{"ami-0": plain, "ami-1": arm, "ami-2": gpu, "ami-3": neuron, "": both} {
		it := instancetype.Resolve(instancetype.Input{Description: d, Class: instancetype.Class{Family: awsv1.FamilyAL2023}})
		if got, ok := image.Choose(images, it); got.ID != want || ok != (want != "") {
			t.Errorf("%v: image %q, want %q", d, got.ID, want)
		}
	}
	if _, ok := image.Choose(nil, instancetype.Resolve(instancetype.Input{Description: plain})); ok {
		t.Error("an image out of nothing")
	}
	windows := []awsv1.AMI{{ID: "w", Requirements: []corev1.NodeSelectorRequirement{{Key: corev1.LabelOSStable, Operator: "In", Values: []string{"windows"}}}}}
	for family, want := range map[awsv1.Family]bool{awsv1.FamilyWindows2022: true, awsv1.FamilyAL2023: false} {
		it := instancetype.Resolve(instancetype.Input{Description: plain, Class: instancetype.Class{Family: family}})
		if _, ok := image.Choose(windows, it); ok != want {
			t.Errorf("Windows on %s: %t", family, ok)
		}
	}
	if !slices.IsSortedFunc(images, func(a, b awsv1.AMI) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("images %v", images)
	}
}
