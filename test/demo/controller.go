package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/karpenter-anew/karpenter/internal/demo"
	"github.com/karpenter-anew/karpenter/test/process"
)

// stopPatience is more than the controller takes to drain.
const stopPatience = 40 * time.Second

// restartPause is how long a controller waits that is restarted a second time, as with a kubelet. The first time it starts at once.
const restartPause = 10 * time.Second

// lostLease is in the log of a controller that ended because it could not renew its lease, such as on a host that is starved of CPU.
const lostLease = "leader election lost"

// controller is a controller process, which is started again if it ends because it lost its lease.
type controller struct {
	// launch starts a process with this output.
	launch func(io.Writer) (*process.Process, error)
	out    io.Writer
	// pause is how long the second restart waits.
	pause time.Duration
	// metrics is the URL of the metrics; healthPort serves the probes.
	metrics    string
	healthPort int
	// ending is closed before the demo ends or kills the controller; done, once no process runs or will run.
	ending, done chan struct{}
	once         sync.Once

	mu      sync.Mutex
	process *process.Process
	log     *demo.LogTail
	err     error // why the last start failed
}

// startController runs the built controller against a cluster, as a cluster would run it; its log goes to out line by line. It has not become
// ready yet when this returns.
func startController(s settings, kubeconfig string, cloud server, out io.Writer) (*controller, error) {
	metricsPort, err := process.FreePort(8080)
	if err != nil {
		return nil, err
	}
	healthPort, err := process.FreePort(8081)
	if err != nil {
		return nil, err
	}
	c := &controller{out: out, pause: restartPause, metrics: fmt.Sprintf("http://127.0.0.1:%d/metrics", metricsPort), healthPort: healthPort}
	args := []string{
		"controller", "--leader-election-namespace=kube-system",
		fmt.Sprintf("--metrics-port=%d", metricsPort), fmt.Sprintf("--health-probe-port=%d", healthPort),
	}
	environment := append(os.Environ(), "KUBECONFIG="+kubeconfig)
	if cloud != nil {
		args, environment = append(args, cloud.Flags()...), append(environment, cloud.Environment()...)
	} else {
		args = append(args, "--cloud-provider=kwok", "--catalog="+s.catalog)
	}
	if s.console != "" {
		args = append(args, "--console-addr="+s.console)
	}
	if !s.stay {
		// A node that just got a pod is not disrupted for twice this time; 20 seconds would be a long pause in the demo.
		args = append(args, "--batch-max-duration=5s")
		args = append(args, sceneOf(s).Flags...)
	}
	c.launch = func(log io.Writer) (*process.Process, error) {
		return process.Start(s.controller, args, environment, log)
	}
	return c, c.begin()
}

// begin starts the first process.
func (c *controller) begin() error {
	c.ending, c.done = make(chan struct{}), make(chan struct{})
	if err := c.start(); err != nil {
		close(c.done)
		return err
	}
	go c.supervise()
	return nil
}

// start starts a process, with a separate log.
func (c *controller) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = &demo.LogTail{Next: c.out}
	c.process, c.err = c.launch(c.log)
	return c.err
}

// current is the process that runs or ended last, with its log.
func (c *controller) current() (*process.Process, *demo.LogTail) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.process, c.log
}

// supervise starts a new process when one ends because it lost its lease.
func (c *controller) supervise() {
	defer close(c.done)
	var pause time.Duration
	for {
		p, log := c.current()
		<-p.Done()
		if c.killed() || p.Err() == nil || !log.Contains(lostLease) {
			return
		}
		select {
		case <-c.ending:
			return
		case <-time.After(pause):
		}
		pause = c.pause
		if c.start() != nil {
			return
		}
	}
}

// Done is closed when the controller has ended and is not started again.
func (c *controller) Done() <-chan struct{} { return c.done }

// Err is why the controller failed; nil while it runs and after it ended in order.
func (c *controller) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	return c.process.Err()
}

// stop keeps the controller from being started again, and returns the process to end.
func (c *controller) stop() *process.Process {
	c.once.Do(func() { close(c.ending) })
	p, _ := c.current()
	return p
}

// killed reports whether the demo ends or kills the controller.
func (c *controller) killed() bool {
	select {
	case <-c.ending:
		return true
	default:
		return false
	}
}

// kill ends the process between any two of its instructions, and returns when it has ended.
func (c *controller) kill() error {
	err := c.stop().Kill()
	<-c.done
	return err
}

// awaitReady waits until the controller's readiness probe succeeds.
func (c *controller) awaitReady(ctx context.Context) error {
	return demo.Poll(ctx, time.Minute, "the controller to become ready", func() (bool, error) {
		_, err := process.Get(ctx, c.healthPort, "/readyz")
		return err == nil, err
	})
}

// end stops the controller in order and returns when it has ended. A controller that does not end is killed.
func (c *controller) end() error {
	p := c.stop()
	if err := p.Terminate(stopPatience); err != nil {
		return errors.Join(err, p.Kill())
	}
	<-c.done
	if err := c.Err(); err != nil {
		return fmt.Errorf("the controller failed: %w", err)
	}
	return nil
}
