package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/internal/demo"
	"github.com/karpenter-anew/karpenter/test/process"
)

// starter returns a controller whose nth process runs the nth script, or the last one, and how many were started.
func starter(t *testing.T, scripts ...string) (*controller, *atomic.Int32) {
	t.Helper()
	var count atomic.Int32
	c := &controller{out: io.Discard, pause: time.Millisecond}
	c.launch = func(log io.Writer) (*process.Process, error) {
		n := int(count.Add(1))
		return process.Start("/bin/sh", []string{"-c", scripts[min(n, len(scripts))-1]}, os.Environ(), log)
	}
	if err := c.begin(); err != nil {
		t.Fatal(err)
	}
	return c, &count
}

const lost = `echo '{"message":"failed","error":"leader election lost"}'; exit 1`

// TestControllerThatLostItsLeaseIsRestarted, as often as it loses it; in between the demo can stop it in order.
func TestControllerThatLostItsLeaseIsRestarted(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	c, count := starter(t, lost, lost, fmt.Sprintf("trap 'exit 0' TERM; touch %s; while :; do sleep 0.02; done", ready))
	err := demo.Poll(t.Context(), time.Minute, "the third process", func() (bool, error) {
		_, err := os.Stat(ready)
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("%v; %d were started, %v", err, count.Load(), c.Err())
	}
	if err := c.end(); err != nil || count.Load() != 3 {
		t.Errorf("%d processes, error %v, want 3 and an end in order", count.Load(), err)
	}
	<-c.Done()
}

// TestControllerThatFailsIsNotRestarted: a failure is shown instead, and what the demo kills stays dead.
func TestControllerThatFailsIsNotRestarted(t *testing.T) {
	c, count := starter(t, "echo failed; exit 3")
	<-c.Done()
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "3") || count.Load() != 1 || c.killed() {
		t.Errorf("%d processes, error %v, want one that fails", count.Load(), err)
	}
	c, count = starter(t, `echo "leader election lost"; exec sleep 100`)
	if err := c.kill(); err != nil || count.Load() != 1 || !c.killed() {
		t.Errorf("%d processes, error %v, want one that is killed", count.Load(), err)
	}
	<-c.Done()
}
