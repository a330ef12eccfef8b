package explain

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// awaiting makes conditions of web-2 those of a NodeClaim that waits for the last of them since a time before noon.
func awaiting(before time.Duration, reached ...metav1.Condition) func([]client.Object) {
	return change("web-2", func(c *v1.NodeClaim) {
		for i := range reached {
			reached[i].LastTransitionTime = metav1.NewTime(noon().Add(-before))
		}
		c.Status.Conditions = reached
	})
}

// nodeless removes the Node of web-2.
func nodeless(objects []client.Object) {
	change("web-2", func(c *v1.NodeClaim) { c.Status.NodeName = "" })(objects)
	change("node-2", func(n *corev1.Node) { n.Name, n.Spec.ProviderID, n.Labels = "other", "kwok://other", nil })(objects)
}

// TestArrival: for a node that is not ready for pods, the condition of its NodeClaim says what it waits for, and the controller gives it a time limit.
func TestArrival(t *testing.T) {
	is := func(kind, status, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message}
	}
	launched, registered := is("Launched", "True", "Launched", ""), is("Registered", "True", "Registered", "")
	label := func(key string) func([]client.Object) {
		return change("node-2", func(n *corev1.Node) { delete(n.Labels, key) })
	}
	failed := is("Launched", "Unknown", "LaunchFailed", "creating instance: not authorized")
	for name, c := range map[string]struct {
		changes changes
		want    string
	}{
		"its launch fails": {changes{nodeless, awaiting(time.Minute, failed)}, `  not disrupted: nodeclaim does not have an associated node
    Launched is Unknown since 2026-01-02T11:59:00Z: LaunchFailed: creating instance: not authorized
    until 2026-01-02T12:04:00Z
    what would help: Correct what the launch fails for: the controller retries it, and deletes the NodeClaim if it has not launched after 5m.
`},
		"its launch has failed for long": {changes{nodeless, awaiting(time.Hour, failed)}, `  not disrupted: nodeclaim does not have an associated node
    Launched is Unknown since 2026-01-02T11:00:00Z: LaunchFailed: creating instance: not authorized; the time limit of 5m ended at 2026-01-02T11:05:00Z
    what would help: Correct what the launch fails for. A controller that is running deletes the NodeClaim: look in its log if it stays.
`},
		"no controller has launched it": {changes{nodeless, awaiting(time.Minute), change("web-2", func(c *v1.NodeClaim) {
			c.CreationTimestamp = metav1.NewTime(noon().Add(-time.Minute))
		})}, `  not disrupted: nodeclaim does not have an associated node
    Launched is Unknown since 2026-01-02T11:59:00Z: AwaitingReconciliation: object is awaiting reconciliation
    until 2026-01-02T12:04:00Z
    what would help: Wait for the launch: the controller deletes the NodeClaim if it has not launched after 5m.
`},
		"it has not registered yet": {changes{nodeless, awaiting(time.Minute, launched, is("Registered", "Unknown", "NodeNotFound", "Node not registered with cluster"))}, `  not disrupted: nodeclaim does not have an associated node
    Registered is Unknown since 2026-01-02T11:59:00Z: NodeNotFound: Node not registered with cluster
    until 2026-01-02T12:14:00Z
    what would help: Wait for the node to register: the controller deletes the NodeClaim if it has not registered after 15m.
`},
		"it should have registered long ago": {changes{nodeless, awaiting(time.Hour, launched, is("Registered", "Unknown", "NodeNotFound", "Node not registered with cluster"))}, `  not disrupted: nodeclaim does not have an associated node
    Registered is Unknown since 2026-01-02T11:00:00Z: NodeNotFound: Node not registered with cluster; the time limit of 15m ended at 2026-01-02T11:15:00Z
    what would help: Look for why the instance does not register, such as its network and its bootstrap log. A controller that is running deletes the NodeClaim: look in its log if it stays.
`},
		"its Node is gone": {changes{nodeless, awaiting(time.Hour, launched, registered)}, `  not disrupted: nodeclaim does not have an associated node
    its Node had registered, and does not exist any more
    what would help: Nothing if its instance is gone: the controller deletes the NodeClaim then. Otherwise look for why the kubelet does not register the Node again.
`},
		"a Node that cannot register": {changes{
			label(v1.NodeRegisteredLabelKey), label(v1.NodeInitializedLabelKey),
			awaiting(time.Minute, launched, is("Registered", "False", "MultipleNodesFound", "Invariant violated, matched multiple nodes")),
		}, `  not disrupted: node isn't initialized nor registered
    Registered is False since 2026-01-02T11:59:00Z: MultipleNodesFound: Invariant violated, matched multiple nodes
    until 2026-01-02T12:14:00Z
    what would help: Nothing: the node cannot register any more, and the controller deletes the NodeClaim after 15m.
`},
		"it lacks a resource": {changes{
			label(v1.NodeInitializedLabelKey),
			awaiting(time.Hour, launched, registered, is("Initialized", "Unknown", "ResourceNotRegistered", `Resource "nvidia.com/gpu" was requested but not registered`)),
		}, `  not disrupted: node isn't initialized
    Initialized is Unknown since 2026-01-02T11:00:00Z: ResourceNotRegistered: Resource "nvidia.com/gpu" was requested but not registered
    what would help: Look at the device plugin that registers the resource on the Node. There is no time limit for the initialization.
`},
		"it waits for what is not known here": {changes{
			label(v1.NodeInitializedLabelKey), awaiting(time.Hour, launched, registered, is("Initialized", "Unknown", "Odd", "")),
		}, `  not disrupted: node isn't initialized
    Initialized is Unknown since 2026-01-02T11:00:00Z: Odd
    what would help: Look at what the Initialized condition of the NodeClaim names. There is no time limit for the initialization.
`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := AboutNodeClaim(t.Context(), shop(t, append(c.changes, quiet)...), "web-2")
			if err != nil {
				t.Fatal(err)
			}
			if text := got.Text(); !strings.HasSuffix(text, c.want) {
				t.Errorf("got:\n%s\nwant at the end:\n%s", text, c.want)
			}
		})
	}
}
