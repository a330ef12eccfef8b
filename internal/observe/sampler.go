package observe

import (
	"hash/fnv"
	"log/slog"
	"sync/atomic"
	"time"
)

// The limits of a second for the same line.
const (
	sampleFirst = 100
	sampleEvery = 100
	samplerSize = 4096
)

// sampler bounds how many lines with the same level and message are written in a second: the first hundred, then every hundredth. Lines
// share a counter when their hashes collide, which keeps memory constant. The zero value is ready.
type sampler struct {
	counters [samplerSize]sampleCounter
}

// sampleCounter counts the lines of one second, given as seconds since 1970.
type sampleCounter struct {
	second atomic.Int64
	lines  atomic.Int64
}

// keep reports whether the line is written.
func (s *sampler) keep(at time.Time, level slog.Level, message string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(message))
	slot := (h.Sum32() ^ uint32(int32(level))*0x9e3779b1) % samplerSize
	c := &s.counters[slot]
	if second := at.Unix(); c.second.Swap(second) != second {
		c.lines.Store(0)
	}
	n := c.lines.Add(1)
	return n <= sampleFirst || (n-sampleFirst)%sampleEvery == 0
}
