package static_test

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/static"
	"github.com/karpenter-anew/karpenter/test/logcapture"
)

func TestProvisioningLeavesOtherPoolsAlone(t *testing.T) {
	t.Attr("covers", "C512 C515 C518 L351")
	for name, change := range map[string]func(*v1.NodePool){
		"a pool of another installation": unmanaged,
		"a pool that is not ready":       notReady,
		"a pool that is being deleted":   going,
		"a dynamic pool":                 dynamic,
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, pool(3, change))
			result, err := w.up()
			w.want(0, 0, result, err)
		})
	}
	t.Run("a pool that does not exist", func(t *testing.T) {
		w := newHarness(t)
		result, err := w.up()
		w.want(0, 0, result, err)
	})
	t.Run("a pool that is satisfied", func(t *testing.T) {
		w := newHarness(t, pool(2))
		w.launched("a", "b")
		result, err := w.up()
		w.want(time.Minute, 2, result, err)
	})
	t.Run("a pool with more than its replicas", func(t *testing.T) {
		w := newHarness(t, pool(1))
		w.launched("a", "b")
		result, err := w.up()
		w.want(time.Minute, 2, result, err)
	})
	t.Run("a pool that wants none", func(t *testing.T) {
		w := newHarness(t, pool(0))
		result, err := w.up()
		w.want(time.Minute, 0, result, err)
	})
}

// TestProvisioningRefillsThePlaceOfATerminatedNode: the replacement of a node that is terminated first needs what the node holds.
func TestProvisioningRefillsThePlaceOfATerminatedNode(t *testing.T) {
	t.Attr("covers", "N131")
	w := newHarness(t, pool(3))
	w.launched("a", "b", "c")
	id := ""
	for _, c := range w.deps.Store.Pools.Claims("pool") {
		if c.Claim.Name == "a" {
			id = c.ID
		}
	}
	w.deps.Store.Pools.TerminateFirst(id)
	w.deps.Store.Mark(id)
	result, err := w.up()
	w.want(time.Minute, 3, result, err)
	w.deps.Store.Pools.EndReplacement(id) // the termination is abandoned, but the node goes for another reason
	result, err = w.up()
	w.want(time.Minute, 4, result, err)
	w.sync()
	w.deps.Store.Unmark(id)
	w.deps.Store.Pools.TerminateFirst(id)
	w.deps.Store.Mark(id)
	w.deps.Store.DeleteNodeClaim("a")
	if got, want := w.deps.Store.Pools.Counts("pool"), (cluster.NodeClaimCounts{Active: 3}); got != want {
		t.Errorf("once the node is gone, the pool has %+v, want %+v", got, want)
	}
}

func TestProvisioningCreatesWhatIsMissing(t *testing.T) {
	t.Attr("covers", "C513 C514 L352")
	w := newHarness(t, pool(5))
	w.launched("a")
	w.Add(w.Claim("unlaunched"))
	w.sync()
	result, err := w.up()
	w.want(time.Minute, 5, result, err)
	if got := w.Count("karpenter_nodeclaims_created_total", "reason=provisioned", "nodepool=pool", "min_values_relaxed=false"); got != 3 {
		t.Errorf("%v creations counted, want 3", got)
	}
	for _, c := range w.claims() {
		if strings.HasPrefix(c.Name, "pool-") && c.Annotations[v1.NodePoolHashAnnotationKey] != pool(5).Hash() {
			t.Errorf("nodeclaim %s has annotations %v, want those of the template", c.Name, c.Annotations)
		}
	}
	if events := w.Events(); len(events) > 0 {
		t.Errorf("events %q, want none", events)
	}
	// The next reconcile may run before the watch has delivered anything.
	result, err = w.up()
	w.want(time.Minute, 5, result, err)
	w.sync()
	result, err = w.up()
	w.want(time.Minute, 5, result, err)
}

func TestProvisioningReachesLargeNumbersInStrides(t *testing.T) {
	t.Attr("covers", "C518 L352")
	w := newHarness(t, pool(250))
	p := static.NewProvisioning(w.deps)
	for range 3 {
		if _, err := w.Try(p, fakecluster.Pool()); err != nil {
			t.Fatal(err)
		}
	}
	result, err := w.Try(p, fakecluster.Pool())
	w.want(time.Minute, 250, result, err)
}

func TestAMistakenNumberCanBeTakenBack(t *testing.T) {
	w := newHarness(t, pool(1_000_000))
	result, err := w.up()
	w.want(time.Millisecond, 100, result, err)
	fakecluster.Change(w.Cluster, fakecluster.Pool(), func(p *v1.NodePool) { p.Spec.Replicas = new(int64(10)) })
	result, err = w.up()
	w.want(time.Minute, 100, result, err)
}

func TestNodesThatAreReplacedCount(t *testing.T) {
	w := newHarness(t, pool(2))
	w.launched("a", "b")
	w.deps.Store.Pools.BeginReplacement("test://a")
	result, err := w.up()
	w.want(time.Minute, 2, result, err)
}

func TestNodesThatGoAreRefilled(t *testing.T) {
	w := newHarness(t, pool(2))
	w.launched("a", "b")
	w.Delete(w.Claim("a"))
	w.sync()
	result, err := w.up()
	w.want(time.Minute, 2, result, err)
	if got := len(w.claims()); got != 3 {
		t.Errorf("%d nodeclaims, want the one that goes beside two", got)
	}
}

