package image_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/image"
)

// TestFilter compares the filter with the choice at the launch, type by type and for types that are alike.
func TestFilter(t *testing.T) {
	fips := &v1beta1.AKSNodeClass{Spec: v1beta1.AKSNodeClassSpec{FIPSMode: new(v1beta1.FIPSModeFIPS)}}
	images, err := image.Supposed(fips, "1.34.1")
	if err != nil || len(images) != 2 {
		t.Fatalf("supposed are %v, %v", images, err)
	}
	filter, all := image.NewFilter(images), image.NewFilter(nil)
	for range 2 {
		for _, test := range []struct {
			arch        string
			generations []string
			want        bool
		}{
			{"amd64", []string{"1"}, true},
			{"amd64", []string{"1", "2"}, true},
			{"arm64", []string{"2"}, false},
			{"amd64", nil, false},
		} {
			it := []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelArchStable, test.arch), cloud.In(label.SKUCPU, "2")}
			if test.generations == nil {
				it = append(it, cloud.DoesNotExist(label.SKUHyperVGeneration))
			} else {
				it = append(it, cloud.In(label.SKUHyperVGeneration, test.generations...))
			}
			if _, chosen := image.Choose(images, it); filter.Has(it) != test.want || chosen != test.want {
				t.Errorf("%s %v passes: %t, an image is chosen: %t", test.arch, test.generations, filter.Has(it), chosen)
			}
			if !all.Has(it) {
				t.Errorf("without images, %s %v does not pass", test.arch, test.generations)
			}
		}
	}
	if _, err := image.Supposed(fips, "latest"); err == nil {
		t.Error("no error about the version")
	}
}

// TestRequirementsTellFiltersApart checks that lists of images have the same text only if they let the same types through.
func TestRequirementsTellFiltersApart(t *testing.T) {
	texts := map[string]string{image.Requirements(nil): "none"}
	for name, spec := range map[string]v1beta1.AKSNodeClassSpec{
		"plain": {}, "FIPS": {FIPSMode: new(v1beta1.FIPSModeFIPS)}, "Trusted Launch": {Security: &v1beta1.Security{TrustedLaunch: &v1beta1.TrustedLaunch{VTPM: new(true)}}},
	} {
		images, err := image.Supposed(&v1beta1.AKSNodeClass{Spec: spec}, "1.33.0")
		if err != nil {
			t.Fatal(err)
		}
		text := image.Requirements(images)
		if other, taken := texts[text]; taken {
			t.Errorf("%s and %s have the same text", name, other)
		}
		texts[text] = name
		for i := range images {
			images[i].ID += "newer"
		}
		if image.Requirements(images) != text {
			t.Errorf("the text of %s has versions", name)
		}
	}
}
