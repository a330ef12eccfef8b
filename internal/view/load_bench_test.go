package view_test

import (
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// processorTime is what the process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkOneViewer is what one viewer of the fleet costs a controller with 5 000 nodes and 100 000 pods that change all the time: the processor
// time of ten states and one analysis, which is as many as a controller makes in ten of its intervals of 2.2 s, for each second of them. Encoding is
// not part of it.
func BenchmarkOneViewer(b *testing.B) {
	const states, interval = 10, 2200 * time.Millisecond
	c := large(b)
	c.state.Rest = states * interval
	v := view.New(c, nil, clock.RealClock{})
	if _, err := v.Pending(b.Context(), time.Time{}); err != nil {
		b.Fatal(err)
	}
	before, rounds := processorTime(b), 0
	for b.Loop() {
		rounds++
		for i := range states {
			c.mu.Lock()
			c.state.Version++
			c.state.Options.Now = c.state.Options.Now.Add(interval)
			c.mu.Unlock()
			if _, err := v.Fleet(b.Context(), time.Time{}); err != nil {
				b.Fatal(err)
			}
			if i == states-1 { // waits for the analysis
				if _, err := v.Pending(b.Context(), time.Time{}); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	seconds := (time.Duration(rounds) * states * interval).Seconds()
	b.ReportMetric(float64((processorTime(b)-before).Milliseconds())/seconds, "cpu-ms/s")
}
