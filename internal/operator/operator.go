// Package operator wires the process together: configuration of the API client, manager, caches, endpoints, leader election, and an
// orderly stop. It makes no decisions; package controller lists the controllers.
//
// Order of a start: endpoints (so that a probe answers from the first moment), API server and definitions (waited for, with log lines,
// instead of crashing in a loop), indexes, controllers, caches, lease. Order of a stop: no new work, work in hand may finish for up to
// thirty seconds with a working client, then the lease is released, then the endpoints close.
//
// Source: spec, process-level surface; operator, process.
package operator

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"runtime/debug"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha5"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/approval"
	"github.com/karpenter-anew/karpenter/internal/controller"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/leader"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/served"
)

// drainTimeout is how long reconciles in progress may continue after a stop was requested.
const drainTimeout = 30 * time.Second

// Process is what Run needs besides options.
type Process struct {
	// Provider is the cloud provider that the options name.
	Provider plugin.Provider
	// Build identifies the binary.
	Build observe.Build
	// Log is the root logger.
	Log *slog.Logger
}

// Run runs the controller until ctx ends or something fails for good. It returns nil after an orderly stop.
func Run(ctx context.Context, o options.Options, p Process) error {
	routeLibraryLogs(p.Log)
	return RunIn(ctx, processSurroundings(o), o, p)
}

// RunIn is Run with other surroundings than those of the process. The log lines of libraries go where the caller routes them.
func RunIn(ctx context.Context, around Surroundings, o options.Options, p Process) error {
	p.Log.Info("starting", logfield.Version(p.Build.Version), logfield.CloudProvider(string(o.CloudProvider)), logfield.FeatureGates(o.FeatureGates.String()))
	warnOfGates(o, p.Log)
	logDefaultSpread(o, p.Log)
	if o.Process.MemoryLimit > 0 {
		debug.SetMemoryLimit(o.Process.MemoryLimit / 10 * 9)
	}
	if p.Provider.Check != nil {
		if err := p.Provider.Check(o); err != nil {
			return fmt.Errorf("checking cloud provider %q: %w", o.CloudProvider, err)
		}
	}
	registry := prometheus.NewRegistry()
	link, err := connect(around, o, p, registry)
	if err != nil {
		return err
	}
	config, now := link.config, link.clock
	ready := &readiness{}
	endpoints, err := serve(o.Serving, around.Listen, registry, ready, newAuthorizer(config, now, p.Log), p.Log)
	if err != nil {
		return err
	}
	defer endpoints.close()
	wait, err := newWaiter(config, p.Log)
	if err != nil {
		return err
	}
	if err := wait.forServer(ctx); err != nil || stopped(ctx, p.Log) {
		return err
	}
	offer, err := wait.forOffer(ctx)
	if err != nil || stopped(ctx, p.Log) {
		return err
	}
	config.Wrap((&outage{log: p.Log}).transport) // from here on; waiting logs for itself
	config.Wrap(link.held.guard)                 // outermost: a refusal is no outage
	stop := newDrain(ctx, drainTimeout)
	defer stop.end()
	endLock, err := link.lease.open()
	if err != nil {
		return err
	}
	defer endLock()
	m, err := newManager(config, link.lease, o, p, stop, around.Shared)
	if err != nil {
		return err
	}
	a := assembly{
		options: o, process: p, manager: m, registry: registry, held: link.held, stop: stop, ready: ready, clock: now, namespace: link.lease.namespace,
		offer: offer, listen: around.Listen,
	}
	return a.run(ctx, wait)
}

// connection is how the process reaches the API server.
type connection struct {
	config *rest.Config
	lease  lease
	held   *fence
	clock  *serverClock
}

// connect finds the API server and the lease. Nothing is asked yet.
func connect(around Surroundings, o options.Options, p Process, registry prometheus.Registerer) (connection, error) {
	config, err := around.Config()
	if err != nil {
		return connection{}, err
	}
	config.UserAgent = "karpenter/" + p.Build.Version
	lease, err := newLease(o.LeaderElection, config)
	if err != nil {
		return connection{}, err
	}
	held, now := &fence{leader.Fence{Log: p.Log}}, newServerClock(processClock(), p.Log)
	if lease.enabled {
		lease.config.Wrap(held.watch)
		lease.config.Wrap(now.transport)
	}
	config.QPS, config.Burst = float32(o.Client.QPS), o.Client.Burst
	config.Wrap(observe.NewAPIClientMetrics(registry).Transport)
	config.Wrap(now.transport)
	return connection{config, lease, held, now}, nil
}

// warnOfGates logs the feature gates that are set although they have no effect.
func warnOfGates(o options.Options, log *slog.Logger) {
	if gates := o.GatesWithoutEffect(); len(gates) > 0 {
		log.Warn("feature gates have no effect in this version: unset them", logfield.GatesWithoutEffect(gates))
	}
}

// logDefaultSpread names the topology spread constraints that pods without their own are planned with.
func logDefaultSpread(o options.Options, log *slog.Logger) {
	var shown []string
	for _, c := range o.Scheduling.Config.DefaultConstraints() {
		shown = append(shown, fmt.Sprintf("%s maxSkew %d %s", c.TopologyKey, c.MaxSkew, c.WhenUnsatisfiable))
	}
	if len(shown) > 0 {
		log.Info("planning pods without topology spread constraints with those of --scheduler-config", logfield.SpreadConstraints(shown))
	}
}

// stopped reports whether the process received a stop signal before any controller ran.
func stopped(ctx context.Context, log *slog.Logger) bool {
	if ctx.Err() == nil {
		return false
	}
	log.Info("stopped before the controllers started")
	return true
}

