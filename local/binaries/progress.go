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
	spent       time.Duration
}

func newProgress(todo []program) *progress {
	p := &progress{}
	for _, one := range todo {
		p.total += one.minutes
	}
	return p
}

// compiledBefore is the share of the expected time below which a program was compiled before: how long it took says nothing about the others.
const compiledBefore = 0.1

// finish records that a program is built, and how long it took.
func (p *progress) finish(one program, took time.Duration) {
	if took.Minutes() < compiledBefore*one.minutes {
		p.total -= one.minutes
		return
	}
	p.done += one.minutes
	p.spent += took
}

// text is the progress while a program is being built for so long.
func (p *progress) text(current program, elapsed time.Duration) string {
	share := elapsed.Minutes() / (current.minutes * p.slowness())
	if share >= 1 {
		return fmt.Sprintf("in all more than %.0f %%, this one takes longer than expected", 100*(p.done+0.9*current.minutes)/p.total)
	}
	done := p.done + share*current.minutes
	left := time.Duration((p.total - done) * p.slowness() * float64(time.Minute)).Round(10 * time.Second)
	return fmt.Sprintf("in all %.0f %%, about %s left", 100*done/p.total, left)
}

// slowness is how many times longer than expected the programs took that were compiled.
func (p *progress) slowness() float64 {
	if p.done == 0 {
		return 1
	}
	return p.spent.Minutes() / p.done
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
