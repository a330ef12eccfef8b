package binaries

import (
	"fmt"
	"io"
	"time"
)

// progress estimates how much of the build is done. The estimate rests on how long each program takes on two cores without anything
// compiled before, and on how much faster or slower this computer was so far.
type progress struct {
	total, done float64 // minutes on two cores
	start       time.Time
}

func newProgress(todo []program, now time.Time) *progress {
	p := &progress{start: now}
	for _, one := range todo {
		p.total += one.minutes
	}
	return p
}

// finish records that a program is built.
func (p *progress) finish(one program) { p.done += one.minutes }

// text is the progress while a program is being built since a time.
func (p *progress) text(current program, since, now time.Time) string {
	// A program that takes longer than expected is nearly done, however long it takes.
	share := min(now.Sub(since).Minutes()/(current.minutes*p.slowness(since)), 0.95)
	done := p.done + share*current.minutes
	left := time.Duration((p.total - done) * p.slowness(since) * float64(time.Minute)).Round(10 * time.Second)
	return fmt.Sprintf("%.0f %%, about %s left", 100*done/p.total, left)
}

// slowness is how many times longer than expected the programs took that were done at a time.
func (p *progress) slowness(at time.Time) float64 {
	if p.done == 0 {
		return 1
	}
	return max(at.Sub(p.start).Minutes()/p.done, 0.01)
}

// meter prints how much of a file was copied, now and then.
type meter struct {
	size, copied int64
	start, said  time.Time
	out          io.Writer
	name         string
}

// meterPeriod is the time between two lines.
const meterPeriod = 5 * time.Second

// Write counts bytes.
func (m *meter) Write(p []byte) (int, error) {
	m.copied += int64(len(p))
	now := time.Now()
	if m.said.IsZero() {
		m.said = m.start
	}
	if now.Sub(m.said) < meterPeriod {
		return len(p), nil
	}
	m.said = now
	if m.size <= 0 {
		say(m.out, "reading %s: %d MB", m.name, m.copied>>20)
		return len(p), nil
	}
	left := time.Duration(float64(now.Sub(m.start)) * float64(m.size-m.copied) / float64(m.copied)).Round(time.Second)
	say(m.out, "reading %s: %d %%, about %s left", m.name, 100*m.copied/m.size, left)
	return len(p), nil
}
