package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-anew/karpenter/test/poll"
	"github.com/karpenter-anew/karpenter/test/process"
)

const (
	// passDeadline is how long a pass may take: the limit of the solver, and some seconds to gather and to act on the plan.
	passDeadline = 65 * time.Second
	// messageLimit is the length of a message that leaves the controller, in bytes: of an event, or of a field of the log.
	messageLimit = 1024
	// maxInvalid is how many NodeClaims the API server may refuse as invalid: what no check foresaw is planned otherwise at once.
	maxInvalid = 5
	// measurePeriod is how often memory and passes are looked at.
	measurePeriod = 250 * time.Millisecond
)

// result is what an attack did to others.
type result struct {
	mu       sync.Mutex
	findings []string
	// waited is how long each wave of honest pods took to run.
	waited []time.Duration
	// steps are what it was spent on, wave by wave.
	steps []steps
	// memory is the most resident memory, in bytes; pass the longest pass; message the longest message, in bytes.
	memory  int64
	pass    time.Duration
	message int
}

// String is one line of figures.
func (r *result) String() string {
	var waits []string
	for i, w := range r.waited {
		waits = append(waits, fmt.Sprintf("%.1f (%s)", w.Seconds(), r.steps[i]))
	}
	return fmt.Sprintf("honest pods ran after %s s; %d MiB, longest pass %.2f s, longest message %d bytes",
		strings.Join(waits, ", "), r.memory>>20, r.pass.Seconds(), r.message)
}

func (r *result) found(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.findings, text) {
		r.findings = append(r.findings, text)
	}
}

// watch measures the controller until stop is called. It cancels the attack if the controller ends or grows out of all bounds.
func watch(ctx context.Context, c *cluster, r *result, cancel context.CancelCauseFunc) (stop func()) {
	return poll.Every(ctx, measurePeriod, func(ctx context.Context) {
		if c.controller.Ended() {
			r.found("the controller ended: %s", c.controller.State())
			cancel(errHurt)
			return
		}
		memory, err := peakMemory(c.controller.ID())
		if err != nil {
			return // it is ending
		}
		age := oldestPass(ctx, c.ports[0])
		r.mu.Lock()
		r.memory, r.pass = max(r.memory, memory), max(r.pass, age)
		r.mu.Unlock()
		if memory > memoryAbort {
			cancel(errHurt)
		}
	})
}

// peakMemory is the most resident memory that a process has had, in bytes.
func peakMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if amount, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(amount)[0], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no peak of its memory", pid)
}

// oldestPass is how long the solver has been running, 0 if it is not.
func oldestPass(ctx context.Context, port int) time.Duration {
	body, err := process.Get(ctx, port, "/metrics")
	if err != nil {
		return 0
	}
	var oldest float64
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "karpenter_scheduler_unfinished_work_seconds{") {
			fields := strings.Fields(line)
			age, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			if err == nil {
				oldest = max(oldest, age)
			}
		}
	}
	return time.Duration(oldest * float64(time.Second))
}

// judge checks what holds under every attack, from the log and the events of the controller.
func (r *result) judge(ctx context.Context, c *cluster) {
	events, err := c.events(ctx)
	if err != nil {
		r.found("reading events: %v", err)
	}
	for i := range events {
		if e := &events[i]; e.Source.Component == "karpenter" {
			r.bound(len(e.Message), "an event "+e.Reason)
		}
	}
	log, err := os.Open(c.log.Name())
	if err != nil {
		r.found("reading the log: %v", err)
		return
	}
	defer func() { _ = log.Close() }()
	r.readLog(log)
	if r.memory > memoryLimit {
		r.found("the controller used %d MiB; %d are acceptable", r.memory>>20, int64(memoryLimit)>>20)
	}
	if r.pass > passDeadline {
		r.found("a pass took %s; %s are acceptable", r.pass, passDeadline)
	}
}

// acceptable is how long a wave of honest pods may take until all run, and the part of it until their nodes are ready.
type acceptable struct{ ran, nodes time.Duration }

// judgeWave checks how long a wave of honest pods took, and the part of the controller.
func (r *result) judgeWave(number, pods int, took time.Duration, of steps, within acceptable) {
	if took > within.ran {
		r.found("wave %d of %d honest pods ran after %.1f s; %.1f s are acceptable. %s", number, pods, took.Seconds(), within.ran.Seconds(), of.explain())
	}
	if of.nodes > within.nodes {
		r.found("nodes for wave %d of %d honest pods were ready %.1f s after kube-scheduler had found none; %.1f s are acceptable: look at the controller",
			number, pods, of.nodes.Seconds(), within.nodes.Seconds())
	}
}

// bound records the length of a message.
func (r *result) bound(length int, of string) {
	r.message = max(r.message, length)
	if length > messageLimit {
		r.found("%s has more than %d bytes", of, messageLimit)
	}
}

// readLog looks for panics, refused NodeClaims, long messages and long passes.
func (r *result) readLog(log io.Reader) {
	invalid := 0
	defer func() {
		if invalid > maxInvalid {
			r.found("the API server refused NodeClaims as invalid in %d passes", invalid)
		}
	}()
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadBytes('\n')
		for _, crash := range []string{"panic:", "fatal error:", "Observed a panic"} {
			if bytes.Contains(line, []byte(crash)) {
				r.found("the controller logs: %.200s", line)
			}
		}
		if bytes.Contains(line, []byte("NodeClaim.karpenter.sh")) && bytes.Contains(line, []byte("is invalid")) {
			invalid++
		}
		var record map[string]any
		if json.Unmarshal(line, &record) == nil {
			for key, value := range record {
				if text, ok := value.(string); ok && key != "stacktrace" {
					r.bound(len(text), fmt.Sprintf("%q of log line %.100q", key, record["message"]))
				}
			}
			if took, ok := record["duration"].(string); ok && record["message"] == "planned" {
				if d, err := time.ParseDuration(took); err == nil {
					r.pass = max(r.pass, d)
				}
			}
		}
		if err != nil {
			return
		}
	}
}
