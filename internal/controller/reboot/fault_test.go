package reboot

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

func TestProviderErrors(t *testing.T) {
	t.Attr("covers", "N059 N065 N066")
	denied := errors.New("denied")
	for name, c := range map[string]struct {
		err     error
		message string
	}{
		"not implemented": {cloud.NewRebootNotImplementedError("test"), "reboot not implemented by the cloud provider"},
		"rejected":        {fmt.Errorf("calling: %w", cloud.NewRebootRejectedError(denied)), "reboot rejected by the cloud provider: calling: denied"},
		"no instance":     {cloud.NewNodeClaimNotFoundError(denied), "reboot rejected by the cloud provider: nodeclaim not found, denied"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, bounded("1s"))
			f.Provider.RebootErr = c.err
			f.after(5 * time.Second)
			f.pass()
			f.expect("False/RebootFailed/" + c.message)
			if !f.deleting() || tainted(fakecluster.Must(f.Cluster, f.node)) || f.Provider.Calls("Reboot") != 1 {
				t.Error("the NodeClaim is not deleted, its node still tainted, or the provider was asked again")
			}
			if deadline, _ := f.annotation(v1.NodeClaimTerminationTimestampAnnotationKey); deadline != f.Time.Now().Add(time.Second).Format(time.RFC3339) {
				t.Errorf("deadline %q, want one in a second", deadline)
			}
			if f.ended(providerError) != 1 || !slices.Equal(f.Events(), []string{"Warning RebootFailed a: " + c.message}) {
				t.Errorf("counted %v times, events %q", f.ended(providerError), f.Events())
			}
		})
	}
	t.Run("others are retried for five minutes", func(t *testing.T) {
		t.Attr("covers", "N064")
		f := newFixture(t, bare)
		f.Provider.RebootErr = errOnFire
		f.Time.Step(time.Hour) // the node was drained for so long
		for range 5 {
			if _, err := f.Try(f.r, f.claim); !errors.Is(err, errOnFire) {
				t.Fatalf("error %v", err)
			}
			f.Time.Step(time.Minute - time.Millisecond)
		}
		f.expect(isRequested)
		ids := f.Provider.Reboots()
		if len(slices.Compact(ids)) != 1 {
			t.Errorf("operations %q differ", ids)
		}
		f.after(5 * time.Millisecond)
		f.expect("False/RebootFailed/reboot was not issued within the issuance timeout")
		if !f.deleting() || f.ended(providerError) != 1 {
			t.Error("the NodeClaim is not deleted, or not counted")
		}
	})
	t.Run("what the cache still has is not rebooted", func(t *testing.T) {
		cancel := func(c *v1.NodeClaim, now time.Time) {
			condition.For(c, now).False(v1.ConditionTypeRebooting, "Cancelled", "")
		}
		for name, change := range map[string]func(c *v1.NodeClaim, now time.Time){
			"a request that was cancelled": cancel,
			"a reboot that failed": func(c *v1.NodeClaim, now time.Time) {
				condition.For(c, now).False(v1.ConditionTypeRebooting, v1.RebootReasonFailed, "")
			},
			"a reboot that the cloud accepted": func(c *v1.NodeClaim, now time.Time) {
				condition.For(c, now).TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonIssued, "")
			},
			"a request that another one follows": func(c *v1.NodeClaim, now time.Time) {
				cancel(c, now)
				condition.For(c, now.Add(time.Second)).TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, "")
			},
		} {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, bare, func(f *fixture) { f.claim.Annotations[v1.RebootPreBootIDAnnotationKey] = "boot-1" })
				current := f.Freeze(f.claim)
				fakecluster.Change(f.Cluster, f.claim, func(c *v1.NodeClaim) { change(c, f.Time.Now()) })
				_, _ = f.Try(f.r, f.claim) // writes from the cache may fail
				current()
				if calls := f.Provider.Calls("Reboot"); calls != 0 {
					t.Errorf("rebooted %d times", calls)
				}
			})
		}
	})
	t.Run("another reboot is another operation", func(t *testing.T) {
		f := newFixture(t, bare)
		f.pass()
		f.boots("boot-2", corev1.ConditionTrue)
		f.after(time.Minute)
		f.expect(isSucceeded)
		fakecluster.Change(f.Cluster, f.claim, func(c *v1.NodeClaim) {
			condition.For(c, f.Time.Now()).TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, "again")
		})
		f.after(5 * time.Second)
		f.expect("True/RebootIssued/again")
		if ids := f.Provider.Reboots(); len(ids) != 2 || ids[0] == ids[1] {
			t.Errorf("operations %q", ids)
		}
	})
}

