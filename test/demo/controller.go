package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/karpenter-anew/karpenter/test/awscluster"
	"github.com/karpenter-anew/karpenter/test/process"
)

// stopPatience is more than the controller takes to drain.
const stopPatience = 40 * time.Second

// controller is the running controller process.
type controller struct {
	*process.Process
	log *lastLines
	// metrics is the URL of the metrics; healthPort serves the probes.
	metrics    string
	healthPort int
	// killed is set before the demo kills the controller.
	killed atomic.Bool
}

// startController runs the built controller against a cluster, as a cluster would run it; its log goes to out line by line. It has not become
// ready yet when this returns.
func startController(s settings, kubeconfig string, aws *awscluster.AWS, out io.Writer) (*controller, error) {
	metricsPort, err := process.FreePort(8080)
	if err != nil {
		return nil, err
	}
	healthPort, err := process.FreePort(8081)
	if err != nil {
		return nil, err
	}
	c := &controller{log: &lastLines{next: out}, metrics: fmt.Sprintf("http://127.0.0.1:%d/metrics", metricsPort), healthPort: healthPort}
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
		// A node that just got a pod is not disrupted for twice this time; 20 seconds would be a long pause in the demo.
		args = append(args, "--batch-max-duration=5s")
		args = append(args, sceneOf(s).flags...)
	}
	if c.Process, err = process.Start(s.controller, args, environment, c.log); err != nil {
		return nil, err
	}
	return c, nil
}

// kill ends the controller between any two of its instructions, and returns when it has ended.
func (c *controller) kill() error {
	c.killed.Store(true)
	return c.Kill()
}

// awaitReady waits until the controller's readiness probe succeeds.
func (c *controller) awaitReady(ctx context.Context) error {
	return poll(ctx, time.Minute, "the controller to become ready", func() (bool, error) {
		_, err := process.Get(ctx, c.healthPort, "/readyz")
		return err == nil, err
	})
}

// end stops the controller in order and returns when it has ended. A controller that does not end is killed.
func (c *controller) end() error {
	if err := c.Terminate(stopPatience); err != nil {
		return errors.Join(err, c.Kill())
	}
	if err := c.Err(); err != nil {
		return fmt.Errorf("the controller failed: %w", err)
	}
	return nil
}
