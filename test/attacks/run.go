package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	"github.com/karpenter-anew/karpenter/test/process"
	"github.com/karpenter-anew/karpenter/test/simcluster"
)

const (
	// honestWait is how long a few honest pods may wait until they run, beside any attacker.
	honestWait = 10 * time.Second
	// slowdown is how much longer than without the attacker many honest pods may wait. nodesWait is how long nodes may take once
	// kube-scheduler has found none for the last of the honest pods that need one; a second of it is the idle time that ends a batch.
	slowdown, nodesWait = 5 * time.Second, 5 * time.Second
	// memoryLimit is what the container of the controller has, in bytes; the chart tells the controller so.
	memoryLimit = 512 << 20
	// memoryAbort ends an attack early, before the host suffers.
	memoryAbort = 4 * memoryLimit
	// patience is how long a judge waits for what should come at once.
	patience = 30 * time.Second
	// giveUp is how long an attack waits for honest pods that are late, to say how late.
	giveUp = 3 * time.Minute
	// waves is how often honest pods are created, and wavePods how many at a time; between two waves is a pause in which
	// pods that do not fit are planned again.
	waves, wavePods, wavePause = 3, 5, 12 * time.Second
	// writers is how many objects are created at a time.
	writers = 16
)

// cluster is where one attack takes place.
type cluster struct {
	*simcluster.Cluster
	client     client.Client
	controller *process.Process
	ports      [2]int // metrics, probes
	log        *os.File
	seen       *timeline
}

