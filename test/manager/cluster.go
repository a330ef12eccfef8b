package manager

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/version"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	kwokv1alpha1 "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/front"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
	"github.com/karpenter-anew/karpenter/embedded/kubelet"
	"github.com/karpenter-anew/karpenter/embedded/scheduler"
	"github.com/karpenter-anew/karpenter/embedded/view"
	"github.com/karpenter-anew/karpenter/embedded/workloads"
)

const (
	// namespace is that of the controllers.
	namespace = "karpenter"
	// history is how many changes a watch can go back.
	history = 10_000
	// pause is the least time between two rounds of the components of the cluster.
	pause = 200 * time.Millisecond
	// maxRounds bounds the steps of a round.
	maxRounds = 100
	// eventsTTL is how long the API server keeps events.
	eventsTTL = time.Hour
	// replicas is the number of controllers.
	replicas = 2
)

// Settings describe a cluster.
type Settings struct {
	Seed   uint64
	Faults Faults
	// Simulated runs the cloud provider kwok as it is, whose instances are Nodes, instead of a cloud with its catalog.
	Simulated bool
	// Log gets the log lines of the controllers.
	Log slog.Handler
}

// Cluster is an API server in memory, the other components of a cluster, a cloud, and two replicas of the controller.
type Cluster struct {
	server     *front.Server
	client     client.Client
	chance     *chance
	leaders    *leaders
	traffic    *traffic
	datacenter *datacenter
	simulated  bool
	checks     *checks
	log        *logbook
	wake       chan struct{}
	// changed is the last revision that the components were told of, and forgotten when old events were deleted last. Both belong to the registry.
	changed   int64
	forgotten time.Time
	ctx       context.Context //nolint:containedctx // the lifetime of the cluster
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu         sync.Mutex
	violations []string
	seen       map[string]bool
	events     map[string]int
	replicas   [replicas]*Replica
}

// New returns a cluster without nodes, whose controllers start. It must be called inside a bubble.
func New(s Settings) (*Cluster, error) {
	c := &Cluster{
		simulated: s.Simulated, chance: newChance(s.Seed, s.Faults), traffic: newTraffic(), leaders: &leaders{}, wake: make(chan struct{}, 1), seen: map[string]bool{},
		events: map[string]int{}, log: &logbook{lines: map[string]int{}, quiet: map[string]int{}, to: s.Log},
	}
	c.traffic.violated, c.leaders.violated = c.violated, c.violated
	c.ctx, c.stop = context.WithCancel(context.Background())
	r, err := registry.New(registry.Options{
		Now: time.Now, UID: uuid.NewUUID, Suffix: func() string { return utilrand.String(5) }, History: history, GenericWorkload: true, Untracked: true,
	})
	if err != nil {
		return nil, fmt.Errorf("starting the API server: %w", err)
	}
	c.server = front.New(r, front.Options{
		Version:    version.Info{Major: "1", Minor: "37", GitVersion: "v1.37.2"},
		AfterWrite: func(r *registry.Registry) error { c.notify(r); return nil },
	})
	if c.client, err = c.newClient(); err != nil {
		return nil, err
	}
	if err := c.install(); err != nil {
		return nil, err
	}
	if c.datacenter, err = newDatacenter(c); err != nil {
		return nil, err
	}
	if c.checks, err = newChecks(c, r); err != nil {
		return nil, err
	}
	v := view.New(r)
	c.running.Go(func() { c.act(v) })
	for n := range replicas {
		c.running.Go(func() { c.slot(n) })
	}
	return c, nil
}

// newClient returns a client without faults and delays.
func (c *Cluster) newClient() (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1.AddToScheme, v1alpha1.AddToScheme, v1beta1.AddToScheme, opsv1alpha1.AddToScheme, kwokv1alpha1.AddToScheme,
		apiextensionsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	out, err := client.New(&rest.Config{Host: "http://kube-apiserver", Transport: &transport{cluster: c}, QPS: -1}, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("building the client: %w", err)
	}
	return out, nil
}

// install creates what is there before the controllers.
func (c *Cluster) install() error {
	definitions, err := kwok.Provider().Definitions()
	if err != nil {
		return fmt.Errorf("reading the definitions: %w", err)
	}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}}
	for _, d := range definitions {
		objects = append(objects, d)
	}
	for _, o := range objects {
		if err := c.client.Create(c.ctx, o); err != nil {
			return fmt.Errorf("creating %s: %w", o.GetName(), err)
		}
	}
	return nil
}

