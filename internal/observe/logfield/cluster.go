package logfield

import (
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// texts is a list of texts, which is empty, instead of null, without values.
func texts(key string, values []string) slog.Attr {
	if values == nil {
		values = []string{}
	}
	return slog.Any(key, values)
}

// quantities is an object with a quantity for each resource, which is empty, instead of null, without resources.
func quantities(key string, of corev1.ResourceList) slog.Attr {
	if of == nil {
		of = corev1.ResourceList{}
	}
	return slog.Any(key, of)
}

// Texts is a list of texts that only a provider has.
func Texts(key string, values []string) slog.Attr { return texts(key, values) }

// Pods lists pods as namespace/name: the first ones, and how many there are besides.
func Pods(names string) slog.Attr { return slog.String("Pods", names) }

// NodePools lists NodePools by name: the first ones, and how many there are besides.
func NodePools(names string) slog.Attr { return slog.String("NodePools", names) }

// NodeClaims lists NodeClaims by name.
func NodeClaims(names string) slog.Attr { return slog.String("NodeClaims", names) }

// PodCount is a number of pods, virtual pods of capacity buffers included.
func PodCount(n int) slog.Attr { return slog.Int("pods", n) }

// NodeClaimCount is a number of NodeClaims.
func NodeClaimCount(n int) slog.Attr { return slog.Int("nodeclaims", n) }

// NodePoolCount is a number of NodePools.
func NodePoolCount(n int) slog.Attr { return slog.Int("nodepools", n) }

// NodeOverlayCount is a number of NodeOverlays.
func NodeOverlayCount(n int) slog.Attr { return slog.Int("overlays", n) }

// Requests has what the pods of a new node and its DaemonSets request: a quantity for each resource.
func Requests(of corev1.ResourceList) slog.Attr { return quantities("requests", of) }

// Allocatable has what pods can use of a node: a quantity for each resource.
func Allocatable(of corev1.ResourceList) slog.Attr { return quantities("allocatable", of) }

// ProviderID is the ID of an instance, as in the spec of its node.
func ProviderID(id string) slog.Attr { return slog.String("provider-id", id) }

// InstanceType is the instance type of a node.
func InstanceType(name string) slog.Attr { return slog.String("instance-type", name) }

// InstanceTypes lists the instance types that a node may have: the first ones, and how many there are besides.
func InstanceTypes(names string) slog.Attr { return slog.String("instance-types", names) }

// InstanceTypeCount is the number of instance types that a launch may choose from.
func InstanceTypeCount(n int) slog.Attr { return slog.Int("instance-type-count", n) }

// Zone is the zone of a node.
func Zone(name string) slog.Attr { return slog.String("zone", name) }

// Zones lists zones.
func Zones(names []string) slog.Attr { return texts("zones", names) }

// CapacityType is the capacity type of a node: on-demand, spot or reserved.
func CapacityType(name string) slog.Attr { return slog.String("capacity-type", name) }

// Limit is the limit that was reached or is near.
func Limit(n int64) slog.Attr { return slog.Int64("limit", n) }

// Issue is what a consistency check found.
func Issue(text string) slog.Attr { return slog.String("issue", text) }

// TaintKey is the key of a taint.
func TaintKey(key string) slog.Attr { return slog.String("taint.Key", key) }

// TaintEffect is the effect of a taint.
func TaintEffect(effect corev1.TaintEffect) slog.Attr {
	return slog.String("taint.Effect", string(effect))
}

// Condition is the type of the condition of a node because of which it is replaced.
func Condition(name string) slog.Attr { return slog.String("condition", name) }

// ConditionStatus is the status of the condition of a node.
func ConditionStatus(status string) slog.Attr { return slog.String("status", status) }

// ReasonRegex is the expression of a repair policy for the reason of a condition; empty for the default of the policies.
func ReasonRegex(text string) slog.Attr { return slog.String("reason-regex", text) }

// Fallback is true for the repair policy that matches what no other one does.
func Fallback(yes bool) slog.Attr { return slog.Bool("fallback", yes) }

// Action is what a repair policy does with a node, ReplaceNode or RebootNode, or what a message about an instance leads to.
func Action(name string) slog.Attr { return slog.String("action", name) }

// EligibleAt is when the toleration of a repair policy ends, in RFC 3339.
func EligibleAt(at time.Time) slog.Attr { return slog.Time("eligible-at", at) }

// TerminationGracePeriod is how long the pods of a node that is repaired may take to stop.
func TerminationGracePeriod(d time.Duration) slog.Attr {
	return slog.String("termination-grace-period", d.String())
}

// TerminationGracePeriodCondition is the type of the condition whose repair policy sets the termination grace period.
func TerminationGracePeriodCondition(name string) slog.Attr {
	return slog.String("termination-grace-period-condition", name)
}

// RebootEscalated is true for a node that is replaced because reboots did not help.
func RebootEscalated(yes bool) slog.Attr { return slog.Bool("reboot-escalated", yes) }

// ExpireAfter is the age at which a NodeClaim expires.
func ExpireAfter(d time.Duration) slog.Attr { return slog.String("expire-after", d.String()) }

// GracePeriod is the time that a pod had to stop.
func GracePeriod(d time.Duration) slog.Attr { return slog.String("grace-period", d.String()) }

// TerminationTimestamp is when the termination grace period of a NodeClaim ends, in RFC 3339.
func TerminationTimestamp(at string) slog.Attr {
	return slog.String("karpenter.sh/nodeclaim-termination-timestamp", at)
}
