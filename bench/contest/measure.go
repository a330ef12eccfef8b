package contest

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"
)

// Score is how one contestant did.
type Score struct {
	// Seconds and AllocatedBytes are medians over Runs runs.
	Seconds        float64 `json:"seconds"`
	AllocatedBytes uint64  `json:"allocatedBytes"`
	// CPUSeconds is what all cores together spent, the garbage collector's share included; also a median. On a host
	// that does something else besides, it says more than Seconds.
	CPUSeconds float64 `json:"cpuSeconds"`
	Runs       int     `json:"runs"`
	// PeakResident is the most memory the process held in RAM during the first run, and InputResident what it held just
	// before, which is the input in the contestant's types and the program itself. Both are bytes, and 0 where the system does not
	// report them.
	PeakResident  uint64 `json:"peakResidentBytes"`
	InputResident uint64 `json:"inputResidentBytes"`
	// Nodes is how many would be launched, for DollarsPerHour.
	Nodes          int     `json:"nodes"`
	DollarsPerHour float64 `json:"dollarsPerHour"`
	// Unplaced is how many pods were not placed.
	Unplaced int `json:"unplaced"`
	// LowerBound is dollars an hour that no answer for the same pods can undercut; BoundSeconds is how long it took to prove,
	// once and beside everything else that is measured. Both are 0 for a contestant that proves nothing.
	LowerBound   float64 `json:"lowerBoundPerHour"`
	BoundSeconds float64 `json:"boundSeconds"`
}

// Effort bounds how often a run is repeated: until Budget is spent, at least once and at most Runs times.
type Effort struct {
	Runs   int
	Budget time.Duration
}

// Measure measures c. The heap is collected before each run, so that no run pays for the garbage of another. Memory is that of the whole
// process, so a caller who needs it measures one contestant per process.
func Measure(c Contestant, in Input, effort Effort) (Score, error) {
	var seconds, cpu []float64
	var bytes []uint64
	var score Score
	for spent := time.Duration(0); len(seconds) == 0 || len(seconds) < effort.Runs && spent < effort.Budget; {
		run, err := c.Prepare(in)
		if err != nil {
			return Score{}, fmt.Errorf("preparing %s: %w", c.Name, err)
		}
		first := len(seconds) == 0
		var before, peak uint64
		if first {
			debug.FreeOSMemory()
			resetPeak()
			before, _ = resident()
		}
		cost, err := timed(run)
		if err != nil {
			return Score{}, fmt.Errorf("running %s: %w", c.Name, err)
		}
		spent += cost.wall
		seconds, cpu, bytes = append(seconds, cost.wall.Seconds()), append(cpu, cost.cpu.Seconds()), append(bytes, cost.bytes)
		if !first {
			continue
		}
		_, peak = resident()
		if score, err = judge(in, run); err != nil {
			return Score{}, fmt.Errorf("judging %s: %w", c.Name, err)
		}
		score.InputResident, score.PeakResident = before, peak
	}
	score.Seconds, score.CPUSeconds, score.AllocatedBytes, score.Runs = median(seconds), median(cpu), median(bytes), len(seconds)
	return score, nil
}

func judge(in Input, run Run) (Score, error) {
	answer, err := run.Answer()
	if err != nil {
		return Score{}, err
	}
	price, err := Price(in, answer)
	return Score{
		Nodes: len(answer.Claims), DollarsPerHour: price, Unplaced: len(in.Pods) - answer.Placed,
		LowerBound: answer.LowerBound, BoundSeconds: answer.BoundTook.Seconds(),
	}, err
}

// cost is what one run took.
type cost struct {
	wall, cpu time.Duration
	bytes     uint64
}

func timed(run Run) (cost, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	spent, start := cpuTime(), time.Now()
	err := run.Solve()
	c := cost{wall: time.Since(start), cpu: cpuTime() - spent}
	runtime.ReadMemStats(&after)
	c.bytes = after.TotalAlloc - before.TotalAlloc
	return c, err
}

// cpuTime is what the process has spent on all cores so far.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func median[T float64 | uint64](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}
