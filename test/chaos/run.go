package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/test/process"
	"github.com/karpenter-anew/karpenter/test/simcluster"
)

const (
	// restPatience is how long the cluster may take to reach a steady state: several validations after 15 seconds, drains, and retries of rejected writes.
	restPatience = 5 * time.Minute
	// restStays is how long it must then remain steady.
	restStays = 5 * time.Second
	// readyPatience is how long the controller may take to start and the first pods to run.
	readyPatience = time.Minute
)

// chaos is a run.
type chaos struct {
	settings settings
	plane    *simcluster.Cluster
	client   client.Client
	cloud    *cloudSetup
	proxy    *proxy
	observer *observer
	log      *os.File
	dir      string
	pods     int32 // how many pods of the changing workload are wanted
	kills    int
	edits    int
	// ahead is how far the clock of the next controller is ahead, and wrong how many had one that was wrong by more than is tolerated.
	ahead time.Duration
	wrong int
}

// errFound is returned when the run showed a violation.
var errFound = errors.New("violations")

// run runs the schedule of a seed against the built controller. It returns errFound if the controller violates what must hold.
func run(ctx context.Context, s settings, out io.Writer) (err error) {
	rounds := newSchedule(s)
	_, _ = fmt.Fprintf(out, "seed %d: %d kills, %.0f %% of the writes refused, %.0f %% of the watch events delayed by up to %s; the schedule:\n",
		s.seed, s.kills, 100*s.share, 100*s.stall, longestStall)
	write(out, rounds)
	c := &chaos{settings: s, pods: firstPods}
	if c.dir, err = os.MkdirTemp("", "karpenter-chaos-"); err != nil {
		return fmt.Errorf("creating a directory: %w", err)
	}
	if c.log, err = openLog(s.log); err != nil {
		return errors.Join(err, os.RemoveAll(c.dir))
	}
	defer func() {
		_ = c.log.Close()
		if err != nil && ctx.Err() == nil {
			_, _ = fmt.Fprintf(out, "the log of the controllers is %s\n", c.log.Name())
		} else if s.log == "" {
			_ = os.Remove(c.log.Name())
		}
		_ = os.RemoveAll(c.dir)
	}()
	if s.clock {
		if err := buildClockFault(ctx, c.clockFault()); err != nil {
			return err
		}
	}
	definitions, err := definitionsOf(s.cloud)
	if err != nil {
		return err
	}
	if c.plane, err = simcluster.Start(ctx, s.launcher, definitions); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.plane.Stop()) }()
	if c.cloud, err = newCloud(ctx, s.cloud, c.plane); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.cloud.stop()) }()
	if err := c.connect(out); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.proxy.close()) }()
	if err := c.setUp(ctx); err != nil {
		return err
	}
	if err := c.play(ctx, rounds); err != nil {
		return err
	}
	return c.report(out)
}

// openLog opens the file of the controllers' log, a new temporary one if path is "".
func openLog(path string) (log *os.File, err error) {
	if path == "" {
		log, err = os.CreateTemp("", "karpenter-chaos-*.log")
	} else {
		log, err = os.Create(path)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the log of the controllers: %w", err)
	}
	return log, nil
}

// connect puts the proxy in front of the cluster.
func (c *chaos) connect(out io.Writer) (err error) {
	c.client = c.plane.Client
	if c.proxy, err = startProxy(c.plane.Config, c.settings.seed, c.settings.share, c.settings.stall); err != nil {
		return err
	}
	c.observer = newObserver(c.client, out, time.Now())
	return c.proxy.kubeconfig(filepath.Join(c.dir, "kubeconfig"))
}

// setUp makes the pool and the workloads and waits until all run. The nodes of still may not be disrupted from then on.
func (c *chaos) setUp(ctx context.Context) error {
	pool := newPool(c.cloud)
	pool.Spec.Template.Spec.ExpireAfter = v1.NewNillableDuration(expireAfter(c.settings.kills))
	if !c.settings.packed {
		pool.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{}
	}
	if c.settings.approval {
		if err := c.requireApproval(ctx); err != nil {
			return err
		}
	}
	for _, o := range []client.Object{
		c.cloud.class, pool, newWorkload(guarded, guardedPods), newWorkload(still, stillPods), newWorkload(work, c.pods),
	} {
		if err := c.client.Create(ctx, o); err != nil {
			return fmt.Errorf("creating %T %q: %w", o, o.GetName(), err)
		}
	}
	c.observer.want(c.wanted())
	controller, err := c.start()
	if err != nil {
		return err
	}
	now, why := c.await(ctx, readyPatience, 0, func(now clusterState) []string {
		return append(now.unrest(c.wanted(), false), c.cloud.unrest(now)...)
	})
	if why != "" {
		return errors.Join(fmt.Errorf("the first pods are not running: %s", why), kill(controller))
	}
	for i := range now.pods {
		if pod := &now.pods[i]; pod.Labels["app"] == still {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}}
			err = errors.Join(err, simcluster.Change(ctx, c.client, node, func(n *corev1.Node) {
				n.Annotations[v1.DoNotDisruptAnnotationKey] = "true"
			}))
		}
	}
	c.observer.guard(now)
	c.observer.rest(now)
	return errors.Join(err, kill(controller))
}

