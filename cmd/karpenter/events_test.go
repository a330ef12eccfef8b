package main

import (
	stdcmp "cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha5"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

func exampleNode() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-uid"}}
}

func exampleClaim() *v1.NodeClaim {
	return &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "general-abcde", UID: "claim-uid"}}
}

func examplePool() *v1.NodePool {
	return &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general", UID: "pool-uid"}}
}

// eventsOf are the events of a provider.
func eventsOf(p plugin.Provider) []observe.Event {
	if p.Events == nil {
		return nil
	}
	return p.Events(exampleClaim(), exampleNode(), examplePool())
}

// everyEvent calls each constructor of package observe once, with values that explain themselves in the generated page.
func everyEvent() []observe.Event {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0", UID: "pod-uid"}}
	node := exampleNode()
	claim := exampleClaim()
	pool := examplePool()
	end := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	grace := int64(600)
	score := observe.BalancedScore{Score: 2.8125, Threshold: 0.5, K: 2, Savings: 0.125, Disruption: 0.0444}
	var out []observe.Event
	out = append(out, observe.Nominated(pod, claim.Name, node.Name), observe.FailedScheduling(pod, errors.New("<why>")), observe.NoCompatibleInstanceTypes(pool, true))
	out = append(out, observe.DisruptionBlocked(node, claim, "NotInitialized", "node isn't initialized")...)
	out = append(out, observe.NodePoolDisruptionBlocked(pool, "Empty"), observe.NodePoolDisruptionClosed(pool, "Empty", "<policy, and until when>"),
		observe.DisruptionLaunching(claim, "Underutilized"), observe.DisruptionWaitingReadiness(claim))
	out = append(out, observe.DisruptionTerminating(node, claim, "Empty")...)
	out = append(out, observe.Unconsolidatable(node, claim, "can't replace with a cheaper node")...)
	out = append(out, observe.ConsolidationCandidate(node, claim, "<command>", 1.5)...)
	out = append(out, observe.ConsolidationRejected(node, claim, "<command>", "churn", 0.123)...)
	out = append(out, observe.ConsolidationApproved(node, claim, score)...)
	out = append(out, observe.NodePoolConsolidationApproved(pool, score))
	out = append(out, observe.Evicted(pod, "Drifted"), observe.Disrupted(pod, end, 90*time.Second, &grace), observe.FailedDraining(node, errors.New("3 pods are waiting to be evicted"), ""))
	out = append(out, observe.AwaitingVolumeDetachment(node, []string{"a", "b", "c", "d", "e", "f", "g"}))
	out = append(out, observe.NodeTerminationGracePeriodExpiring(node, end.Format(time.RFC3339)), observe.NodeClaimTerminationGracePeriodExpiring(claim, end.Format(time.RFC3339)))
	out = append(out, observe.FailedTermination(claim, "<why and what to do>"))
	out = append(out, observe.InvalidTerminationTimestamp(claim, "tomorrow"))
	out = append(out, observe.PoolRepairBlocked(node, claim, pool, pool.Name)...)
	out = append(out, observe.RebootObserved(claim, end), observe.RebootFailed(claim, end, "node did not recover within the observation window"))
	issue := observe.NodeShapeIssue(corev1.ResourceMemory, resource.MustParse("8Gi"), resource.MustParse("6Gi"))
	out = append(out, observe.FailedConsistencyCheck(claim, issue), observe.InsufficientCapacity(claim, errors.New("insufficient capacity, <why>")), observe.PodNotLaunched(pod, claim.Name, errors.New("insufficient capacity, <why>")), observe.UnregisteredTaintMissing(claim))
	out = append(out, observe.PreferenceIgnored(pod, `key "karpenter.sh/capacity-type": none of the values ["cheap"] exists: want some of ["on-demand" "spot" "reserved"]`))
	agent := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent", UID: "daemonset-uid"}}
	out = append(out, observe.DaemonSetTooLarge(agent, []string{"general", "spot"}))
	out = append(out, observe.NodePoolProblem(pool, v1.ReasonStaticCapacityDisabled, "spec.replicas is set, and the feature gate StaticCapacity is off: no nodes are launched or removed to keep that number"))
	out = append(out, observe.NodePoolProblem(pool, v1.ReasonNodeLimitBelowReplicas, "spec.replicas is 5, and spec.limits.nodes is 3: no nodes are launched beyond 3; raise limits.nodes to 5 or more, or lower replicas"))
	out = append(out, observe.NodePoolProblem(pool, observe.ReasonInvalidBudget, `spec.disruption.budgets[0]: schedule "@never": want five cron fields or a descriptor such as @daily`))
	out = append(out, observe.NodePoolProblem(pool, observe.ReasonNoCompatibleInstanceTypes, "nodepool requirements filtered out all available instance types: <which requirement>"))
	out = append(out, observe.UnknownRequirementKey(pool, "karpenter.k8s.aws/instance-famly", "karpenter.k8s.aws/instance-family"))
	out = append(out, observe.UnknownLimit(pool, "cpus", `, did you mean "cpu"?`))
	out = append(out, observe.UnsupportedNodeClass(pool, "EC2NodeClass.karpenter.aws", []string{"EC2NodeClass.karpenter.k8s.aws"}, "EC2NodeClass.karpenter.k8s.aws"))
	out = append(out, observe.InvalidDoNotDisruptAnnotation(pod, errors.New(`duration "-5m" must be positive`)), observe.DoNotDisruptUntil(pod, end), observe.DoNotDisruptGracePeriodElapsed(pod))
	old := &v1alpha5.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "general", UID: "provisioner-uid"}}
	out = append(out, observe.LegacyRefused(old, old.UID, "<why>"))
	out = append(out, observe.NodeClassMissing(pool, pool.UID), observe.NodeClassMissing(claim, claim.UID))
	out = append(out, observe.TerminatingOnInterruption(claim, node)...)
	return out
}