func TestNodeThatDoesNotReturn(t *testing.T) {
	t.Attr("covers", "N064 N065")
	for name, node := range map[string]func(*fixture){
		"it never boots":            func(*fixture) {},
		"it boots and is not ready": func(f *fixture) { f.boots("boot-2", corev1.ConditionUnknown) },
		"it is gone": func(f *fixture) {
			f.Delete(fakecluster.Change(f.Cluster, f.node, func(n *corev1.Node) { n.Finalizers = nil }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, bare)
			f.pass()
			node(f)
			if got := f.after(20*time.Minute - 5*time.Second); got != requeue.After(5*time.Second) {
				t.Errorf("result %v, want to look again after 5s", got)
			}
			f.expect(isIssued)
			f.after(5 * time.Second)
			f.expect("False/RebootFailed/node did not recover within the observation window")
			if !f.deleting() || f.ended(recoveryTimeout) != 1 {
				t.Error("the NodeClaim is not deleted, or not counted")
			}
			if deadline, _ := f.annotation(v1.NodeClaimTerminationTimestampAnnotationKey); deadline != f.Time.Now().Format(time.RFC3339) {
				t.Errorf("deadline %q, want now", deadline)
			}
		})
	}
	t.Run("it was never initialized before", func(t *testing.T) {
		f := newFixture(t, bare, func(f *fixture) {
			condition.For(f.claim, f.requested).Unknown(v1.ConditionTypeInitialized, "NodeNotReady", "")
		})
		f.after(time.Hour)
		f.after(19 * time.Minute)
		f.expect(isIssued)
	})
	t.Run("without a bound nothing tightens the deadline", func(t *testing.T) {
		f := newFixture(t)
		f.after(5 * time.Second)
		f.after(time.Hour)
		if _, ok := f.annotation(v1.NodeClaimTerminationTimestampAnnotationKey); ok || !f.deleting() {
			t.Error("a deadline is set, or the NodeClaim is not deleted")
		}
	})
	t.Run("an earlier deadline stays", func(t *testing.T) {
		const past = "2020-01-01T00:00:00Z"
		f := newFixture(t, bare, func(f *fixture) { f.claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey] = past })
		f.pass()
		f.after(time.Hour)
		if deadline, _ := f.annotation(v1.NodeClaimTerminationTimestampAnnotationKey); deadline != past {
			t.Errorf("deadline %q", deadline)
		}
	})
}

func TestMissingNode(t *testing.T) {
	t.Attr("covers", "N064")
	f := newFixture(t, func(f *fixture) { f.node = nil })
	if got := f.pass(); got != requeue.After(15*time.Second) {
		t.Errorf("result %v, want to look again after 15s", got)
	}
	if got := f.after(5*time.Minute - time.Second); got != requeue.After(time.Second) {
		t.Errorf("result %v, want to look again after 1s", got)
	}
	f.after(time.Second)
	f.expect("False/RebootFailed/reboot was not issued within the issuance timeout")
	if !f.deleting() || f.Provider.Calls("Reboot") != 0 || f.ended(providerError) != 1 {
		t.Error("the NodeClaim is not deleted, rebooted, or not counted")
	}
}