// wanted is how many pods all workloads have.
func (c *chaos) wanted() int { return int(c.pods) + guardedPods + stillPods }

// clockFault is the path of the controller whose clock can be wrong.
func (c *chaos) clockFault() string { return filepath.Join(c.dir, "karpenter-clockfault") }

func (c *chaos) start() (*process.Process, error) {
	binary, variables := c.settings.controller, []string(nil)
	if c.ahead != 0 {
		binary, variables = c.clockFault(), []string{clockAheadEnv + "=" + c.ahead.String()}
	}
	if c.ahead.Abs() > tolerated {
		c.wrong++
	}
	var flags []string
	if c.settings.approval {
		flags = append(flags, "--feature-gates=OperationsPolicy=true")
	}
	return startController(binary, filepath.Join(c.dir, "kubeconfig"), c.dir, c.cloud, flags, variables, c.log)
}

// play runs the rounds while the observer checks.
func (c *chaos) play(ctx context.Context, rounds []round) error {
	if c.settings.approval {
		end, err := c.decide(ctx)
		if err != nil {
			return err
		}
		defer end()
	}
	defer c.observer.watch(ctx)()
	for i, r := range rounds {
		for _, s := range r {
			if err := c.step(ctx, s); err != nil {
				return err
			}
		}
		// The last rest is without faults. Others are with the clock of the last life.
		if i == len(rounds)-1 {
			c.proxy.behave()
			c.setClock(0)
		}
		if err := c.settle(ctx, i+1); err != nil {
			return err
		}
	}
	return nil
}

// step does one action, gives a controller some time to handle it, and kills the controller.
func (c *chaos) step(ctx context.Context, s step) error {
	if err := c.do(ctx, s); err != nil {
		return err
	}
	c.setClock(s.ahead)
	crash := c.proxy.crashAfter(s.write)
	defer c.proxy.crashAfter(0)
	controller, err := c.start()
	if err != nil {
		return err
	}
	if s.readOnly > 0 {
		err = c.refuseWrites(ctx, s)
	}
	if s.outage > 0 {
		err = errors.Join(err, c.outage(ctx, s))
	}
	select {
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), kill(controller))
	case <-controller.Done():
	case <-crash:
	case <-time.After(s.life):
	}
	if killed := kill(controller); killed != nil {
		c.observer.found("%v", killed)
	}
	c.kills++
	now, lookErr := clusterState{}, error(nil)
	err = errors.Join(err, simcluster.Retry(ctx, func() error { now, lookErr = look(ctx, c.client); return lookErr }))
	c.observer.say("kill %d: %s; %s", c.kills, s, now)
	return err
}

// outage stops the API server in the middle of a life.
func (c *chaos) outage(ctx context.Context, s step) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(s.life / 2):
	}
	c.observer.say("the API server is down for %s", s.outage)
	return c.plane.RestartAPIServer(ctx, s.outage)
}

// refuseWrites lets reads work and refuses all writes for a while, in the middle of a life.
func (c *chaos) refuseWrites(ctx context.Context, s step) error {
	pause := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	pause(s.life / 2)
	c.observer.say("writes are refused for %s", s.readOnly)
	c.proxy.refuse(true)
	pause(s.readOnly)
	c.proxy.refuse(false)
	return context.Cause(ctx)
}

// do does an action.
func (c *chaos) do(ctx context.Context, s step) error {
	if s.action != grow {
		c.observer.move()
	}
	switch s.action {
	case grow:
		return c.resize(ctx, c.pods+int32(s.amount))
	case shrink:
		return c.resize(ctx, max(c.pods-2*int32(s.amount), firstPods))
	case drift:
		c.edits++
		return simcluster.Change(ctx, c.client, newPool(c.cloud), func(p *v1.NodePool) {
			p.Spec.Template.Labels = map[string]string{"example.com/edit": fmt.Sprint(c.edits)}
		})
	case drain:
		return c.drain(ctx, s.pick)
	case reboot:
		return c.reboot(ctx, s.pick)
	}
	return nil
}

func (c *chaos) resize(ctx context.Context, pods int32) error {
	// The observer must know before the pods are created.
	c.pods = pods
	c.observer.want(c.wanted())
	return simcluster.Change(ctx, c.client, newWorkload(work, pods), func(d *appsv1.Deployment) { d.Spec.Replicas = &pods })
}

// drain deletes a node that may be disrupted, as a user does.
func (c *chaos) drain(ctx context.Context, pick float64) error {
	_, node, err := c.pick(ctx, pick)
	if node == nil {
		return err
	}
	return client.IgnoreNotFound(c.client.Delete(ctx, node))
}

// rebootDrain is how long the drain before a reboot may last.
const rebootDrain = 10 * time.Second

