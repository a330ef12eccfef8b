package sim

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	kwokv1alpha1 "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/controller"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/served"
)

// simulationWorkers is how many simulations of disruption a process runs at a time: with one per processor, a seed would take other steps
// on each computer.
const simulationWorkers = 2

// Cluster is a world with everything in it.
type Cluster struct {
	World      *World
	API        *API
	Datacenter *Datacenter
	Faults     *Faults
	// Process is the one that runs, or ran last. Restarts counts those before it.
	Process  *Process
	Restarts int
	// Violations are the invariants that did not hold, in words, and Broken their names.
	Violations, Broken []string
	User               *User
	// NodeHours are the simulated hours of all Nodes together.
	NodeHours float64
	// Hours are how long the simulation was; StopEarly ends it at the first violation.
	Hours     float64
	StopEarly bool

	invariants *invariants
	// handover is when a process was deposed last.
	handover time.Time

	// replicas are those that want to lead, in a scene with a lease; named counts them, and missing those that are to be started.
	replicas       []*replica
	named, missing int
	// processes are all that may still act, for the hash of the state; explored is the revision at which the exploration began.
	processes []*Process
	explored  int64

	log      *slog.Logger
	options  options.Options
	template cloud.Cloud
}

// Settings describe a cluster.
type Settings struct {
	Seed   uint64
	Faults Faults
	// Scene is what there is beside faults; its zero value is that of everyday.
	Scene Scene
	// Only are the choices of the seed that happen; nil for all.
	Only []Choice
	// explorer chooses instead of the seed; nil for none.
	explorer *explorer
	// Writes and Recorded are those of the trace.
	Writes, Recorded bool
	// Log gets the log lines of the controllers; nil for none.
	Log io.Writer
}