// run tries one attack, beside which each wave of honest pods has to run within that time.
func run(ctx context.Context, s settings, a attack, within time.Duration) (seen *result, err error) {
	seen = &result{}
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		return seen, err
	}
	plane, err := simcluster.Start(ctx, s.launcher, definitions)
	if err != nil {
		return seen, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	c := &cluster{Cluster: plane, client: plane.Client}
	if c.log, err = os.Create(filepath.Join(s.logs, a.name+".log")); err != nil {
		return seen, err
	}
	defer func() { err = errors.Join(err, c.log.Close()) }()
	if err := c.setUp(ctx, s, a); err != nil {
		return seen, err
	}
	defer func() { err = errors.Join(err, c.controller.Kill()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.seen, err = record(ctx, plane.Config); err != nil {
		return seen, err
	}
	stop := watch(ctx, c, seen, cancel)
	failed := c.play(ctx, a, seen, within)
	stop()
	if failed != nil && context.Cause(ctx) == nil {
		seen.found("%v", failed)
	}
	seen.judge(context.WithoutCancel(ctx), c)
	return seen, nil
}

// setUp makes the pool and the namespaces, and starts a controller as its chart does.
func (c *cluster) setUp(ctx context.Context, s settings, a attack) (err error) {
	pool := newPool()
	if a.pool != nil {
		a.pool(pool)
	}
	class := &v1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for _, o := range []client.Object{class, pool, namespace(attacker), namespace(honest)} {
		if err := c.client.Create(ctx, o); err != nil {
			return fmt.Errorf("creating %T %q: %w", o, o.GetName(), err)
		}
	}
	for i := range c.ports {
		if c.ports[i], err = process.FreePort(0); err != nil {
			return err
		}
	}
	c.controller, err = process.Start(s.controller, []string{
		"controller", "--kubeconfig=" + c.Kubeconfig, "--cloud-provider=kwok", "--disable-leader-election", "--log-level=debug",
		fmt.Sprintf("--metrics-port=%d", c.ports[0]), fmt.Sprintf("--health-probe-port=%d", c.ports[1]),
		fmt.Sprintf("--memory-limit=%d", memoryLimit),
	}, []string{"HOME=" + filepath.Dir(c.Kubeconfig), "PATH=" + os.Getenv("PATH")}, c.log)
	if err != nil {
		return err
	}
	return c.await(ctx, time.Minute, func() (string, error) {
		if _, err := process.Get(ctx, c.ports[1], "/readyz"); err != nil {
			return err.Error(), nil //nolint:nilerr // not ready yet
		}
		return "", nil
	})
}

func namespace(name string) client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// play lets the attacker begin, and creates honest pods beside it, in waves: the first at once, to be planned in one pass with the attacker.
func (c *cluster) play(ctx context.Context, a attack, seen *result, within time.Duration) error {
	pods := wavePods
	if a.honest > 0 {
		pods = a.honest
	}
	// There is no node yet: a pod that kube-scheduler binds by itself attacks nothing.
	if err := c.assault(ctx, a); err != nil {
		return fmt.Errorf("attacking: %w", err)
	}
	for i := range waves {
		began := time.Now()
		err := c.wave(ctx, i+1, pods)
		took, of := time.Since(began), c.seen.steps(strconv.Itoa(i+1), began)
		seen.waited, seen.steps = append(seen.waited, took), append(seen.steps, of)
		if err != nil {
			return err
		}
		seen.judgeWave(i+1, pods, took, of, acceptable{ran: within, nodes: a.nodesWait()})
		if i < waves-1 {
			pause(ctx, wavePause)
		}
	}
	if a.judge == nil {
		return context.Cause(ctx)
	}
	return a.judge(ctx, c)
}

// assault creates the objects of the attacker.
func (c *cluster) assault(ctx context.Context, a attack) error {
	var all errgroup.Group
	all.SetLimit(writers)
	for _, o := range a.objects() {
		all.Go(func() error {
			err := c.client.Create(ctx, o)
			if err == nil && a.inTurn {
				err = client.IgnoreNotFound(c.client.Delete(ctx, o, client.GracePeriodSeconds(0)))
			}
			return err
		})
	}
	if err := all.Wait(); err != nil || !a.gone {
		return err
	}
	if !a.inTurn {
		pause(ctx, wavePause) // long enough for a pass
	}
	err := c.client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(attacker), client.GracePeriodSeconds(0))
	if err != nil {
		return err
	}
	return c.await(ctx, patience, func() (string, error) {
		left, err := c.pods(ctx)
		if err != nil || len(left) > 0 {
			return fmt.Sprintf("%d pods of the attacker are left", len(left)), err
		}
		return "", nil
	})
}

// wave creates honest pods and waits until all run.
func (c *cluster) wave(ctx context.Context, number, pods int) error {
	d := newWave(number, pods)
	if err := c.client.Create(ctx, d); err != nil {
		return err
	}
	return c.await(ctx, giveUp, func() (string, error) {
		var list corev1.PodList
		if err := c.client.List(ctx, &list, client.InNamespace(honest), client.MatchingLabels(d.Spec.Template.Labels)); err != nil {
			return "", err
		}
		running := 0
		for i := range list.Items {
			if list.Items[i].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if running < pods {
			return fmt.Sprintf("%d of %d honest pods of wave %d run", running, pods, number), nil
		}
		return "", nil
	})
}

// await polls until look returns neither an obstacle nor an error.
func (c *cluster) await(ctx context.Context, within time.Duration, look func() (string, error)) error {
	for deadline := time.Now().Add(within); ; pause(ctx, 100*time.Millisecond) {
		obstacle, err := look()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case obstacle == "":
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("waited %s: %s", within, obstacle)
		}
	}
}

// pause waits, for less if ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// pods returns the pods of the attacker.
func (c *cluster) pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.client.List(ctx, &list, client.InNamespace(attacker))
	return list.Items, err
}

func (c *cluster) events(ctx context.Context) ([]corev1.Event, error) {
	var list corev1.EventList
	err := c.client.List(ctx, &list)
	return list.Items, err
}

// hasEvent reports whether the controller has published an event with this reason about the pod.
func (c *cluster) hasEvent(ctx context.Context, about client.Object, reason string) (bool, error) {
	events, err := c.events(ctx)
	for _, e := range events {
		if e.Source.Component == "karpenter" && e.InvolvedObject.UID == about.GetUID() && e.Reason == reason {
			return true, nil
		}
	}
	return false, err
}
