package observe

import (
	"math"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The values of the termination_mode label.
const (
	TerminationGraceful = "graceful"
	TerminationEventual = "eventual"
	TerminationForceful = "forceful"
)

// TerminationMode is the termination_mode label of a NodeClaim with the given grace period: graceful without one, forceful when it is
// zero or less, eventual otherwise.
func TerminationMode(grace *metav1.Duration) string {
	switch {
	case grace == nil:
		return TerminationGraceful
	case grace.Duration <= 0:
		return TerminationForceful
	default:
		return TerminationEventual
	}
}

// SnakeCase turns CamelCase names, such as consolidation policies and condition types, into label values.
func SnakeCase(name string) string {
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// ResourceType is the resource_type label of a resource name.
func ResourceType(name corev1.ResourceName) string {
	return strings.ReplaceAll(strings.ToLower(string(name)), "-", "_")
}

// ResourceValue is the value of a resource gauge: cpu in cores with milli precision, all others in base units.
func ResourceValue(name corev1.ResourceName, q resource.Quantity) float64 {
	const most = math.MaxInt64 / 1000
	switch {
	case q.CmpInt64(most) > 0:
		return q.AsApproximateFloat64() // as an integer it would overflow
	case name == corev1.ResourceCPU:
		return float64(q.MilliValue()) / 1000
	}
	return float64(q.Value())
}
