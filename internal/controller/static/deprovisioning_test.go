package static_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

func TestDeprovisioningLeavesOtherPoolsAlone(t *testing.T) {
	t.Attr("covers", "C522")
	for name, change := range map[string]func(*v1.NodePool){
		"a pool of another installation": unmanaged,
		"a pool that is being deleted":   going,
		"a dynamic pool":                 dynamic,
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, pool(0, change))
			w.launched("a")
			result, err := w.down()
			w.want(0, 1, result, err)
		})
	}
}

func TestDeprovisioningCountsActiveClaimsOnly(t *testing.T) {
	t.Attr("covers", "C523 L356")
	t.Run("not those that go", func(t *testing.T) {
		w := newHarness(t, pool(2))
		w.launched("a", "b", "c")
		w.Delete(w.Claim("a"))
		w.sync()
		result, err := w.down()
		w.want(time.Minute, 2, result, err)
	})
	t.Run("not those that are being replaced", func(t *testing.T) {
		w := newHarness(t, pool(2))
		w.launched("a", "b", "c")
		w.deps.Store.Pools.BeginReplacement("test://a")
		result, err := w.down()
		w.want(time.Minute, 3, result, err)
	})
	t.Run("not those that were deleted a moment ago", func(t *testing.T) {
		w := newHarness(t, pool(2))
		w.launched("a", "b", "c")
		result, err := w.down()
		w.want(time.Minute, 2, result, err)
		result, err = w.down() // the watch has not shown anything yet
		w.want(time.Minute, 2, result, err)
	})
}

func TestDeprovisioningDoesNotNeedAReadyPool(t *testing.T) {
	w := newHarness(t, pool(1, notReady))
	w.launched("a", "b")
	result, err := w.down()
	w.want(time.Minute, 1, result, err)
}

func TestDeprovisioningWaitsForTheClusterState(t *testing.T) {
	w := newHarness(t, pool(1))
	w.launched("a", "b")
	w.ready = false
	result, err := w.down()
	w.want(time.Second, 2, result, err)
}

func TestNeitherMetricsNorEventsReportScaleDown(t *testing.T) {
	w := newHarness(t, pool(0))
	w.launched("a")
	result, err := w.down()
	w.want(time.Minute, 0, result, err)
	if got := w.Count("karpenter_nodeclaims_disrupted_total"); got != 0 || len(w.Events()) > 0 {
		t.Errorf("%v disruptions counted, events %q; want none", got, w.Events())
	}
}

func TestZeroReplicas(t *testing.T) {
	t.Attr("covers", "C524 C525 L357")
	w := newHarness(t, pool(0))
	result, err := w.down() // no claim at all
	w.want(time.Minute, 0, result, err)
	w.launched("a", "b")
	w.Add(w.Claim("c"))
	w.sync()
	result, err = w.down()
	w.want(time.Minute, 0, result, err)
}

func TestDeleteErrorsAreReturned(t *testing.T) {
	t.Attr("covers", "C526 L357")
	w := newHarness(t, pool(0))
	w.launched("a", "b")
	w.Fail = func(op string, obj runtime.Object) error {
		if claim, ok := obj.(*v1.NodeClaim); ok && op == "delete" && claim.Name == "a" {
			return errors.New("the server is on fire")
		}
		return nil
	}
	_, err := w.down()
	if err == nil || !strings.HasPrefix(err.Error(), "failed to deprovision nodeclaims, ") || !strings.Contains(err.Error(), "on fire") {
		t.Errorf("error %v", err)
	}
	if got := w.live(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("left %v, want the one that could not be deleted", got)
	}
	w.Fail = nil
	result, err := w.down()
	w.want(time.Minute, 0, result, err)
}

func TestAClaimThatIsGoneNeedsNoDeletion(t *testing.T) {
	w := newHarness(t, pool(0))
	w.launched("a")
	w.Fail = fakecluster.Always("delete", &v1.NodeClaim{}, fakecluster.NotFound())
	if _, err := w.down(); err != nil {
		t.Error(err)
	}
	if got := w.deps.Store.Pools.Counts("pool").Active; got != 0 {
		t.Errorf("%d active, want none", got)
	}
}

