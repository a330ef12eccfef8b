package buffer

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
)

// Replicas returns the number of chunks of a buffer. requests are those of one chunk.
//
// Of a fixed number and a percentage the larger one counts. Limits are an upper bound; without number and percentage there are as
// many chunks as they allow. A percentage of a workload that is scaled to zero is zero, whatever the limits.
func Replicas(spec v1beta1.CapacityBufferSpec, c Chunk, requests corev1.ResourceList) int32 {
	var wanted int64
	given := false
	if spec.Replicas != nil {
		wanted, given = max(int64(*spec.Replicas), 0), true
	}
	if spec.Percentage != nil && c.Workload != nil {
		wanted, given = max(wanted, share(int64(*c.Workload), int64(*spec.Percentage))), true
	}
	ceiling, limited := fits(spec.Limits, requests)
	switch {
	case !given && !limited:
		return 0
	case !given:
		wanted = ceiling
	case limited:
		wanted = min(wanted, ceiling)
	}
	return int32(min(wanted, math.MaxInt32))
}

// share is the percentage of n, rounded up.
func share(n, percentage int64) int64 {
	if n <= 0 || percentage <= 0 {
		return 0
	}
	return (n*percentage + 99) / 100
}

// fits is how many chunks stay below limits; limited is false when no resource of the chunk is limited.
func fits(limits, requests corev1.ResourceList) (n int64, limited bool) {
	n = math.MaxInt64
	for name, limit := range limits {
		request, ok := requests[name]
		if !ok || request.Sign() <= 0 {
			continue
		}
		limited = true
		n = min(n, quotient(limit, request))
	}
	return n, limited
}

// quotient is how often divisor fits into q, counted in thousandths, or in whole units where thousandths would overflow.
func quotient(q, divisor resource.Quantity) int64 {
	if q.Sign() <= 0 {
		return 0
	}
	const most = math.MaxInt64 / 1000
	if q.CmpInt64(most) < 0 && divisor.CmpInt64(most) < 0 {
		return q.MilliValue() / divisor.MilliValue()
	}
	return whole(q) / max(whole(divisor), 1)
}

// whole is q rounded up, at most what an int64 holds.
func whole(q resource.Quantity) int64 {
	if q.CmpInt64(math.MaxInt64) >= 0 {
		return math.MaxInt64
	}
	return q.Value()
}
