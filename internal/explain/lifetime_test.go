package explain

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestLifetime: what ends a node comes before the reasons for which it may be disrupted.
func TestLifetime(t *testing.T) {
	claim := func(f func(*v1.NodeClaim)) changes { return changes{quiet, change("web-1", f)} }
	gone := func(c *v1.NodeClaim) {
		c.DeletionTimestamp, c.Finalizers = new(metav1.NewTime(noon().Add(-time.Hour))), []string{v1.TerminationFinalizer}
	}
	const unlimited = "without a terminationGracePeriod, pods with karpenter.sh/do-not-disrupt and PodDisruptionBudgets hold the drain\n"
	for name, c := range map[string]struct {
		changes changes
		repair  bool
		want    string
	}{
		"expires": {claim(func(c *v1.NodeClaim) { c.Spec.ExpireAfter.Duration = new(720 * time.Hour) }), false, "  Expires at 2026-02-01T03:00:00Z: its deletion starts then, whatever budgets and annotations of the node say; " + unlimited},
		"expires, with a grace period": {claim(func(c *v1.NodeClaim) {
			c.Spec.ExpireAfter.Duration, c.Spec.TerminationGracePeriod = new(720*time.Hour), &metav1.Duration{Duration: time.Hour}
		}), false, "  Expires at 2026-02-01T03:00:00Z: its deletion starts then, whatever budgets and annotations of the node say; its terminationGracePeriod limits the drain to 1h0m0s\n"},
		"never expires": {claim(func(*v1.NodeClaim) {}), false, ""},
		"has expired": {claim(func(c *v1.NodeClaim) {
			c.Spec.ExpireAfter.Duration = new(time.Hour)
		}), false, "  Expired at 2026-01-02T04:00:00Z: its deletion starts at once, whatever budgets and annotations of the node say; " + unlimited},
		"is being deleted": {claim(gone), false, `  Being deleted since 2026-01-02T11:00:00Z: without a terminationGracePeriod, it stays until its pods are gone
    its drain waits: pdb prevents pod evictions (PodDisruptionBudget=[shop/front])
`},
		"is being deleted with a grace period": {claim(func(c *v1.NodeClaim) {
			gone(c)
			c.Spec.TerminationGracePeriod = &metav1.Duration{Duration: 2 * time.Hour}
		}), false, `  Being deleted since 2026-01-02T11:00:00Z, at the latest until 2026-01-02T13:00:00Z, when its terminationGracePeriod ends
    its drain waits: pdb prevents pod evictions (PodDisruptionBudget=[shop/front])
`},
		"its drain has a deadline": {claim(func(c *v1.NodeClaim) {
			gone(c)
			c.Annotations = map[string]string{v1.NodeClaimTerminationTimestampAnnotationKey: "2026-01-02T12:30:00Z"}
		}), false, `  Being deleted since 2026-01-02T11:00:00Z, at the latest until 2026-01-02T12:30:00Z, when its terminationGracePeriod ends
    its drain waits: pdb prevents pod evictions (PodDisruptionBudget=[shop/front])
`},
		"is being disrupted": {claim(func(c *v1.NodeClaim) {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: v1.ConditionTypeDisruptionReason, Status: metav1.ConditionTrue, Reason: "Underutilized"})
		}), false, "  The controller is disrupting it already (Underutilized)\n"},
		"is drained for a reboot": {claim(rebooting(v1.RebootReasonRequested, "kernel update", nil)), false, `  Rebooting since 2026-01-02T11:55:00Z (kernel update): it is drained first, until its pods are gone: the annotation karpenter.sh/reboot-termination-grace-period would limit that
    its drain waits: pdb prevents pod evictions (PodDisruptionBudget=[shop/front])
`},
		"is drained for a reboot, with a limit": {
			claim(rebooting(v1.RebootReasonRequested, "", annotations{v1.RebootTerminationGracePeriodAnnotationKey: "10m"})), false,
			`  Rebooting since 2026-01-02T11:55:00Z: it is drained first, until its pods are gone, at the latest until 2026-01-02T12:05:00Z
    its drain waits: pdb prevents pod evictions (PodDisruptionBudget=[shop/front])
`,
		},
		"is drained for a reboot, past the limit": {
			claim(rebooting(v1.RebootReasonRequested, "", annotations{v1.RebootTerminationGracePeriodAnnotationKey: "2m"})), false,
			"  Rebooting since 2026-01-02T11:55:00Z: the drain has ended, and the cloud has to accept the reboot\n",
		},
		"is drained for a reboot, with a limit that is not a duration": {
			claim(rebooting(v1.RebootReasonRequested, "", annotations{v1.RebootTerminationGracePeriodAnnotationKey: "ten"})), false,
			"  Rebooting since 2026-01-02T11:55:00Z: it fails: the annotation karpenter.sh/reboot-termination-grace-period is \"ten\": set it to a duration such as 10m, or to 0s, and request the reboot again\n",
		},
		"was drained for a reboot": {
			claim(rebooting(v1.RebootReasonRequested, "", annotations{v1.RebootPreBootIDAnnotationKey: "a"})), false,
			"  Rebooting since 2026-01-02T11:55:00Z: the drain has ended, and the cloud has to accept the reboot\n",
		},
		"returns from a reboot": {
			claim(rebooting(v1.RebootReasonIssued, "", annotations{v1.RebootPreBootIDAnnotationKey: "a"})), false,
			"  Rebooting since 2026-01-02T11:55:00Z: the cloud has accepted the reboot, and the node has to be ready with another boot ID until 2026-01-02T12:16:00Z; otherwise its NodeClaim is deleted\n",
		},
		"is not ready": {unready(claim(func(*v1.NodeClaim) {})), false, "  Not ready since 2026-01-02T10:00:00Z (KubeletNotReady disk is full): it is repaired only with the feature gate NodeRepair\n"},
		"is not ready, with node repair": {
			unready(claim(func(*v1.NodeClaim) {})), true,
			"  Not ready since 2026-01-02T10:00:00Z (KubeletNotReady disk is full): see Unhealthy for its repair\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := shop(t, c.changes...)
			q.Options.NodeRepair = c.repair
			got, err := AboutNode(context.Background(), q, "node-1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Lifetime.text()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if text := got.Text(); !strings.Contains(text, "to move\n"+c.want) {
				t.Errorf("the answer does not begin with it:\n%s", text)
			}
		})
	}
}

type annotations map[string]string

// rebooting is a reboot that was requested five minutes ago, and that the cloud has accepted a minute later if the reason says so.
func rebooting(reason, message string, set annotations) func(*v1.NodeClaim) {
	return func(c *v1.NodeClaim) {
		c.Annotations = set
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type: v1.ConditionTypeRebooting, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(noon().Add(-5 * time.Minute)),
		})
		if reason != v1.RebootReasonIssued {
			return
		}
		c.Status.Conditions = slices.DeleteFunc(c.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1.ConditionTypeInitialized })
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type: v1.ConditionTypeInitialized, Status: metav1.ConditionUnknown, Reason: "Rebooting", LastTransitionTime: metav1.NewTime(noon().Add(-4 * time.Minute)),
		})
	}
}

// unready adds that the kubelet of node-1 is not ready.
func unready(all changes) changes {
	return append(all, change("node-1", func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: "disk is full",
			LastTransitionTime: metav1.NewTime(noon().Add(-2 * time.Hour)),
		}}
	}))
}
