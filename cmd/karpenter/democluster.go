package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/embedded/controlplane"
	"github.com/karpenter-anew/karpenter/internal/demo"
)

// demoCluster is a cluster in memory with a running controller.
type demoCluster struct {
	*controlplane.ControlPlane
	ctx    context.Context
	cancel context.CancelCauseFunc
	client client.Client
	dir    string // of the kubeconfig
	// controller gets the result of the controller when it has ended; nil if none was started.
	controller chan error
	// ready is closed when the controller acts.
	ready   *demo.ReadyLine
	metrics string
	// took is how long the starts of the cluster and the controller took.
	took [2]time.Duration
}

func (d *demoCluster) kubeconfig() string { return filepath.Join(d.dir, "kubeconfig") }

// start starts the cluster and the controller, which writes its log line by line. On failure nothing is left running.
func (c *demoCommand) start(ctx context.Context, flags []string, log io.Writer, said func(string)) (*demoCluster, error) {
	begin := time.Now()
	d := &demoCluster{}
	d.ctx, d.cancel = context.WithCancelCause(ctx)
	plane, err := controlplane.Start(context.WithoutCancel(ctx), c.Listen)
	if err != nil {
		d.cancel(nil)
		return nil, err
	}
	d.ControlPlane = plane
	go func() {
		<-plane.Done()
		d.cancel(fmt.Errorf("the cluster ended by itself: %w", plane.Err()))
	}()
	if err := c.fill(d, begin, flags, log, said); err != nil {
		return nil, errors.Join(err, d.stop())
	}
	return d, nil
}

// fill prepares the cluster and starts the controller.
func (c *demoCommand) fill(d *demoCluster, begin time.Time, flags []string, log io.Writer, said func(string)) error {
	if err := d.prepare(); err != nil {
		return err
	}
	d.took[0] = time.Since(begin)
	said(fmt.Sprintf("cluster ready: in memory, at %s", d.URL))
	begin = time.Now()
	if err := c.control(d, flags, log); err != nil {
		return err
	}
	if err := d.awaitController(); err != nil {
		return err
	}
	d.took[1] = time.Since(begin)
	said("controller ready")
	return nil
}

// prepare writes the kubeconfig, and installs the CRDs and the node class.
func (d *demoCluster) prepare() error {
	var err error
	if d.dir, err = os.MkdirTemp("", "karpenter-demo-"); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	text, err := d.Kubeconfig()
	if err != nil {
		return err
	}
	if err := os.WriteFile(d.kubeconfig(), text, 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	if d.client, err = demo.NewClient(d.kubeconfig()); err != nil {
		return err
	}
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		return err
	}
	if err := demo.InstallCRDs(d.ctx, d.client, definitions); err != nil {
		return err
	}
	return demo.Apply(d.ctx, d.client, demoManifests(), "nodeclass.yaml", nil)
}

// control runs the controller in this process.
func (c *demoCommand) control(d *demoCluster, flags []string, log io.Writer) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	d.metrics = fmt.Sprintf("http://127.0.0.1:%d/metrics", port)
	args := append([]string{
		"--cloud-provider=kwok", "--catalog=" + c.Catalog, "--kubeconfig=" + d.kubeconfig(), "--disable-leader-election",
		fmt.Sprintf("--metrics-port=%d", port), "--health-probe-port=0",
	}, flags...)
	if !c.Stay {
		// A node that just got a pod is not disrupted for twice this time; 20 seconds would be a long pause here.
		args = append(args, "--batch-max-duration=5s")
	}
	run, err := parseController(args)
	if err != nil {
		return err
	}
	d.controller, d.ready = make(chan error, 1), demo.NewReadyLine(log)
	go func() {
		err := run(d.ctx, d.ready)
		d.controller <- err
		if err == nil {
			err = errors.New("the controller ended by itself")
		}
		d.cancel(err)
	}()
	return nil
}

// stop ends the controller, then the cluster, and returns when both have ended.
func (d *demoCluster) stop() error {
	d.cancel(nil)
	var err error
	if d.controller != nil {
		err = <-d.controller
	}
	err = errors.Join(err, d.Stop())
	_ = os.RemoveAll(d.dir)
	return err
}

// awaitController returns when the controller acts, or has ended.
func (d *demoCluster) awaitController() error {
	select {
	case <-d.ready.Seen():
		return nil
	case <-d.ctx.Done():
		return fmt.Errorf("starting the controller: %w", context.Cause(d.ctx))
	}
}

// freePort returns a port that no process listens on.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	address, _ := listener.Addr().(*net.TCPAddr)
	return address.Port, listener.Close()
}

// stay keeps the cluster until the context ends.
func (d *demoCluster) stay(out io.Writer) error {
	manifests := filepath.Join(d.dir, "manifests")
	if err := os.CopyFS(manifests, demoManifests()); err != nil {
		return fmt.Errorf("writing the manifests: %w", err)
	}
	_, _ = fmt.Fprintf(out, `
Cluster and controller are running. In another terminal:

  export KUBECONFIG=%[1]s

  kubectl apply -f %[2]s/nodepool.yaml -f %[2]s/inflate.yaml
  kubectl scale deployment inflate --replicas=50
  kubectl get nodepools,nodeclaims,nodes
  kubectl delete node <name>

Metrics: %[3]s   Ctrl-C stops and removes everything.

`, d.kubeconfig(), manifests, d.metrics)
	<-d.ctx.Done()
	if cause := context.Cause(d.ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}