// reboot requests the reboot of a node that may be disrupted, as any client may.
func (c *chaos) reboot(ctx context.Context, pick float64) error {
	now, node, err := c.pick(ctx, pick)
	if node == nil {
		return err
	}
	claim := now.claimOf(node)
	if claim == nil || claim.DeletionTimestamp != nil {
		return nil
	}
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[v1.RebootTerminationGracePeriodAnnotationKey] = rebootDrain.String()
	// No controller runs, so that nothing else writes.
	if err := c.client.Update(ctx, claim); err != nil {
		return client.IgnoreNotFound(err)
	}
	condition.For(claim, time.Now()).TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, "rebooting for a test")
	return client.IgnoreNotFound(c.client.Status().Update(ctx, claim))
}

// pick reads the cluster and picks a node that may be disrupted and is not being deleted; nil if there is none.
func (c *chaos) pick(ctx context.Context, at float64) (now clusterState, node *corev1.Node, err error) {
	if now, err = look(ctx, c.client); err != nil {
		return now, nil, err
	}
	nodes := slices.DeleteFunc(slices.Clone(now.nodes), func(n corev1.Node) bool { return now.untouchable(&n) || n.DeletionTimestamp != nil })
	if len(nodes) == 0 {
		return now, nil, nil
	}
	slices.SortFunc(nodes, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return now, &nodes[int(at*float64(len(nodes)))], nil
}

// settle runs a controller until the cluster is steady.
func (c *chaos) settle(ctx context.Context, number int) error {
	controller, err := c.start()
	if err != nil {
		return err
	}
	begin := time.Now()
	now, why := c.await(ctx, restPatience, restStays, func(now clusterState) []string {
		return append(now.unrest(c.wanted(), c.settings.packed), c.cloud.unrest(now)...)
	})
	if why != "" && ctx.Err() == nil {
		c.observer.found("the cluster does not come to rest in round %d within %s: %s", number, restPatience, why)
	} else {
		c.observer.say("round %d: at rest after %.1f s; %s", number, time.Since(begin).Seconds(), now)
	}
	c.observer.rest(now)
	if why == "" && c.settings.peace > 0 {
		c.peace(ctx)
	}
	if killed := kill(controller); killed != nil {
		c.observer.found("%v", killed)
	}
	return context.Cause(ctx)
}

// peace checks that an idle controller writes nothing. Consolidation may still find a step that saves a little.
func (c *chaos) peace(ctx context.Context) {
	begin := time.Now()
	for ctx.Err() == nil {
		_ = c.proxy.since()
		select {
		case <-ctx.Done():
		case <-time.After(c.settings.peace):
		}
		writes := c.proxy.since()
		if len(writes) == 0 {
			return
		}
		if time.Since(begin) > restPatience {
			c.observer.found("%d writes in %s of rest, the last of which are %q", len(writes), c.settings.peace, writes[max(0, len(writes)-5):])
			return
		}
	}
}

// await reads the cluster until there has been no obstacle for some time, and returns the last state and what its obstacle was.
func (c *chaos) await(ctx context.Context, within, stays time.Duration, obstacles func(clusterState) []string) (now clusterState, why string) {
	begin := time.Now()
	calm := begin
	for {
		var err error
		if now, err = look(ctx, c.client); err != nil {
			why = err.Error()
		} else {
			why = strings.Join(obstacles(now), "; ")
		}
		if why != "" {
			calm = time.Now()
		}
		if why == "" && time.Since(calm) >= stays || time.Since(begin) > within || ctx.Err() != nil {
			return now, why
		}
		time.Sleep(lookPeriod)
	}
}

// report prints the figures, and returns errFound if there were violations.
func (c *chaos) report(out io.Writer) error {
	for _, line := range panics(c.log.Name()) {
		c.observer.found("the controller logs: %s", line)
	}
	noticed, err := c.judgeClocks()
	if err != nil {
		return err
	}
	o := c.observer
	if o.approval && len(o.judged) == 0 {
		o.found("no node was disrupted in the whole run: that disruption has to be approved was not tested")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = fmt.Fprintf(out, "\nseed %d: %d kills in %.0f s; %s\n%d checks: at most %d nodes disrupted at once (budget %d), capacity for at most %d pods more than wanted\n"+
		"%d controllers with a clock that was wrong by more than %s, and %d warnings; %d nodes rebooted\n",
		c.settings.seed, c.kills, time.Since(o.start).Seconds(), c.proxy.summary(), o.checks, o.disrupted, budget, o.peak, c.wrong, tolerated, noticed, o.reboots)
	if o.approval {
		_, _ = fmt.Fprintf(out, "%d nodes disrupted, each of which had to be approved before\n", len(o.judged))
	}
	if len(o.findings) == 0 {
		_, _ = fmt.Fprintln(out, "no violations")
		return nil
	}
	return fmt.Errorf("%w:\n  %s", errFound, strings.Join(o.findings, "\n  "))
}
