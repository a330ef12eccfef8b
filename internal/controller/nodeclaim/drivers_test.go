package nodeclaim_test

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
)

// published is a slice of a driver's pool, one of count at a generation. It belongs to the Node by name.
func published(name, driver string, generation, count int64, node string) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, NodeName: &node,
			Pool: resourcev1.ResourcePool{Name: "pool", Generation: generation, ResourceSliceCount: count},
		},
	}
}

// owned is the slice with an owner in place of the name of the Node.
func owned(s *resourcev1.ResourceSlice) *resourcev1.ResourceSlice {
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: *s.Spec.NodeName, UID: "u"}}
	s.Spec.NodeName = nil
	return s
}

func everywhere(s *resourcev1.ResourceSlice) *resourcev1.ResourceSlice {
	all := true
	s.Spec.NodeName, s.Spec.AllNodes = nil, &all
	return s
}

func TestInitializationAwaitsDrivers(t *testing.T) {
	t.Attr("covers", "C059 C060 C061 C062 C063 C064 C065")
	const done = "True/Initialized/"
	awaits := func(driver string) string {
		return `Unknown/DRADriverPoolsNotPublished/DRA driver "` + driver + `" has not published a complete resource pool`
	}
	for name, c := range map[string]struct {
		drivers string
		slices  []*resourcev1.ResourceSlice
		ignored bool
		want    string
	}{
		"nothing is published":               {drivers: "gpu.io", want: awaits("gpu.io")},
		"a complete pool is":                 {drivers: "gpu.io", slices: []*resourcev1.ResourceSlice{published("a", "gpu.io", 1, 1, "a")}, want: done},
		"fewer slices than declared":         {drivers: "gpu.io", slices: []*resourcev1.ResourceSlice{published("a", "gpu.io", 1, 2, "a")}, want: awaits("gpu.io")},
		"more slices than declared":          {drivers: "gpu.io", slices: []*resourcev1.ResourceSlice{published("a", "gpu.io", 1, 1, "a"), published("b", "gpu.io", 1, 1, "a")}, want: awaits("gpu.io")},
		"none declared":                      {drivers: "gpu.io", slices: []*resourcev1.ResourceSlice{published("a", "gpu.io", 1, 0, "a")}, want: awaits("gpu.io")},
		"an older generation was complete":   {drivers: "gpu.io", slices: []*resourcev1.ResourceSlice{published("a", "gpu.io", 1, 1, "a"), published("b", "gpu.io", 2, 2, "a")}, want: awaits("gpu.io")},
		"the newer generation is complete":   {drivers: "gpu.io", slices: []*resourcev1.ResourceSlice{published("a", "gpu.io", 2, 1, "a"), published("b", "gpu.io", 1, 2, "a")}, want: done},
		"the first missing one is named":     {drivers: "gpu.io, nic.io,net.io", slices: []*resourcev1.ResourceSlice{published("a", "gpu.io", 1, 1, "a")}, want: awaits("nic.io")},
		"all are there":                      {drivers: " gpu.io,,nic.io ", slices: []*resourcev1.ResourceSlice{published("a", "gpu.io", 1, 1, "a"), published("b", "nic.io", 1, 1, "a")}, want: done},
		"no driver is named":                 {want: done},
		"blanks are named":                   {drivers: " , ", want: done},
		"devices are ignored":                {drivers: "gpu.io", ignored: true, want: done},
		"by owner":                           {drivers: "gpu.io", slices: []*resourcev1.ResourceSlice{owned(published("a", "gpu.io", 1, 1, "a"))}, want: done},
		"of another node":                    {drivers: "gpu.io", slices: []*resourcev1.ResourceSlice{published("a", "gpu.io", 1, 1, "b"), owned(published("b", "gpu.io", 1, 1, "b"))}, want: awaits("gpu.io")},
		"those for the cluster do not count": {drivers: "gpu.io", slices: []*resourcev1.ResourceSlice{everywhere(published("a", "gpu.io", 1, 1, "a"))}, want: awaits("gpu.io")},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			claim, node := w.LaunchedClaim("a", v1.ConditionTypeRegistered), w.RegisteredNode("a")
			if c.drivers != "" {
				claim.Annotations = map[string]string{v1.RequestedDRADriversAnnotationKey: c.drivers}
			}
			for _, s := range c.slices {
				if s.Spec.NodeName != nil && *s.Spec.NodeName == "a" {
					s.Spec.NodeName = &node.Name
				}
				for i := range s.OwnerReferences {
					if s.OwnerReferences[i].Name == "a" {
						s.OwnerReferences[i].Name = node.Name
					}
				}
				w.Add(s)
			}
			w.Add(claim, node)
			lifecycle := nodeclaim.NewLifecycle(w.Shared, &health{})
			if !c.ignored {
				lifecycle.AwaitDrivers()
			}
			w.Run(lifecycle, claim)
			if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Initialized"); got != c.want {
				t.Errorf("Initialized %q, want %q", got, c.want)
			}
			if labelled := fakecluster.Must(w, node).Labels[v1.NodeInitializedLabelKey] == "true"; labelled != (c.want == done) {
				t.Errorf("labelled: %v", labelled)
			}
		})
	}
}

func TestSlicesWakeTheirNodeClaim(t *testing.T) {
	t.Attr("covers", "C066")
	w := fakecluster.New(t)
	claim, node := w.LaunchedClaim("a"), w.RegisteredNode("a")
	w.Add(claim, node)
	for name, c := range map[string]struct {
		slice client.Object
		want  int
	}{
		"by name":         {published("a", "gpu.io", 1, 1, node.Name), 1},
		"by owner":        {owned(published("a", "gpu.io", 1, 1, node.Name)), 1},
		"of no claim":     {everywhere(published("a", "gpu.io", 1, 1, node.Name)), 0},
		"of another node": {published("a", "gpu.io", 1, 1, "other"), 0},
	} {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		nodelookup.SliceToClaims(w.Client).Create(t.Context(), event.CreateEvent{Object: c.slice}, queue)
		if queue.Len() != c.want {
			t.Errorf("%s: woke %d claims, want %d", name, queue.Len(), c.want)
		} else if c.want == 1 {
			if woken, _ := queue.Get(); woken.Name != claim.Name {
				t.Errorf("%s: woke %s", name, woken.Name)
			}
		}
		queue.ShutDown()
	}
}
