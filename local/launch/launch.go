// Package launch runs a real Kubernetes control plane on loopback, with simulated nodes, until its caller ends it. It leaves no process
// and no file behind, whether the caller ends, the start fails, or the launcher itself is killed (then the next launcher cleans up).
//
// kwokctl sets the cluster up and starts its processes; this package chooses ports and directories, waits, watches and tears down.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/local/binaries"
)

// Options say where a cluster lives.
type Options struct {
	// Cache holds the programs, which must have been built.
	Cache binaries.Cache
	// Dir is the cluster's directory: absent or empty. "" chooses a new one below the system's temporary directory.
	Dir string
	// Kubeconfig is the path of the administrator's kubeconfig; "" puts it into the cluster's directory.
	Kubeconfig string
	// ServiceRange is the service CIDR; "" leaves it to Kubernetes. An IPv6 range makes it an
	// IPv6 cluster; its API server still listens on 127.0.0.1.
	ServiceRange string
	// Admission names admission plugins of the API server beside the usual ones, with commas between them; "" for none.
	Admission string
	// Controllers names the controllers of kube-controller-manager, with commas between them, as its flag has it; "" for the usual ones.
	Controllers string
	// FeatureGates are those of Kubernetes that all components get, RuntimeConfig the APIs that are served beside the usual ones, each as
	// name=true with commas between them; "" for none.
	FeatureGates, RuntimeConfig string
	// Log receives progress and failures as text.
	Log io.Writer
}

// Timing of a launch. A cold page cache and two busy cores make a start of some seconds a start of many.
const (
	readyPatience = 3 * time.Minute
	startAttempts = 3
)

// serviceAccount is the path of the service account that pods of the default namespace run as.
const serviceAccount = "/api/v1/namespaces/default/serviceaccounts/default"

// errPortTaken is a start that lost the race for one of its ports.
var errPortTaken = errors.New("a chosen port was taken by another process")

// Run starts a cluster, calls ready with the path of its kubeconfig, and keeps it until ctx ends or one of its processes ends again and
// again. Whatever the outcome, everything is removed before Run returns. The error is nil when ctx ended a cluster that was ready.
func Run(ctx context.Context, o Options, ready func(kubeconfig string)) error {
	adoptOrphans()
	reg := registryOf(o.Cache)
	if err := sweep(reg, o.Log); err != nil {
		return err
	}
	rec, err := plan(o)
	if err != nil {
		return err
	}
	c, err := reg.claim(rec)
	if err != nil {
		return err
	}
	runErr := attempt(ctx, o, reg, c, ready)
	return errors.Join(runErr, c.remove())
}

// attempt starts the cluster, again with other ports if one was taken in the meantime, and watches it.
func attempt(ctx context.Context, o Options, reg registry, c *claim, ready func(string)) error {
	l := layout{dir: c.Dir}
	for n := 1; ; n++ {
		if err := reg.choosePorts(c); err != nil {
			return err
		}
		err := start(ctx, o, l, c.record)
		if err == nil {
			break
		}
		if !errors.Is(err, errPortTaken) || n == startAttempts {
			return err
		}
		_, _ = fmt.Fprintf(o.Log, "control plane: %v; trying other ports\n", err)
		if err := errors.Join(kill(below(l.dir)), removeContents(l.dir)); err != nil {
			return err
		}
	}
	ready(c.Kubeconfig)
	return superviseRunning(l, o.Log).run(ctx)
}

// plan decides the paths of a new cluster and rejects a directory that is not empty.
func plan(o Options) (record, error) {
	rec := record{Owner: os.Getpid()}
	var err error
	dir := o.Dir
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "karpenter-local-"+randomID())
	}
	if rec.Dir, err = filepath.Abs(dir); err != nil {
		return record{}, fmt.Errorf("resolving the cluster directory: %w", err)
	}
	entries, err := os.ReadDir(rec.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return record{}, fmt.Errorf("reading the cluster directory: %w", err)
	case len(entries) > 0:
		return record{}, fmt.Errorf("the cluster directory %s is not empty; name an empty or a new one, its content is removed at the end",
			rec.Dir)
	default:
		rec.KeepDir = true
	}
	rec.Kubeconfig = layout{dir: rec.Dir}.kubeconfig()
	if o.Kubeconfig != "" {
		if rec.Kubeconfig, err = filepath.Abs(o.Kubeconfig); err != nil {
			return record{}, fmt.Errorf("resolving the kubeconfig path: %w", err)
		}
	}
	return rec, nil
}

// start brings the cluster up and writes its kubeconfig.
func start(ctx context.Context, o Options, l layout, rec record) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyPatience, fmt.Errorf("not ready after %s", readyPatience))
	defer cancel()
	config, err := configuration(o, rec.Ports)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.bin(), 0o700); err != nil {
		return fmt.Errorf("making the cluster directory: %w", err)
	}
	if err := os.WriteFile(l.config(), config, 0o600); err != nil {
		return fmt.Errorf("writing the kwokctl configuration: %w", err)
	}
	ctx, fail := context.WithCancelCause(ctx)
	supervised := make(chan struct{})
	go func() {
		defer close(supervised)
		fail(superviseStarting(l, o.Log).run(ctx))
	}()
	defer func() { fail(nil); <-supervised }() // so that nothing is started while the caller removes processes
	if err := createCluster(ctx, o.Cache, l); err != nil {
		return explain(l, err)
	}
	server := fmt.Sprintf("https://127.0.0.1:%d", rec.Ports[0])
	client, err := newAPIClient(l, server)
	if err != nil {
		return explain(l, err)
	}
	// A pod can be created as soon as the service account that it runs as exists.
	if err := client.await(ctx, "/readyz", serviceAccount); err != nil {
		return explain(l, err)
	}
	return writeKubeconfig(l, server, rec.Kubeconfig)
}

// explain adds to the error of a failed start the last log lines of the component that failed, and detects a lost race for a port.
func explain(l layout, cause error) error {
	for _, component := range components() {
		if strings.Contains(l.logTail(component, 5), "address already in use") {
			return fmt.Errorf("starting %s: %w", component, errPortTaken)
		}
	}
	if broken := (*componentError)(nil); errors.As(cause, &broken) {
		return cause // has its lines
	}
	failed := suspect(l, cause)
	if tail := l.logTail(failed, 10); tail != "" {
		return fmt.Errorf("%w\n--- last lines of %s:\n%s", cause, failed, tail)
	}
	return cause
}

// suspect names the component to look at after a failed start: the first that was started and does not run, otherwise the one that has to do
// what was waited for.
func suspect(l layout, cause error) string {
	gone, err := missingComponents(l)
	for _, component := range gone {
		if err == nil && l.readPID(component) != 0 {
			return component
		}
	}
	if strings.Contains(cause.Error(), serviceAccount) {
		return controllerManager // creates it
	}
	return apiServer
}