// assembly is a process whose manager exists and whose parts are put together.
type assembly struct {
	options  options.Options
	process  Process
	manager  manager.Manager
	registry prometheus.Registerer
	held     *fence
	stop     *drain
	ready    *readiness
	clock    clock.WithTicker
	// namespace is that of the controller; empty if it is unknown.
	namespace string
	// offer is what the API server offers.
	offer served.API
	// listen opens the addresses of endpoints.
	listen func(network, address string) (net.Listener, error)
}

// run builds the cloud, waits for the definitions, registers all controllers, and runs them.
func (a assembly) run(ctx context.Context, wait waiter) error {
	log := a.process.Log
	telemetry := &observe.Telemetry{Registry: a.registry, Version: a.process.Build.Version}
	place, err := a.process.Provider.Open(a.manager.GetClient(), a.options, telemetry, a.clock)
	if err != nil {
		return fmt.Errorf("building cloud provider %q: %w", a.options.CloudProvider, err)
	}
	place = place.WithDefaults()
	kinds := kindsOf(place, a.options.FeatureGates)
	if err := wait.forKinds(ctx, kinds); err != nil || stopped(ctx, log) {
		return err
	}
	if err := nodelookup.AddIndexes(ctx, a.manager.GetFieldIndexer()); err != nil {
		return fmt.Errorf("adding indexes to the cache: %w", err)
	}
	events, err := newEventSink(a.manager)
	if err != nil {
		return err
	}
	defer events.Shutdown()
	statusEvents, err := newEventSink(a.manager)
	if err != nil {
		return err
	}
	defer statusEvents.Shutdown()
	telemetry.Recorder = newRecorder(events, a.manager)
	record, reads, err := a.register(place, telemetry, newRecorder(statusEvents, a.manager))
	if err != nil {
		return err
	}
	defer record.close()
	console, err := a.serveConsole(record, newLiveState(a, place, reads.watched.Objects(), reads.watched.Ready), reads.commands)
	if err != nil {
		return err
	}
	defer console.close()
	a.ready.attach(&assembled{manager: a.manager, server: wait.server, kinds: kinds, log: log})
	if err := a.manager.Start(ctx); err != nil {
		return explain(err)
	}
	log.Info("stopped: reconciles in progress are finished, the lease is released")
	return nil
}

// watcher follows the objects that the cluster state is made of.
type watcher interface {
	// Objects are empty ones of each kind.
	Objects() []client.Object
	// Ready reports whether all objects that existed at the start are there.
	Ready() bool
}

// shown are the controllers that the console reads.
type shown struct {
	watched  watcher
	commands commander
}

// register adds all controllers to the manager. It returns the ledger that they record their decisions in, nil if there is none, and the controllers
// that the console reads.
func (a assembly) register(place cloud.Cloud, telemetry *observe.Telemetry, statuses *observe.Recorder) (record *decisions, reads shown, err error) {
	metrics := observe.NewMetrics(a.registry, slices.Sorted(maps.Keys(place.Labels.WellKnown)), classLabels(place)...)
	metrics.SetBuild(a.process.Build)
	telemetry.Metrics = metrics
	settings, err := newPublisher(a, place) // needs the provider as it was opened
	if err != nil {
		return nil, shown{}, err
	}
	record = newDecisions(a, metrics, settings.data)
	place.Provider = instrument(a.stop.provider(a.held.provider(place.Provider)), place.Name, metrics)
	place.Rebooter = instrumentRebooter(a.stop.rebooter(a.held.rebooter(place.Rebooter)), place.Name, metrics)
	notifier, err := a.notifier(metrics)
	if err != nil {
		return nil, shown{}, err
	}
	controllers, err := controller.All(controller.Parts{
		Manager: a.manager, Client: a.manager.GetClient(), Clock: a.clock, Cloud: place,
		Recorder: telemetry.Recorder, StatusRecorder: statuses, Metrics: metrics, Log: a.process.Log, Options: a.options,
		Served: a.offer, Ledger: record.source(), Admission: approval.NewAdmission(a.manager.GetAPIReader(), a.manager.GetClient()),
		Notifier: notifier,
	})
	if err != nil {
		return nil, shown{}, fmt.Errorf("building controllers: %w", err)
	}
	for _, c := range controllers {
		if err := c.Register(a.manager); err != nil {
			return nil, shown{}, fmt.Errorf("registering controller %T: %w", c, err)
		}
		if w, ok := c.(watcher); ok {
			reads.watched = w
		}
		if w, ok := c.(commander); ok {
			reads.commands = w
		}
	}
	if place.Register != nil {
		if err := place.Register(a.manager); err != nil {
			return nil, shown{}, fmt.Errorf("registering the controllers of cloud provider %q: %w", place.Name, err)
		}
	}
	if err := a.manager.Add(settings); err != nil {
		return nil, shown{}, fmt.Errorf("registering the publisher of settings: %w", err)
	}
	// Runs on the leader only, like all controllers that write.
	return record, reads, a.manager.Add(manager.RunnableFunc(func(context.Context) error {
		a.process.Log.Info("elected leader")
		return nil
	}))
}

// classLabels are the labels by which objects name their NodeClass, in the order of the cloud.
func classLabels(place cloud.Cloud) []string {
	var out []string
	for _, class := range place.NodeClasses {
		out = append(out, class.LabelKey())
	}
	return out
}

// newScheme returns a scheme with the types of Kubernetes, of Karpenter and of the cloud provider.
func newScheme(p plugin.Provider) (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme, v1alpha1.AddToScheme, opsv1alpha1.AddToScheme, v1beta1.AddToScheme, v1alpha5.AddToScheme}
	if p.AddToScheme != nil {
		add = append(add, p.AddToScheme)
	}
	for _, f := range add {
		if err := f(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}
