package problem

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

func TestDaemonSetsThatUseDevices(t *testing.T) {
	t.Attr("covers", "L163")
	tr := translate.New(v1.CoreLabelRules())
	gpu, log := &appsv1.DaemonSet{}, &appsv1.DaemonSet{}
	gpu.Name, log.Name = "gpu", "log"
	gpu.Spec.Template.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}}
	var all model.Editor[*model.DaemonSet]
	all.Put("ns/gpu", tr.DaemonSet(gpu, nil))
	all.Put("ns/log", tr.DaemonSet(log, nil))
	for _, c := range []struct {
		devices *model.Devices
		want    int
	}{{nil, 1}, {&model.Devices{}, 2}} {
		snapshot := &model.Snapshot{Resources: tr.Resources(), DaemonSets: all.Publish(), Devices: c.devices}
		in, err := Builder{Translator: tr}.WithoutPools(t.Context(), snapshot, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if got := in.Problem.DaemonSets; len(got) != c.want || got[len(got)-1].Name != "log" {
			t.Errorf("%d DaemonSets take part while devices are tracked: %v", len(got), c.devices != nil)
		}
	}
}
