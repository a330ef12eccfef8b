package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/karpenter-anew/karpenter/test/awscluster"
)

// stopPatience is more than the controller takes to drain.
const stopPatience = 40 * time.Second

// controller is the running controller process.
type controller struct {
	cmd     *exec.Cmd
	log     *lastLines
	metrics string
	ready   string
	done    chan struct{}
	waitErr error
	stop    sync.Once
	killed  atomic.Bool
}

// startController runs the built controller against a cluster, as a cluster would run it; its log goes to out line by line. It has not become
// ready yet when this returns.
func startController(s settings, kubeconfig string, aws *awscluster.AWS, out io.Writer) (*controller, error) {
	metricsPort, err := freePort(8080)
	if err != nil {
		return nil, err
	}
	healthPort, err := freePort(8081)
	if err != nil {
		return nil, err
	}
	c := &controller{
		log:     &lastLines{next: out},
		metrics: fmt.Sprintf("http://127.0.0.1:%d/metrics", metricsPort),
		ready:   fmt.Sprintf("http://127.0.0.1:%d/readyz", healthPort),
		done:    make(chan struct{}),
	}
	args := []string{
		"controller", "--leader-election-namespace=kube-system",
		fmt.Sprintf("--metrics-port=%d", metricsPort), fmt.Sprintf("--health-probe-port=%d", healthPort),
	}
	environment := append(os.Environ(), "KUBECONFIG="+kubeconfig)
	if aws != nil {
		args, environment = append(args, aws.Flags()...), append(environment, aws.Environment()...)
	} else {
		args = append(args, "--cloud-provider=kwok", "--catalog="+s.catalog)
	}
	if !s.stay {
		// A node that just got a pod is kept for twice this time; nobody wants to watch that for 20 seconds.
		args = append(args, "--batch-max-duration=5s")
		args = append(args, sceneOf(s).flags...)
	}
	c.cmd = exec.Command(s.controller, args...)
	c.cmd.Env = environment
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	// Ctrl-C at the terminal is for us: we stop the controller first and the cluster after it.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the controller: %w", err)
	}
	go func() {
		defer close(c.done)
		c.waitErr = c.cmd.Wait()
	}()
	return c, nil
}

// freePort returns the preferred port if nobody listens on it, else any free one.
func freePort(preferred int) (int, error) {
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

// kill ends the controller between any two of its instructions, and returns when it has ended.
func (c *controller) kill() error {
	c.killed.Store(true)
	if err := c.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("killing the controller: %w", err)
	}
	<-c.done
	return nil
}

// awaitReady waits until the controller's readiness probe succeeds.
func (c *controller) awaitReady(ctx context.Context) error {
	return poll(ctx, time.Minute, "the controller to become ready", func() (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.ready, http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(io.LimitReader(response.Body, 500))
			return false, fmt.Errorf("the readiness probe says %s: %s", response.Status, text)
		}
		return true, nil
	})
}

// end stops the controller in order and returns when it has ended. A controller that does not end is killed.
func (c *controller) end() error {
	c.stop.Do(func() { _ = c.cmd.Process.Signal(syscall.SIGTERM) })
	select {
	case <-c.done:
		if c.waitErr != nil {
			return fmt.Errorf("the controller ended badly: %w", c.waitErr)
		}
		return nil
	case <-time.After(stopPatience):
		_ = c.cmd.Process.Kill()
		<-c.done
		return fmt.Errorf("the controller did not end within %s of SIGTERM and was killed", stopPatience)
	}
}
