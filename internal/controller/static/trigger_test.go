package static

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

func poolOf(replicas *int64, ready metav1.ConditionStatus) *v1.NodePool {
	p := &v1.NodePool{}
	p.Spec.Replicas = replicas
	if ready != "" {
		p.Status.Conditions = []metav1.Condition{{Type: v1.ConditionTypeReady, Status: ready}}
	}
	return p
}

func TestWhatWakesAPool(t *testing.T) {
	t.Attr("covers", "C521 C529 L358")
	two, three := new(int64(2)), new(int64(3))
	for name, c := range map[string]struct {
		was, is     *v1.NodePool
		more, fewer bool
	}{
		"more replicas":               {poolOf(two, "True"), poolOf(three, "True"), true, true},
		"fewer replicas":              {poolOf(three, "True"), poolOf(two, "True"), true, true},
		"it became static":            {poolOf(nil, "True"), poolOf(two, "True"), true, true},
		"it became ready":             {poolOf(two, "False"), poolOf(two, "True"), true, false},
		"it was unknown and is ready": {poolOf(two, "Unknown"), poolOf(two, "True"), true, false},
		"it had no condition":         {poolOf(two, ""), poolOf(two, "True"), true, false},
		"it is not ready any more":    {poolOf(two, "True"), poolOf(two, "False"), false, false},
		"it is still not ready":       {poolOf(two, "Unknown"), poolOf(two, "False"), false, false},
		"it is still ready":           {poolOf(two, "True"), poolOf(two, "True"), false, false},
		"a dynamic pool became ready": {poolOf(nil, "False"), poolOf(nil, "True"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			update := event.UpdateEvent{ObjectOld: c.was, ObjectNew: c.is}
			if got := mayNeedMore().Update(update); got != c.more {
				t.Errorf("static.provisioning is woken: %v, want %v", got, c.more)
			}
			if got := mayNeedFewer().Update(update); got != c.fewer {
				t.Errorf("static.deprovisioning is woken: %v, want %v", got, c.fewer)
			}
		})
	}
	for name, p := range map[string]*v1.NodePool{"static": poolOf(two, ""), "dynamic": poolOf(nil, "")} {
		if got := mayNeedMore().Create(event.CreateEvent{Object: p}); got != (name == "static") {
			t.Errorf("a new %s pool wakes static.provisioning: %v", name, got)
		}
		if got := mayNeedFewer().Create(event.CreateEvent{Object: p}); got != (name == "static") {
			t.Errorf("a new %s pool wakes static.deprovisioning: %v", name, got)
		}
		if mayNeedMore().Delete(event.DeleteEvent{Object: p}) {
			t.Errorf("a %s pool that is gone wakes", name)
		}
	}
}

func TestAChangeOfTheCountsWakesItsPool(t *testing.T) {
	store := cluster.NewStore(cloud.Cloud{NodeClasses: []cloud.NodeClass{{GVK: schema.GroupVersionKind{Group: "test.sh", Kind: "Class"}}}},
		translate.New(v1.CoreLabelRules()))
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := onNodeClaimCountsChange(store).Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	woken := func() (names []string) {
		for range queue.Len() {
			request, _ := queue.Get()
			queue.Done(request)
			names = append(names, request.Name)
		}
		return names
	}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{v1.NodePoolLabelKey: "pool"}}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: "test.sh", Kind: "Class"}
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"created", func() { store.UpdateNodeClaim(claim) }, []string{"pool"}},
		{"unchanged", func() { store.UpdateNodeClaim(claim) }, nil},
		{"gone", func() { store.DeleteNodeClaim("a") }, []string{"pool"}},
		{"without a pool", func() {
			store.UpdateNodeClaim(&v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: claim.Spec})
		}, nil},
	} {
		step.do()
		if got := woken(); !slices.Equal(got, step.want) {
			t.Errorf("%s: woke %q, want %q", step.name, got, step.want)
		}
	}
}