// TestRestartAnywhere fails each write and each call of a reboot in turn, and replaces the controller after it, as after a crash. The
// result is always the same.
func TestRestartAnywhere(t *testing.T) {
	t.Attr("covers", "N061 N066")
	run := func(t *testing.T, failure func(*fixture) func(string, runtime.Object) error, fails bool) (failed int) {
		f := newFixture(t, bounded("1s"))
		f.Provider.OnReboot = func(*v1.NodeClaim) {
			if !fails {
				f.boots("boot-2", corev1.ConditionTrue)
			}
		}
		inner := failure(f)
		f.Fail = func(op string, obj runtime.Object) error {
			err := inner(op, obj)
			if err != nil {
				failed++
			}
			return err
		}
		f.Time.Step(5 * time.Second)
		for range 20 {
			if _, err := f.Try(f.r, f.claim); err != nil || failed == 1 {
				failed++ // only once
				f.restart()
			}
			if fails {
				f.Time.Step(10 * time.Minute)
			}
		}
		f.Fail = nil
		want, result := isSucceeded, succeeded
		if fails {
			want, result = "False/RebootFailed/node did not recover within the observation window", recoveryTimeout
		}
		f.expect(want)
		if f.deleting() != fails || f.ended(result) != 1 || f.Count("karpenter_nodes_reboots_total") != 1 {
			t.Errorf("deleted: %v, counted %v times", f.deleting(), f.Count("karpenter_nodes_reboots_total"))
		}
		if node := fakecluster.Must(f.Cluster, f.node); tainted(node) || node.Labels[v1.NodeInitializedLabelKey] != "" {
			t.Errorf("taints %v, labels %v", node.Spec.Taints, node.Labels)
		}
		if got := len(slices.Compact(f.Provider.Reboots())); got != 1 {
			t.Errorf("%d operations, want one", got)
		}
		return failed
	}
	for _, fails := range []bool{false, true} {
		for _, kind := range []struct {
			op   string
			like runtime.Object
		}{{"patch", &v1.NodeClaim{}}, {"patch", &corev1.Node{}}, {"patch-status", &v1.NodeClaim{}}, {"delete", &v1.NodeClaim{}}, {"get", &corev1.Node{}}, {"list", &corev1.PodList{}}} {
			for _, err := range []error{errOnFire, fakecluster.Conflict()} {
				for n := 1; ; n++ {
					more := false
					t.Run(fmt.Sprintf("%s %T %d %v fails %v", kind.op, kind.like, n, err != errOnFire, fails), func(t *testing.T) { //nolint:errorlint // identity
						more = run(t, func(*fixture) func(string, runtime.Object) error { return failOnce(n, kind.op, kind.like, err) }, fails) > 0
					})
					if !more || n > 30 || t.Failed() {
						break
					}
				}
			}
		}
	}
}

// TestRestartAfterTheBoot finds the reboot done: the process ended between the call of the provider and its record.
func TestRestartAfterTheBoot(t *testing.T) {
	t.Attr("covers", "N061")
	f := newFixture(t, bare)
	f.Fail = fakecluster.Always("patch-status", f.claim, errOnFire)
	if _, err := f.Try(f.r, f.claim); !errors.Is(err, errOnFire) {
		t.Fatal(err)
	}
	f.Fail = nil
	f.boots("boot-2", corev1.ConditionFalse)
	f.restart()
	f.after(time.Hour)
	f.expect(isIssued)
	if f.Provider.Calls("Reboot") != 1 {
		t.Error("a node that has booted is rebooted again")
	}
}

func TestRestartResetsTheIssuanceTimer(t *testing.T) {
	t.Attr("covers", "N061 N064")
	f := newFixture(t, bare)
	f.Provider.RebootErr = errOnFire
	_, _ = f.Try(f.r, f.claim)
	f.Time.Step(4 * time.Minute)
	f.restart()
	for range 2 {
		_, _ = f.Try(f.r, f.claim)
		f.Time.Step(4 * time.Minute)
	}
	f.expect(isRequested)
	f.pass()
	f.expect("False/RebootFailed/reboot was not issued within the issuance timeout")
}