func TestOrderOfDeprovisioning(t *testing.T) {
	t.Attr("covers", "C527 C528 L356")
	daemon := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent"}}
	}
	mirror := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "node"}}
	}
	finished := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	guarded := func(p *corev1.Pod) { p.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"} }
	elapsed := func(p *corev1.Pod) {
		p.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "1m"}
		p.Status.StartTime = &metav1.Time{Time: time.Now().Add(-time.Hour)}
	}
	deletionCost := func(cost string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Annotations = map[string]string{"controller.kubernetes.io/pod-deletion-cost": cost}
		}
	}
	w := newHarness(t, pool(0))
	run := func(node string, changes ...func(*corev1.Pod)) {
		p := w.Pod(node+"-pod-"+string(rune('a'+len(changes))), node)
		for _, change := range changes {
			change(p)
		}
		w.Add(p)
	}
	// In the expected order of deletion, which differs from the order of names.
	w.Add(w.Claim("z-unlaunched"))
	w.launched("y-empty", "x-finished", "w-daemon", "v-mirror", "u-old", "t-cheap", "s-elapsed", "r-two", "q-guarded-daemon", "p-guarded")
	run("x-finished", finished, guarded)
	run("w-daemon", daemon)
	run("v-mirror", mirror)
	run("u-old") // has the same cost as others, but expires soon
	run("t-cheap", deletionCost("-67108864"))
	run("s-elapsed", elapsed)
	run("r-two")
	run("r-two", daemon)
	run("q-guarded-daemon", daemon, guarded)
	run("p-guarded", guarded)
	run("p-guarded", deletionCost("0"), guarded, guarded)
	fakecluster.Change(w.Cluster, w.Claim("u-old"), func(c *v1.NodeClaim) { c.Spec.ExpireAfter = v1.NewNillableDuration(10 * time.Hour) })
	w.Time.Step(9 * time.Hour)
	w.sync()
	emptyOnes := []string{"v-mirror", "w-daemon", "x-finished", "y-empty"} // equal, so ordered by name
	want := slices.Concat([]string{"z-unlaunched"}, emptyOnes, []string{"u-old", "t-cheap", "s-elapsed", "r-two", "q-guarded-daemon", "p-guarded"})
	for n, name := range want {
		left := int64(len(want) - n - 1)
		fakecluster.Change(w.Cluster, fakecluster.Pool(), func(p *v1.NodePool) { p.Spec.Replicas = &left })
		result, err := w.down()
		w.want(time.Minute, int(left), result, err)
		if slices.Contains(w.live(), name) {
			t.Fatalf("with %d replicas left are %v; want %s to be the next to go", left, w.live(), name)
		}
		w.sync()
	}
}

func TestOfEmptyNodesTheYoungestGoesFirst(t *testing.T) {
	w := newHarness(t, pool(1))
	w.launched("old")
	w.Time.Step(time.Hour)
	w.launched("young")
	result, err := w.down()
	w.want(time.Minute, 1, result, err)
	if got := w.live(); !slices.Equal(got, []string{"old"}) {
		t.Errorf("left %v", got)
	}
}

func TestANodeWhosePodsCannotBeListedIsKept(t *testing.T) {
	w := newHarness(t, pool(0))
	w.launched("a")
	w.Add(w.Claim("unlaunched"))
	w.sync()
	w.Fail = fakecluster.Always("list", &corev1.PodList{}, errors.New("the server is on fire"))
	result, err := w.down()
	w.Fail = nil
	w.want(time.Minute, 1, result, err)
	if got := w.live(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("left %v, want the node whose pods could not be listed", got)
	}
}

// binding is the API server as a reader; a pod is bound just before its first list.
type binding struct {
	client.Reader
	bind func()
}

func (b *binding) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if b.bind != nil {
		b.bind()
		b.bind = nil
	}
	return b.Reader.List(ctx, list, opts...)
}

// TestPodsThatTheCacheDoesNotShowYet: a protected pod is bound to the node that would be removed.
func TestPodsThatTheCacheDoesNotShowYet(t *testing.T) {
	w := newHarness(t, pool(1))
	w.launched("a", "b")
	w.deps.Live = &binding{w.API, func() {
		p := w.Pod("late", "a")
		p.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
		w.Add(p)
	}}
	result, err := w.down()
	w.want(time.Minute, 1, result, err)
	if got := w.live(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("left %v, want the node with the protected pod", got)
	}
}
