package options

import "math"

// The bounds of the concurrency scale, in cores.
const (
	scaleMinCores = 1
	scaleMaxCores = 60
)

// Scale returns the concurrency for a process that has cpuMillis thousandths of a core: atMin at one core or less, atMax at 60 cores or
// more, linear on whole cores (rounded up) in between. Source: spec, concurrency and rate limits.
func Scale(cpuMillis int64, atMin, atMax int) int {
	cores := math.Ceil(float64(cpuMillis) / 1000)
	slope := float64(atMax-atMin) / (scaleMaxCores - scaleMinCores)
	return min(max(int(slope*(cores-scaleMinCores))+atMin, atMin), atMax)
}

// Bucket returns the rate (per second) and burst of a token bucket whose rate of qps at concurrency atMin grows in proportion to the
// actual concurrency. Source: spec, concurrency and rate limits.
func Bucket(qps, atMin, concurrency int) (rate, burst int) {
	rate = (concurrency*qps + atMin - 1) / atMin
	return rate, 10 * rate
}