// TestNewRequestHasItsOwnTime requests a reboot again before the controller has seen that the last one was cancelled.
func TestNewRequestHasItsOwnTime(t *testing.T) {
	f := newFixture(t, bare)
	f.Provider.RebootErr = errOnFire
	_, _ = f.Try(f.r, f.claim)
	f.Time.Step(4 * time.Minute)
	fakecluster.Change(f.Cluster, f.claim, func(c *v1.NodeClaim) {
		condition.For(c, f.Time.Now()).False(v1.ConditionTypeRebooting, "Cancelled", "")
		condition.For(c, f.Time.Now()).TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, "again")
	})
	for range 2 {
		_, _ = f.Try(f.r, f.claim)
		f.Time.Step(4 * time.Minute)
	}
	f.expect("True/RebootRequested/again")
}

// TestStaleBootID reads the boot ID of a Node that has just booted by itself, which the cache does not show yet.
func TestStaleBootID(t *testing.T) {
	f := newFixture(t, bare, func(f *fixture) { f.node.Spec.Taints = []corev1.Taint{v1.RebootingNoScheduleTaint()} })
	defer f.Freeze(f.node)()
	f.boots("boot-1b", corev1.ConditionTrue)
	f.pass()
	f.expect(isIssued)
	if id, _ := f.annotation(v1.RebootPreBootIDAnnotationKey); id != "boot-1b" {
		t.Errorf("the boot ID on record is %q", id)
	}
}

// wantCleaned runs a pass, and fails the test unless what a reboot leaves is gone.
func wantCleaned(t *testing.T, f *fixture) {
	t.Helper()
	f.pass()
	node := fakecluster.Must(f.Cluster, f.node)
	if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != "other" {
		t.Errorf("taints %v", node.Spec.Taints)
	}
	if got := fakecluster.Must(f.Cluster, f.claim).Annotations; len(got) != 0 {
		t.Errorf("annotations %v", got)
	}
	if f.deleting() {
		t.Error("the NodeClaim is deleted")
	}
}

// TestLeftovers cleans up what others left: another version, or a user who cancels a reboot.
func TestLeftovers(t *testing.T) {
	t.Attr("covers", "N053 N539")
	leftover := func(f *fixture) {
		bounded("10m")(f)
		condition.For(f.claim, f.requested).False(v1.ConditionTypeRebooting, "Cancelled", "")
		f.claim.Annotations[v1.RebootPreBootIDAnnotationKey] = "boot-1"
		f.node.Spec.Taints = []corev1.Taint{{Key: "other", Effect: corev1.TaintEffectNoSchedule}, v1.RebootingNoScheduleTaint()}
	}
	for name, change := range map[string]func(*fixture){
		"the condition is False": func(*fixture) {},
		"there is no condition":  func(f *fixture) { condition.For(f.claim, f.requested).Clear(v1.ConditionTypeRebooting) },
	} {
		t.Run(name, func(t *testing.T) { wantCleaned(t, newFixture(t, leftover, change)) })
	}
	t.Run("evictions end", func(t *testing.T) {
		f := newFixture(t)
		f.Add(f.Pod("web", "a"))
		f.pass()
		if f.evictions.Len() != 1 {
			t.Fatal("the pod is not evicted")
		}
		fakecluster.Change(f.Cluster, f.claim, func(c *v1.NodeClaim) {
			condition.For(c, f.Time.Now()).False(v1.ConditionTypeRebooting, "Cancelled", "")
		})
		f.pass()
		if f.evictions.Len() != 0 {
			t.Error("the pod is still evicted")
		}
	})
	t.Run("a bound that is written before its request stays", func(t *testing.T) {
		f := newFixture(t, bounded("10m"), func(f *fixture) {
			condition.For(f.claim, f.requested).False(v1.ConditionTypeRebooting, v1.RebootReasonSucceeded, "")
		})
		f.pass()
		if got, _ := f.annotation(v1.RebootTerminationGracePeriodAnnotationKey); got != "10m" {
			t.Errorf("the bound is %q", got)
		}
	})
}
