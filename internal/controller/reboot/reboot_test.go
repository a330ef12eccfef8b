package reboot

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

// TestReboot follows a reboot from the request to the end.
func TestReboot(t *testing.T) {
	t.Attr("covers", "N053 N056 N057 N058 N060 N062 N063 N067 N259 N260 N261 N205")
	f := newFixture(t)
	if got := f.pass(); got != requeue.After(5*time.Second) {
		t.Errorf("an empty node is held for %v, want 5s", got)
	}
	if !tainted(fakecluster.Must(f.Cluster, f.node)) || f.Provider.Calls("Reboot") != 0 {
		t.Fatal("the node is not tainted, or rebooted at once")
	}
	f.after(5 * time.Second)
	f.expect(isIssued)
	if id, _ := f.annotation(v1.RebootPreBootIDAnnotationKey); id != "boot-1" {
		t.Errorf("the boot ID on record is %q", id)
	}
	if want := []string{fmt.Sprintf("a-uid-%d-boot-1", f.requested.UnixNano())}; !slices.Equal(f.Provider.Reboots(), want) {
		t.Errorf("operations %q, want %q", f.Provider.Reboots(), want)
	}
	claim := fakecluster.Must(f.Cluster, f.claim)
	if got := fakecluster.Condition(claim.Status.Conditions, v1.ConditionTypeInitialized); got != "Unknown/Rebooting/node is rebooting" {
		t.Errorf("Initialized is %q", got)
	}
	if fakecluster.Must(f.Cluster, f.node).Labels[v1.NodeInitializedLabelKey] != "" {
		t.Error("the node is still labelled as initialized")
	}
	fakecluster.Change(f.Cluster, f.node, func(n *corev1.Node) { n.Labels[v1.NodeInitializedLabelKey] = "true" })
	f.boots("boot-1", corev1.ConditionFalse)
	if got := f.after(15 * time.Second); got != requeue.After(15*time.Second) {
		t.Errorf("result %v, want to look again after 15s", got)
	}
	if node := fakecluster.Must(f.Cluster, f.node); !tainted(node) || node.Labels[v1.NodeInitializedLabelKey] != "" {
		t.Error("before the boot the taint is removed, or the label is back")
	}
	if got := f.Events(); len(got) != 0 {
		t.Errorf("events %q", got)
	}
	f.boots("boot-2", corev1.ConditionFalse)
	f.after(15 * time.Second)
	f.after(15 * time.Second)
	f.expect(isIssued)
	if tainted(fakecluster.Must(f.Cluster, f.node)) {
		t.Error("the taint outlasts the boot")
	}
	if want := []string{"Normal RebootObserved a: New boot observed (bootID changed); awaiting node readiness"}; !slices.Equal(f.Events(), want) {
		t.Errorf("events %q, want %q", f.Events(), want)
	}
	f.boots("boot-2", corev1.ConditionTrue)
	f.after(15 * time.Second)
	f.expect(isSucceeded)
	if _, ok := f.annotation(v1.RebootPreBootIDAnnotationKey); ok {
		t.Error("the boot ID is still on record")
	}
	f.after(time.Hour)
	if f.ended(succeeded) != 1 || f.Count("karpenter_nodes_reboots_total") != 1 {
		t.Error("not counted once, as a success")
	}
	if took := f.Sum("karpenter_nodes_reboot_duration_seconds"); took != 65 {
		t.Errorf("it took %v s, want 65", took)
	}
	if took := f.Sum("karpenter_nodes_reboot_recovery_duration_seconds"); took != 60 {
		t.Errorf("the recovery took %v s, want 60", took)
	}
	if f.deleting() || f.Provider.Calls("Reboot") != 1 {
		t.Error("the node was deleted or rebooted again")
	}
}

func TestNoReboot(t *testing.T) {
	t.Attr("covers", "N052")
	for name, change := range map[string]func(*fixture){
		"nothing was requested": func(f *fixture) {
			condition.For(f.claim, f.requested).Clear(v1.ConditionTypeRebooting)
		},
		"the NodeClaim is of another installation": func(f *fixture) { f.claim.Spec.NodeClassRef = fakecluster.Unmanaged() },
		"the last one succeeded": func(f *fixture) {
			condition.For(f.claim, f.requested).False(v1.ConditionTypeRebooting, v1.RebootReasonSucceeded, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, change)
			if got := f.pass(); got != (reconcile.Result{}) {
				t.Errorf("result %v", got)
			}
			if tainted(fakecluster.Must(f.Cluster, f.node)) || f.Provider.Calls("Reboot") != 0 {
				t.Error("the node is rebooted")
			}
		})
	}
	t.Run("the NodeClaim is deleted meanwhile", func(t *testing.T) {
		f := newFixture(t, bare)
		f.Provider.RebootErr = errOnFire
		if _, err := f.Try(f.r, f.claim); !errors.Is(err, errOnFire) {
			t.Fatal(err)
		}
		f.Delete(f.claim)
		f.Provider.RebootErr = nil
		f.after(time.Hour)
		f.expect(isRequested)
		if f.Provider.Calls("Reboot") != 1 || len(f.r.timers.byName) != 0 || f.Count("karpenter_nodes_reboots_total") != 0 {
			t.Error("it is rebooted, or its time still runs, or it is counted")
		}
	})
}