// New returns a cluster in which a process with all controllers runs. It must be called inside a bubble.
func New(s Settings) (*Cluster, error) {
	if s.Scene == (Scene{}) {
		s.Scene = everyday()
	}
	w := NewWorld(s.Seed)
	w.Trace.Writes, w.Trace.Recorded = s.Writes, s.Recorded
	w.explorer = s.explorer
	if s.Only != nil {
		w.restrict(s.Only)
	}
	utilrand.Seed(int64(s.Seed)) //nolint:gosec // a simulation
	parallel.Turns(func(call int64) { w.pause(fmt.Sprintf("call %d", call), "", 0, 0) })
	uuid.SetRand(&uuidBytes{world: w, drawn: map[uint64]uint64{}})
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		return nil, fmt.Errorf("reading the definitions: %w", err)
	}
	faults := s.Faults
	faults.Counts = map[string]int{}
	api, err := NewAPI(w, scheme, &faults, definitions...)
	if err != nil {
		return nil, err
	}
	template, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		return nil, fmt.Errorf("reading the catalog: %w", err)
	}
	types, err := template.Provider.InstanceTypes(nil, nil) //nolint:staticcheck // a list in memory
	if err != nil {
		return nil, fmt.Errorf("reading the catalog: %w", err)
	}
	if n := s.Scene.Types; n > 0 && n < len(types) {
		var some []*cloud.InstanceType
		for i := range n {
			some = append(some, types[i*len(types)/n])
		}
		types = some
	}
	switch {
	case s.Log == nil && s.Recorded:
		s.Log = lines{w}
	case s.Log == nil:
		s.Log = io.Discard
	}
	c := &Cluster{
		World: w, API: api, Faults: &faults, options: options.Default(), template: template,
		Datacenter: newDatacenter(w, api, &faults, types, template.Labels),
		log:        slog.New(slog.NewTextHandler(s.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	c.User = &User{cluster: c, scene: s.Scene}
	c.options.FeatureGates.StaticCapacity, c.options.FeatureGates.CapacityBuffer, c.options.FeatureGates.OperationsPolicy = true, true, true
	c.options.FeatureGates.NodeRepair = s.Scene.Unhealthy > 0
	c.Datacenter.forgetful, c.Datacenter.unattended, c.Datacenter.lateLabels = s.Scene.Forgetful, s.Scene.NoNodeController, s.Scene.LateLabels
	c.invariants = watchInvariants(c)
	addActors(w, api, c.Datacenter.zones())
	return c, c.begin()
}

// newScheme has all kinds of the cluster.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1.AddToScheme, v1alpha1.AddToScheme, v1beta1.AddToScheme, opsv1alpha1.AddToScheme, kwokv1alpha1.AddToScheme, addDefinitions,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}

// begin starts a process, or replicas until one of them leads.
func (c *Cluster) begin() error {
	if !c.User.scene.Lease {
		return c.start()
	}
	for range replicas {
		if err := c.addReplica(); err != nil {
			return err
		}
	}
	for c.Process == nil { // the invariants want one
		c.World.Step(time.Now().Add(time.Minute))
		if err := c.elect(); err != nil {
			return err
		}
	}
	return nil
}

// start starts a process.
func (c *Cluster) start() error {
	return c.boot(NewProcess(c.World, c.API, c.logOf(c.Restarts)))
}

// logOf is where a process logs to.
func (c *Cluster) logOf(name any) slog.Handler { return c.log.With("process", name).Handler() }

// boot starts the controllers of a process.
func (c *Cluster) boot(p *Process) error {
	log := slog.New(logr.ToSlogHandler(p.log))
	c.Process = p
	c.processes = append(slices.DeleteFunc(c.processes, func(p *Process) bool { return !p.alive() }), p)
	place := c.template
	datacenter := &datacenterClient{c.Datacenter, p}
	place.Provider, place.Rebooter, place.Register = datacenter, datacenter, nil
	place.UseCorrection = nil
	place = place.WithDefaults()
	registry := prometheus.NewRegistry()
	clock := p.Clock()
	recorder := observe.NewRecorder(discard{}, clock)
	if err := nodelookup.AddIndexes(p.ctx, p.GetFieldIndexer()); err != nil {
		return fmt.Errorf("adding indexes: %w", err)
	}
	controllers, err := controller.All(controller.Parts{
		Manager: p, Client: p.GetClient(), Clock: clock, Cloud: place, Recorder: recorder, StatusRecorder: recorder,
		Metrics: observe.NewMetrics(registry, slices.Sorted(maps.Keys(place.Labels.WellKnown)), place.NodeClasses[0].LabelKey()),
		Log:     log, Options: c.options, Served: served.API{Minor: 37}, SimulationWorkers: simulationWorkers,
	})
	if err != nil {
		return fmt.Errorf("building controllers: %w", err)
	}
	if c.World.explorer != nil { // its ticker is not that of the clock, and it writes metrics only
		controllers = slices.DeleteFunc(controllers, func(one controller.Controller) bool { return fmt.Sprintf("%T", one) == "*cluster.Gauges" })
	}
	p.controllers = controllers
	for _, one := range controllers {
		if err := one.Register(p); err != nil {
			return fmt.Errorf("registering %T: %w", one, err)
		}
	}
	p.Boot()
	return nil
}

// Run lets time pass. A process that crashes is started again after a while, as a kubelet does.
func (c *Cluster) Run(d time.Duration) error {
	until := time.Now().Add(d)
	for time.Now().Before(until) {
		if c.over() {
			return nil
		}
		if !c.World.Step(until) {
			c.World.Run(time.Until(until))
			break
		}
		if c.User.scene.Lease {
			if err := c.elect(); err != nil {
				return err
			}
		} else if !c.Process.leads() {
			c.Restarts++
			if c.Process.alive() { // a replica that waits takes over at once
				c.handover = time.Now()
			} else {
				c.World.Run(c.World.between("restart", 2*time.Second, 20*time.Second))
			}
			if err := c.start(); err != nil {
				return err
			}
		}
		if c.Process.failed != nil {
			return c.Process.failed
		}
	}
	return nil
}

// over reports whether the run need not go on.
func (c *Cluster) over() bool {
	x := c.World.explorer
	return c.invariants.busy || c.StopEarly && len(c.Violations) > 0 || x != nil && x.stopped
}

// contested reports whether a deposed process may still act, or what it did may not be known to the next one yet.
func (c *Cluster) contested() bool {
	return !c.handover.IsZero() && time.Since(c.handover) < c.Faults.MaxOverlap+c.Faults.MaxLag+c.Faults.MaxStall+time.Second
}

// settleBound is how long everything may take to come to rest after the last fault.
const settleBound = 40 * time.Minute

// restBound is how long nothing may have moved in a cluster that has come to rest.
const restBound = 5 * time.Minute

// Settle ends all faults and all actions of users, and checks that the cluster comes to rest and stays there.
// For the time quiet nothing may move then; it counts from the last movement, and is restBound at least.
func (c *Cluster) Settle(quiet time.Duration) error {
	c.User.Stopped, c.Faults.Off = true, true
	c.Process.setClock(0)
	for _, p := range All[v1.NodePool](c.API) { // nodes that expire move
		p = p.DeepCopy()
		p.Spec.Template.Spec.ExpireAfter = v1.NillableDuration{}
		switch {
		case p.Spec.Replicas == nil:
			p.Spec.Limits = nil // pods that have no place wait for ever
		case p.Spec.Limits != nil: // replicas beyond the limit would, and so would nodes that drift without a place for their replacement
			p.Spec.Limits = v1.Limits{v1.ResourceNodes: *resource.NewQuantity(*p.Spec.Replicas+1, resource.DecimalSI)}
		}
		_ = c.API.update(p, "")
	}
	for _, p := range All[opsv1alpha1.OperationsPolicy](c.API) {
		_ = c.API.Delete(p, metav1.DeleteOptions{})
	}
	for _, d := range All[appsv1.Deployment](c.API) { // their pods block drains for ever, as they should
		if d.Spec.Template.Annotations[v1.DoNotDisruptAnnotationKey] != "" {
			_ = c.API.Delete(d, metav1.DeleteOptions{})
		}
	}
	since := time.Now()
	for {
		if err := c.Run(time.Minute); err != nil {
			return err
		}
		open := c.invariants.settled()
		if c.invariants.busy || c.StopEarly && len(c.Violations) > 0 {
			return nil
		}
		if len(open) == 0 && time.Since(c.invariants.moved) > restBound {
			break
		}
		if time.Since(since) > settleBound {
			c.invariants.violated("liveness", "%v, and the last NodeClaim came or went %s ago", open, time.Since(c.invariants.moved))
			return nil
		}
	}
	before := c.invariants.moved
	if err := c.Run(quiet - time.Since(before)); err != nil {
		return err
	}
	if c.invariants.moved.After(before) {
		c.invariants.violated("churn", "a NodeClaim came or went %s before the end of a quiet time", time.Since(c.invariants.moved))
	}
	return nil
}

// Stop ends the process and lets its goroutines end.
func (c *Cluster) Stop() {
	c.World.check = func() {}
	for _, r := range c.replicas {
		r.process.Crash()
	}
	c.Process.Crash()
	c.World.Run(time.Minute)
}

// lines adds log lines to the trace.
type lines struct{ world *World }

func (l lines) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("EventSource")) || bytes.Contains(p, []byte("Shutdown signal")) || bytes.Contains(p, []byte("All workers finished")) { // in any order
		return len(p), nil
	}
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	l.world.Trace.add(time.Now(), "  "+strings.TrimSpace(string(p)))
	return len(p), nil
}

// discard is a recorder of events that nothing reads.
type discard struct{}

func (discard) Event(runtime.Object, string, string, string)                                      {}
func (discard) Eventf(runtime.Object, string, string, string, ...any)                             {}
func (discard) AnnotatedEventf(runtime.Object, map[string]string, string, string, string, ...any) {}