func kindOf(e observe.Event) string { return reflect.TypeOf(e.Object).Elem().Name() }

func windowOf(e observe.Event) time.Duration {
	if e.Window == 0 {
		return 2 * time.Minute
	}
	return e.Window
}

func TestEventsMatchTheSpecification(t *testing.T) {
	t.Attr("covers", "W018")
	var got []string
	all := everyEvent()
	for _, p := range providers() {
		all = append(all, eventsOf(p)...)
	}
	for _, e := range all {
		got = append(got, fmt.Sprintf("%s %s %s %s", stdcmp.Or(e.Reason, "(none)"), e.Type, kindOf(e), windowOf(e)))
		if len(e.Dedupe) == 0 {
			t.Errorf("%s on %s is never deduplicated", e.Reason, kindOf(e))
		}
		if limited := e.Reason == "Nominated" || e.Reason == "InsufficientCapacityError" && kindOf(e) == "Pod"; e.Limited != limited {
			t.Errorf("%s: limited is %v", e.Reason, e.Limited)
		}
	}
	if diff := cmp.Diff(readTable(t, "events.txt"), got); diff != "" {
		t.Errorf("events (-specification +code):\n%s", diff)
	}
}

func TestEventsPage(t *testing.T) {
	var page strings.Builder
	page.WriteString("<!-- Generated by: go test ./cmd/karpenter -run TestEventsPage -update -->\n# Events\n\n")
	page.WriteString("Core/v1 Events with source component `karpenter`. An event with the same reason and dedupe values is not repeated within its\n")
	page.WriteString("window. `Nominated`, and `InsufficientCapacityError` of Pods, are limited to 5 per second each, with a burst of 10. Events of\n")
	page.WriteString("cluster-scoped objects are in the namespace `default`.\n")
	writeEvents(&page, everyEvent())
	for _, p := range providers() {
		if events := eventsOf(p); len(events) > 0 {
			fmt.Fprintf(&page, "\n## Cloud provider `%s`\n", p.Name)
			writeEvents(&page, events)
		}
	}
	page.WriteString("\n## Conditions\n")
	changed := observe.ConditionChanged(&v1.NodeClaim{}, metav1.ConditionUnknown, metav1.Condition{Type: "Launched", Status: metav1.ConditionTrue, Reason: "Launched"})
	page.WriteString("\nChanges of status conditions of NodeClaims, NodePools, NodeClasses, Nodes and, with their feature gate, CapacityBuffers are events too,\n")
	page.WriteString("without deduplication. The reason is the type of the condition. `--disable-cluster-state-observability` disables these events.\n")
	page.WriteString("\n| Reason | Type | Example of a message |\n|---|---|---|\n")
	for _, e := range []observe.Event{changed, observe.Finalized(&v1.NodeClaim{}, v1.TerminationFinalizer)} {
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", e.Reason, e.Type, strings.ReplaceAll(e.Message, ">", "&gt;"))
		if len(e.Dedupe) > 0 || e.Type != corev1.EventTypeNormal {
			t.Errorf("%s is no plain event: %+v", e.Reason, e)
		}
	}
	compareWithPage(t, "events.md", page.String())
}

// writeEvents writes a table.
func writeEvents(page *strings.Builder, all []observe.Event) {
	page.WriteString("\n| Reason | Type | Object | Example of a message | Dedupe values | Window |\n|---|---|---|---|---|---|\n")
	for _, e := range all {
		message := strings.NewReplacer("<", "&lt;", ">", "&gt;", "|", "\\|").Replace(e.Message)
		fmt.Fprintf(page, "| `%s` | %s | %s | %s | %s | %s |\n", stdcmp.Or(e.Reason, "(none)"), e.Type, kindOf(e), message, strings.ReplaceAll(strings.Join(e.Dedupe, ", "), "<command>", "command"), windowOf(e))
	}
}