func TestTheNodeLimitHolds(t *testing.T) {
	t.Attr("covers", "C516 C517 L353")
	t.Run("part of the replicas", func(t *testing.T) {
		w := newHarness(t, pool(5, limit("3")))
		result, err := w.up()
		w.want(time.Minute, 3, result, err)
	})
	t.Run("reached", func(t *testing.T) {
		w := newHarness(t, pool(5, limit("2")))
		w.launched("a", "b")
		result, err := w.up()
		w.want(30*time.Second, 2, result, err)
	})
	t.Run("nodes that go count until they are gone", func(t *testing.T) {
		w := newHarness(t, pool(2, limit("2")))
		w.launched("a", "b")
		w.Delete(w.Claim("a"))
		w.sync()
		result, err := w.up()
		w.want(30*time.Second, 1, result, err)
	})
	t.Run("a limit of zero", func(t *testing.T) {
		w := newHarness(t, pool(2, limit("0")))
		result, err := w.up()
		w.want(30*time.Second, 0, result, err)
	})
	t.Run("concurrent reconciles", func(t *testing.T) {
		w := newHarness(t, pool(40, limit("25")))
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := w.up(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := len(w.live()); got > 25 {
			t.Errorf("%d nodeclaims, limit 25", got)
		}
		if got := w.deps.Store.Pools.Counts("pool").Reserved; got != 0 {
			t.Errorf("%d places still reserved", got)
		}
	})
	t.Run("places are given back after success", func(t *testing.T) {
		w := newHarness(t, pool(3))
		result, err := w.up()
		w.want(time.Minute, 3, result, err)
		if got := w.deps.Store.Pools.Counts("pool"); got != (cluster.NodeClaimCounts{Active: 3}) {
			t.Errorf("counted %+v", got)
		}
	})
}

func TestNothingIsCreatedBeforeTheClusterStateIsSynced(t *testing.T) {
	t.Attr("covers", "C520 L354")
	w := newHarness(t, pool(2))
	w.launched("a", "b")
	w.restart()
	w.ready = false
	result, err := w.up()
	w.want(time.Second, 2, result, err)
	w.sync()
	w.ready = true
	result, err = w.up()
	w.want(time.Minute, 2, result, err)
}

func TestCreationErrorsAreReturned(t *testing.T) {
	t.Attr("covers", "C517 C519 L355")
	w := newHarness(t, pool(4, limit("4")))
	w.sync()
	var calls atomic.Int32
	w.Fail = func(op string, obj runtime.Object) error {
		if _, isClaim := obj.(*v1.NodeClaim); isClaim && op == "create" && calls.Add(1)%2 == 0 {
			return apierrors.NewBadRequest("the server is on fire")
		}
		return nil
	}
	_, err := w.up()
	if err == nil || !strings.HasPrefix(err.Error(), "creating nodeclaims, ") || !strings.Contains(err.Error(), "on fire") {
		t.Errorf("error %v", err)
	}
	if got := w.deps.Store.Pools.Counts("pool"); got != (cluster.NodeClaimCounts{Active: 2}) {
		t.Errorf("counted %+v, want the two that were created and no reservation", got)
	}
	w.Fail = nil
	result, err := w.up()
	w.want(time.Minute, 4, result, err)
}

func TestClaimsThatNeverLaunchAreReplacedWithBackoff(t *testing.T) {
	w := newHarness(t, pool(3))
	p := static.NewProvisioning(w.deps)
	vanish := func() {
		for _, c := range w.claims() {
			w.Delete(&c)
		}
		w.sync()
	}
	for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		result, err := w.Try(p, fakecluster.Pool())
		w.want(time.Minute, 3, result, err)
		vanish()
		for range 3 { // every deleted claim triggers a reconcile
			result, err = w.Try(p, fakecluster.Pool())
			w.want(pause, 0, result, err)
		}
		w.Time.Step(pause)
	}
	result, err := w.Try(p, fakecluster.Pool())
	w.want(time.Minute, 3, result, err)
	// One of them gets an instance, which ends the backoff.
	w.sync()
	fakecluster.Change(w.Cluster, w.Claim(w.live()[0]), func(c *v1.NodeClaim) { c.Status.ProviderID = "test://1" })
	w.sync()
	w.Delete(w.Claim(w.live()[1]))
	w.sync()
	result, err = w.Try(p, fakecluster.Pool())
	w.want(time.Minute, 3, result, err)
}

func TestRegister(t *testing.T) {
	w := newHarness(t)
	w.Register(t, static.NewProvisioning(w.deps), static.NewDeprovisioning(w.deps))
}

// TestANodeLimitIsLoggedOnceWhileItHolds: at first, and again when the limit changes.
func TestANodeLimitIsLoggedOnceWhileItHolds(t *testing.T) {
	w := newHarness(t, pool(3, limit("1")))
	w.launched("a")
	var buffer logcapture.Buffer
	ctx := ctrllog.IntoContext(t.Context(), logr.FromSlogHandler(slog.NewTextHandler(&buffer, nil)))
	p := static.NewProvisioning(w.deps)
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(fakecluster.Pool())}
	check := func(times, want int) {
		t.Helper()
		for range times {
			if _, err := p.Reconcile(ctx, request); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Count(buffer.String(), "nodepool node limit reached"); got != want {
			t.Errorf("logged %d times, want %d:\n%s", got, want, buffer.String())
		}
	}
	check(3, 1)
	fakecluster.Change(w.Cluster, fakecluster.Pool(), limit("0"))
	check(3, 2)
}
