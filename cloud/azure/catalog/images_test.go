package catalog_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/cloud/azure/image"
)

// classWith is a class with the images that AKS publishes for its spec.
func classWith(t *testing.T, spec v1beta1.AKSNodeClassSpec) *v1beta1.AKSNodeClass {
	t.Helper()
	class := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1}, Spec: spec}
	images, err := image.Supposed(class, "1.34.1")
	if err != nil {
		t.Fatal(err)
	}
	class.Status.Images = images
	condition.For(class, time.Time{}).True(v1beta1.ConditionTypeImagesReady)
	return class
}

// TestTypesWithoutAnImageAreLeftOut checks classes whose family has images for some architectures and generations of Hyper-V only. While the images
// of a class are not known, all types are listed: its nodes must not seem to have types that do not exist.
func TestTypesWithoutAnImageAreLeftOut(t *testing.T) {
	const arm64, gen1 = "D16plds_v5", "D2_v2"
	fips, ubuntu, azureLinux := new(v1beta1.FIPSModeFIPS), new("Ubuntu"), new("AzureLinux")
	for name, test := range map[string]struct {
		spec              v1beta1.AKSNodeClassSpec
		hasARM64, hasGen1 bool
	}{
		"Ubuntu":            {v1beta1.AKSNodeClassSpec{ImageFamily: ubuntu}, true, true},
		"Ubuntu, FIPS":      {v1beta1.AKSNodeClassSpec{ImageFamily: ubuntu, FIPSMode: fips}, false, true},
		"Azure Linux, FIPS": {v1beta1.AKSNodeClassSpec{ImageFamily: azureLinux, FIPSMode: fips}, true, true},
		"Trusted Launch": {
			v1beta1.AKSNodeClassSpec{ImageFamily: ubuntu, Security: &v1beta1.Security{TrustedLaunch: &v1beta1.TrustedLaunch{VTPM: new(true)}}},
			false, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, class := newWorld(t), classWith(t, test.spec)
			types := w.types(t, class)
			if got := named(types, arm64) != nil; got != test.hasARM64 {
				t.Errorf("%s is listed: %t", arm64, got)
			}
			if got := named(types, gen1) != nil; got != test.hasGen1 {
				t.Errorf("%s is listed: %t", gen1, got)
			}
			if named(types, "D2s_v3") == nil {
				t.Error("D2s_v3 is not listed")
			}
			class.Generation++
			if got := named(w.types(t, class), arm64) != nil; got != !class.TrustedLaunch() { // sizes say themselves whether they have Trusted Launch
				t.Errorf("after a change of the class, %s is listed: %t", arm64, got)
			}
		})
	}
}
