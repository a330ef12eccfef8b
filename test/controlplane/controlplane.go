// Package controlplane starts the local control plane (the launcher in local/) from Go, for the demo and for tests against real components.
//
// The cluster lives as long as the pipe to the launcher is open: it is torn down by Stop, and also when the process that called Start ends in
// any way, kill -9 included.
package controlplane

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// LauncherEnv names the built launcher; `make test` sets it.
const LauncherEnv = "KARPENTER_LOCAL_BIN"

// stopPatience limits the wait for a teardown, which takes less than a second.
const stopPatience = 30 * time.Second

// ControlPlane is a running cluster.
type ControlPlane struct {
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string

	launcher string
	cmd      *exec.Cmd
	stdin    io.Closer
	log      *tail
	done     chan struct{}
	waitErr  error
	stop     sync.Once
}

// Start runs the launcher at this path, or the one that $KARPENTER_LOCAL_BIN names if it is "", and returns when the cluster is ready. The
// launcher's progress goes to log, which may be nil; flags are further ones of its command `up`. If ctx ends before the cluster is ready,
// everything is torn down again.
func Start(ctx context.Context, launcher string, log io.Writer, flags ...string) (*ControlPlane, error) {
	if launcher == "" {
		launcher = os.Getenv(LauncherEnv)
	}
	if launcher == "" {
		return nil, fmt.Errorf("starting the control plane: %s is not set; run through `make test`, or `eval \"$(make env)\"` first", LauncherEnv)
	}
	c := &ControlPlane{launcher: launcher, log: &tail{next: log}, done: make(chan struct{})}
	c.cmd = exec.Command(launcher, append([]string{"up", "--until-stdin-closes"}, flags...)...)
	c.cmd.Stderr = c.log
	// Ctrl-C at the terminal only reaches the caller, which tears down in order.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	ready := make(chan string, 1)
	go func() {
		defer close(c.done)
		scan(stdout, ready)
		c.waitErr = c.cmd.Wait()
	}()
	select {
	case c.Kubeconfig = <-ready:
		return c, nil
	case <-c.done:
		return nil, fmt.Errorf("starting the control plane: %w", c.Err())
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", context.Cause(ctx)), c.Stop())
	}
}

// scan reads the launcher's output to its end and hands over the path of the kubeconfig.
func scan(out io.Reader, ready chan<- string) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if path, ok := strings.CutPrefix(lines.Text(), "KUBECONFIG="); ok {
			select {
			case ready <- path:
			default:
			}
		}
	}
}

// Done is closed when the launcher has ended and the cluster is removed.
func (c *ControlPlane) Done() <-chan struct{} { return c.done }

// Err is why the launcher failed; it is nil while it runs and after exit code 0.
func (c *ControlPlane) Err() error {
	select {
	case <-c.done:
	default:
		return nil
	}
	if c.waitErr == nil {
		return nil
	}
	return fmt.Errorf("the launcher ended: %w\n%s", c.waitErr, c.log.text())
}

// RestartAPIServer kills the API server, keeps it down for the given time, starts it again on the same port and data, and returns when it is
// ready. Clients keep their kubeconfig.
func (c *ControlPlane) RestartAPIServer(ctx context.Context, down time.Duration) error {
	cmd := exec.CommandContext(ctx, c.launcher, "restart-apiserver", "--workdir", filepath.Dir(c.Kubeconfig), "--down", down.String())
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("restarting the API server: %w\n%s", err, text)
	}
	return nil
}

// Stop removes the cluster and returns when it is removed completely. It may be called more than once.
func (c *ControlPlane) Stop() error {
	c.stop.Do(func() { _ = c.stdin.Close() })
	select {
	case <-c.done:
		return c.Err()
	case <-time.After(stopPatience):
		_ = c.cmd.Process.Kill()
		return fmt.Errorf("stopping the control plane: the launcher did not end within %s and was killed; the next one cleans up", stopPatience)
	}
}

// tail forwards what is written to it and keeps the last part.
type tail struct {
	mu   sync.Mutex
	next io.Writer
	last []byte
}

// tailSize is enough for the last lines of every component.
const tailSize = 16 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if len(t.last) > tailSize {
		t.last = bytes.Clone(t.last[len(t.last)-tailSize:])
	}
	if t.next != nil {
		return t.next.Write(p)
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.last))
}