// notify wakes the components if something has changed that concerns them: leases are renewed all the time.
func (c *Cluster) notify(r *registry.Registry) {
	var last int64
	for _, k := range r.Kinds() {
		if k.Kind != "Lease" && k.Kind != "Event" {
			last = max(last, r.Changed(k))
		}
	}
	if last <= c.changed {
		return
	}
	c.changed = last
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// forget deletes old events, as an API server does.
func (c *Cluster) forget(r *registry.Registry) error {
	if time.Since(c.forgotten) < eventsTTL/4 {
		return nil
	}
	c.forgotten = time.Now()
	k := r.Kind(corev1.SchemeGroupVersion.WithResource("events"))
	list, err := r.List(&registry.Request{Kind: k}, registry.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing events: %w", err)
	}
	for i := range list.Items {
		if e := &list.Items[i]; time.Since(e.GetCreationTimestamp().Time) > eventsTTL {
			if _, _, err := r.Delete(&registry.Request{Kind: k, Namespace: e.GetNamespace(), Name: e.GetName()}, metav1.DeleteOptions{}); err != nil {
				return fmt.Errorf("deleting an event: %w", err)
			}
		}
	}
	return nil
}

// act lets kube-scheduler, kubelets and the controllers of workloads take their steps whenever something has changed, and checks the invariants.
func (c *Cluster) act(v *view.View) {
	kubelets, placer := &kubelet.Kubelets{}, &scheduler.Scheduler{}
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.wake:
		case <-due.C:
		}
		next := time.Now().Add(look)
		err := c.server.Do(func(r *registry.Registry) error {
			if err := c.forget(r); err != nil {
				return err
			}
			at, err := c.settle(r, v, kubelets, placer)
			if !at.IsZero() && at.Before(next) {
				next = at
			}
			c.checks.look(v)
			return err
		})
		switch {
		case err != nil && !transient(err):
			panic(fmt.Sprintf("the components of the cluster failed: %v", err))
		case err != nil:
			next = time.Now().Add(pause)
		}
		due.Reset(max(pause, time.Until(next)))
		if sleep(c.ctx, pause) != nil {
			return
		}
	}
}

// transient: the error is about an object that changed while a component took its step, which the next step sees.
func transient(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
}

// settle repeats the steps of all components until none writes. It returns when something will be due, or the zero time.
func (c *Cluster) settle(r *registry.Registry, v *view.View, kubelets *kubelet.Kubelets, placer *scheduler.Scheduler) (next time.Time, err error) {
	for range maxRounds {
		before := r.Revision()
		if _, err := r.Collect(); err != nil {
			return next, err
		}
		if err := workloads.Step(v); err != nil {
			return next, err
		}
		if next, err = kubelets.Step(v); err != nil {
			return next, err
		}
		if err := placer.Step(c.ctx, v); err != nil {
			return next, err
		}
		if r.Revision() == before {
			return next, nil
		}
	}
	return r.Now(), nil
}

func (c *Cluster) setReplica(number int, r *Replica) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replicas[number] = r
}

// replica is the current one of a slot; nil before the first.
func (c *Cluster) replica(number int) *Replica {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replicas[number]
}

// violated records that an invariant does not hold.
func (c *Cluster) violated(name, format string, args ...any) {
	text := fmt.Sprintf("%s: %s", name, fmt.Sprintf(format, args...))
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.seen[text] {
		c.seen[text] = true
		c.violations = append(c.violations, time.Now().UTC().Format("2 15:04:05.000 ")+text)
	}
}

// count counts what users and replicas did.
func (c *Cluster) count(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events[name]++
}

// Violations are the invariants that did not hold, in words.
func (c *Cluster) Violations() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.violations)
}

// Counts are the faults, and what users and replicas did, by name.
func (c *Cluster) Counts() map[string]int {
	c.mu.Lock()
	out := maps.Clone(c.events)
	c.mu.Unlock()
	c.chance.mu.Lock()
	defer c.chance.mu.Unlock()
	maps.Copy(out, c.chance.counts)
	return out
}

// Stop ends the controllers in order, and then everything else. It returns once all has ended.
func (c *Cluster) Stop() {
	c.stop()
	for n := range replicas {
		if r := c.replica(n); r != nil {
			r.stop()
		}
	}
	c.running.Wait()
}
