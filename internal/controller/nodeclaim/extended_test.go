package nodeclaim_test

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

func TestDevicesRegisterExtendedResources(t *testing.T) {
	t.Attr("covers", "N443")
	const (
		done   = "True/Initialized/"
		waits  = `Unknown/ResourceNotRegistered/Resource "example.com/gpu" was requested but not registered`
		driver = "gpu.io"
	)
	class := func(selector string) *resourcev1.DeviceClass {
		name := "example.com/gpu"
		return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{
			ExtendedResourceName: &name, Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: selector}}},
		}}
	}
	slice := func(count int64) *resourcev1.ResourceSlice {
		s := published("a", driver, 1, count, "a")
		s.Spec.Devices = []resourcev1.Device{{Name: "gpu-0"}}
		return s
	}
	for name, c := range map[string]struct {
		objects    []client.Object
		unserved   bool // kube-scheduler does not serve extended resources by devices
		registered bool // by a device plugin
		want       string
	}{
		"devices of the class are published": {objects: []client.Object{class(`device.driver == "gpu.io"`), slice(1)}, want: done},
		"the pool is not complete":           {objects: []client.Object{class(`device.driver == "gpu.io"`), slice(2)}, want: waits},
		"the class selects none of them":     {objects: []client.Object{class(`device.driver == "other.io"`), slice(1)}, want: waits},
		"no class has the resource":          {objects: []client.Object{slice(1)}, want: waits},
		"nothing is published":               {objects: []client.Object{class(`device.driver == "gpu.io"`)}, want: waits},
		"kube-scheduler is older":            {objects: []client.Object{class(`device.driver == "gpu.io"`), slice(1)}, unserved: true, want: waits},
		"a device plugin registers it":       {registered: true, want: done},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			claim, node := w.LaunchedClaim("a", v1.ConditionTypeRegistered), w.RegisteredNode("a")
			claim.Spec.Resources.Requests = fakecluster.Resources("example.com/gpu", "1")
			if c.registered {
				node.Status.Allocatable["example.com/gpu"] = claim.Spec.Resources.Requests["example.com/gpu"]
			}
			for _, o := range c.objects {
				if s, ok := o.(*resourcev1.ResourceSlice); ok {
					s.Spec.NodeName = &node.Name
				}
				w.Add(o)
			}
			w.Add(claim, node)
			lifecycle := nodeclaim.NewLifecycle(w.Shared, &health{}).AwaitDrivers()
			if !c.unserved {
				lifecycle.ServeExtendedResources(translate.New(v1.CoreLabelRules()))
			}
			w.Run(lifecycle, claim)
			if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Initialized"); got != c.want {
				t.Errorf("Initialized %q, want %q", got, c.want)
			}
		})
	}
}