func TestDrain(t *testing.T) {
	t.Attr("covers", "N054 N055")
	start := func(t *testing.T, bound string) *fixture {
		return newFixture(t, func(f *fixture) {
			if bound != "" {
				bounded(bound)(f)
			}
			critical := f.Pod("critical", "a")
			critical.Spec.PriorityClassName = "system-cluster-critical"
			tolerant := f.Pod("tolerant", "a")
			tolerant.Spec.Tolerations = []corev1.Toleration{{Key: v1.RebootingTaintKey, Operator: corev1.TolerationOpExists}}
			protected := f.Pod("protected", "a")
			protected.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
			f.Add(f.Pod("web", "a"), critical, tolerant, protected)
		})
	}
	queued := func(f *fixture) (names []string) {
		for key := range f.evictions.Deadlines() {
			names = append(names, key.Name)
		}
		slices.Sort(names)
		return names
	}
	for _, c := range []struct {
		bound string
		waits time.Duration // zero: for ever
	}{{"", 0}, {"1s", 5 * time.Second}, {"10m", 10 * time.Minute}} {
		t.Run("bound "+c.bound, func(t *testing.T) {
			f := start(t, c.bound)
			if got := f.pass(); got != requeue.After(time.Second) {
				t.Errorf("result %v, want to look again after a second", got)
			}
			if got := queued(f); !slices.Equal(got, []string{"protected", "web"}) {
				t.Errorf("to evict are %q, want the first group", got)
			}
			f.Delete(f.Pod("web", "a"))
			f.Delete(f.Pod("protected", "a"))
			f.after(time.Second)
			if got := queued(f); !slices.Contains(got, "critical") || slices.Contains(got, "tolerant") {
				t.Errorf("to evict are %q, want the next group without pods that tolerate the taint", got)
			}
			if c.waits == 0 {
				f.after(24 * time.Hour)
				f.expect(isRequested)
				f.Delete(f.Pod("critical", "a"))
				f.after(time.Second)
				f.expect(isIssued)
				return
			}
			f.after(c.waits - time.Second - time.Millisecond)
			f.expect(isRequested)
			f.after(time.Millisecond)
			f.expect(isIssued)
			if _, stays := fakecluster.Get(f.Cluster, f.Pod("critical", "a")); !stays {
				t.Error("a pod was deleted by force")
			}
			for key := range f.evictions.Deadlines() {
				if _, err := f.evictions.Reconcile(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
			if f.evictions.Len() != 0 {
				t.Error("pods are evicted after the end of the drain")
			}
		})
	}
	t.Run("bound 0", func(t *testing.T) {
		f := start(t, "0")
		f.pass()
		f.expect(isIssued)
		if f.evictions.Len() != 0 {
			t.Error("pods are evicted")
		}
	})
}

func TestInvalidRequest(t *testing.T) {
	t.Attr("covers", "N054 N065 N066")
	for _, bound := range []string{"soon", "-1s", ""} {
		f := newFixture(t, bounded(bound), func(f *fixture) { f.node.Spec.Taints = []corev1.Taint{v1.RebootingNoScheduleTaint()} })
		f.pass()
		f.pass()
		want := fmt.Sprintf("the annotation karpenter.sh/reboot-termination-grace-period is %q: set it to a duration such as 10m, or to 0s, and request the reboot again", bound)
		f.expect("False/RebootFailed/" + want)
		if f.deleting() || f.Provider.Calls("Reboot") != 0 || tainted(fakecluster.Must(f.Cluster, f.node)) {
			t.Error("the node is deleted, rebooted or tainted")
		}
		if f.ended(invalidRequest) != 1 || !slices.Equal(f.Events(), []string{"Warning RebootFailed a: " + want}) {
			t.Errorf("counted %v times, events %q", f.ended(invalidRequest), f.Events())
		}
	}
}

func TestRegister(t *testing.T) {
	f := newFixture(t)
	f.Register(t, f.r)
}

func TestWhatWakesIt(t *testing.T) {
	t.Attr("covers", "N212")
	f := newFixture(t)
	for name, c := range map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"a heartbeat":      {change: func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.Now() }},
		"a boot":           {change: func(n *corev1.Node) { n.Status.NodeInfo.BootID = "boot-2" }, want: true},
		"no longer ready":  {change: func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, want: true},
		"a taint is added": {change: func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, v1.RebootingNoScheduleTaint()) }, want: true},
	} {
		is := f.node.DeepCopy()
		c.change(is)
		if got := bootChanged().Update(event.UpdateEvent{ObjectOld: f.node, ObjectNew: is}); got != c.want {
			t.Errorf("%s: woken: %v", name, got)
		}
	}
	bare := &v1.NodeClaim{}
	if requested().Create(event.CreateEvent{Object: bare}) || bare.Status.Conditions != nil {
		t.Error("a NodeClaim without the condition wakes it, or is changed")
	}
	if !requested().Create(event.CreateEvent{Object: f.claim}) || !requested().Update(event.UpdateEvent{ObjectOld: f.claim, ObjectNew: bare}) {
		t.Error("a request, or its withdrawal, does not wake it")
	}
	bare.Annotations = map[string]string{v1.RebootPreBootIDAnnotationKey: ""}
	if !requested().Create(event.CreateEvent{Object: bare}) {
		t.Error("a leftover annotation does not wake it")
	}
	found := f.node.DeepCopy()
	found.Spec.Taints = []corev1.Taint{v1.RebootingNoScheduleTaint()}
	if bootChanged().Create(event.CreateEvent{Object: f.node}) || !bootChanged().Create(event.CreateEvent{Object: found}) {
		t.Error("a new node wakes it, or one with a leftover taint does not")
	}
}

// failOnce fails the n-th call of op on objects like that.
func failOnce(n int, op string, like runtime.Object, err error) func(string, runtime.Object) error {
	seen, match := 0, fakecluster.Always(op, like, err)
	return func(gotOp string, obj runtime.Object) error {
		err := match(gotOp, obj)
		if err != nil {
			seen++
		}
		if seen != n {
			return nil
		}
		return err
	}
}
