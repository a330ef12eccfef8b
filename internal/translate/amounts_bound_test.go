package translate

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// TestResourcesThatKubeletsMakeUpAreBounded checks that Nodes with ever new resources do not add names for ever, and that known ones still count.
func TestResourcesThatKubeletsMakeUpAreBounded(t *testing.T) {
	a := amounts{resources: resource.NewTable()}
	gpu := a.reported(corev1.ResourceList{"example.com/gpu": apiresource.MustParse("2")})
	for i := range 3 * maxNames {
		a.reported(corev1.ResourceList{corev1.ResourceName(fmt.Sprint("example.com/made-up-", i)): apiresource.MustParse("1")})
	}
	if n := a.resources.Len(); n > maxNames {
		t.Errorf("%d names are known, want at most %d", n, maxNames)
	}
	again := a.reported(corev1.ResourceList{"example.com/gpu": apiresource.MustParse("2"), "example.com/late": apiresource.MustParse("1")})
	if i, _ := a.resources.Lookup("example.com/gpu"); again.At(i) != 2 || gpu.At(i) != 2 || len(again) != len(gpu) {
		t.Errorf("known resources are %v, were %v", again, gpu)
	}
	offered := a.vector(corev1.ResourceList{"example.com/late": apiresource.MustParse("3")})
	if i, known := a.resources.Lookup("example.com/late"); !known || offered.At(i) != 3 {
		t.Errorf("an instance type offers %v, and its resource is known: %t", offered, known)
	}
}
