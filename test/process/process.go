// Package process runs the built controller as a child process, for end-to-end tests, chaos, the demo and the bench.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a running controller, or one that has ended.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // what Wait returned; read it only when done is closed
}

// Start runs a program with these arguments and environment ("KEY=value"; nil is that of the caller). Its output goes to out, which may be
// nil. The process has its own process group: Ctrl-C at a terminal reaches the caller alone, which stops the controller before its cluster.
func Start(binary string, args, environment []string, out io.Writer) (*Process, error) {
	p := &Process{cmd: exec.Command(binary, args...), done: make(chan struct{})}
	p.cmd.Env = environment
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the controller: %w", err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// ID is the process ID.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Err is why the process failed. It is nil while the process runs and after exit code 0.
func (p *Process) Err() error {
	if !p.Ended() {
		return nil
	}
	return p.err
}

// State is how the process ended; nil while it runs.
func (p *Process) State() *os.ProcessState {
	if !p.Ended() {
		return nil
	}
	return p.cmd.ProcessState
}

// Signaled reports whether a signal ended the process, such as that of Kill.
func (p *Process) Signaled() bool {
	state := p.State()
	if state == nil {
		return false
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// Signal sends a signal. A process that has ended is not an error.
func (p *Process) Signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %s to the controller: %w", s, err)
	}
	return nil
}

// Kill ends the process between any two of its instructions, and returns when it has ended.
func (p *Process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// Terminate sends SIGTERM, as a kubelet does, and waits until the process has ended. It is an error when that takes longer than within:
// the process still runs then. How the process ended is in State and Err.
func (p *Process) Terminate(within time.Duration) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(within):
		return fmt.Errorf("the controller still runs %s after SIGTERM", within)
	}
}

// Get reads an HTTP endpoint of the controller on this host, such as 8081 and "/readyz". It returns the body, and an error when the status
// is not 200.
func Get(ctx context.Context, port int, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %.500s", path, response.Status, body)
	}
	return body, err
}

// FreePort returns the preferred TCP port if no process listens on it, else any free one.
func FreePort(preferred int) (int, error) {
	for _, port := range []int{preferred, 0} {
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }()
		if address, ok := l.Addr().(*net.TCPAddr); ok {
			return address.Port, nil
		}
	}
	return 0, errors.New("finding a free port: none is left")
}
