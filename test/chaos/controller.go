package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// controller is a running controller process.
type controller struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// startController runs the built controller. Its log is appended to log.
func startController(binary, kubeconfig, home string, log *os.File) (*controller, error) {
	c := &controller{done: make(chan struct{})}
	c.cmd = exec.Command(binary, "controller", "--kubeconfig="+kubeconfig, "--cloud-provider=kwok", "--metrics-port=0", "--health-probe-port=0",
		"--disable-leader-election", "--batch-idle-duration=200ms", "--batch-max-duration=2s", "--log-level=debug")
	c.cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the controller: %w", err)
	}
	go func() {
		_ = c.cmd.Wait() // the exit code is read from the state
		close(c.done)
	}()
	return c, nil
}

// kill ends the process between any two of its instructions. It is an error if the process had ended by itself.
func (c *controller) kill() error {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing the controller: %w", err)
	}
	<-c.done
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		return fmt.Errorf("the controller ended by itself: %s", c.cmd.ProcessState)
	}
	return nil
}

// panics are the lines of a log that tell of a crash.
func panics(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") || strings.Contains(line, "Observed a panic") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}
