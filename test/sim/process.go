package sim

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/internal/controller"
	"github.com/karpenter-anew/karpenter/internal/controller/termination"
)

// Process is one process with controllers. It is a manager.Manager that runs what is added to it under the world.
type Process struct {
	manager.Manager // nil: what is not implemented here is not used

	world  *World
	api    *API
	cache  *informers
	client *processClient
	log    logr.Logger
	ctx    context.Context //nolint:containedctx // the lifetime of the process
	cancel context.CancelFunc

	mu        sync.Mutex
	crashed   bool
	deposed   bool
	runnables []manager.Runnable
	running   sync.WaitGroup
	failed    error
	// skew is how far the wall clock is ahead.
	skew time.Duration
	// replica is what has the lease; nil where there is none. frozen is until when the process stands still.
	replica *replica
	frozen  time.Time
	// controllers and queues are what its state is made of.
	controllers []controller.Controller
	queues      []interface{ state(h *hasher) uint64 }
}

// NewProcess returns a process without controllers, which logs to handler.
func NewProcess(w *World, api *API, handler slog.Handler) *Process {
	p := &Process{world: w, api: api}
	p.log = logr.FromSlogHandler(processLog{handler, p})
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.cache = newInformers(p)
	p.client = &processClient{process: p}
	return p
}

// Clock is that of the process.
func (p *Process) Clock() *Clock {
	return &Clock{world: p.world, process: p, alive: p.alive, skew: p.ahead}
}

// ahead is how far the wall clock of the process is ahead.
func (p *Process) ahead() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.skew
}

// jump sets the wall clock wrong.
func (p *Process) jump() {
	d := p.api.faults.MaxJump
	p.setClock(p.world.between("clock jump", -d, d))
}

func (p *Process) setClock(skew time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skew = skew
}

func (p *Process) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.crashed
}

// arrive schedules an item of a queue.
func (p *Process) arrive(name string, hand func()) {
	if !p.alive() {
		return
	}
	p.world.soon(name, "queue", 0, 2*time.Millisecond, hand).process = p
}

// Boot starts everything that was added. It returns once all controllers run.
func (p *Process) Boot() {
	p.mu.Lock()
	all := slices.Clone(p.runnables)
	p.mu.Unlock()
	for _, r := range all {
		p.world.act(nameOf(r))
		p.running.Go(func() {
			if err := r.Start(p.ctx); err != nil && p.ctx.Err() == nil {
				p.mu.Lock()
				p.failed = fmt.Errorf("%s: %w", nameOf(r), err)
				p.mu.Unlock()
			}
		})
		p.world.settle()
	}
}

// Crash ends the process between two of its steps: none of its calls arrives any more.
func (p *Process) Crash() {
	p.mu.Lock()
	p.crashed = true
	p.mu.Unlock()
	p.cancel()
}

// freeze makes the process stand still: nothing that it does, or that it is told, happens before.
func (p *Process) freeze(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = time.Now().Add(d)
}

// thaws is until when the process stands still.
func (p *Process) thaws() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frozen
}

// pause is that of the world, which a process that stands still does not end.
func (p *Process) pause(name, stream string, least, most time.Duration) {
	p.world.pauseOf(p, name, stream, least, most)
}

// processLog is the log of a process. One that has crashed writes nothing more, as its goroutines end in any order.
type processLog struct {
	slog.Handler

	process *Process
}

// Enabled implements slog.Handler.
func (l processLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.process.alive() && l.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (l processLog) Handle(ctx context.Context, r slog.Record) error {
	if !l.process.alive() {
		return nil
	}
	return l.Handler.Handle(ctx, r) //nolint:wrapcheck // it is that of the handler
}

// WithAttrs implements slog.Handler.
func (l processLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return processLog{l.Handler.WithAttrs(attrs), l.process}
}

// WithGroup implements slog.Handler.
func (l processLog) WithGroup(name string) slog.Handler {
	return processLog{l.Handler.WithGroup(name), l.process}
}

// depose makes another process start while this one still acts, for a while.
func (p *Process) depose() {
	if p.replica != nil { // the lease decides
		return
	}
	p.mu.Lock()
	before := p.deposed
	p.deposed = true
	p.mu.Unlock()
	if !before {
		p.world.soon("end of a deposed process", "handover", 0, p.api.faults.MaxOverlap, p.Crash)
	}
}

// leads is whether no other process is to be started.
func (p *Process) leads() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.crashed && !p.deposed
}

// nameOf names a runnable: controllers have names.
func nameOf(r manager.Runnable) string {
	if f := reflect.Indirect(reflect.ValueOf(r)); f.Kind() == reflect.Struct {
		if name := f.FieldByName("Name"); name.IsValid() && name.Kind() == reflect.String {
			return name.String()
		}
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", r), "*")
}

// Add implements manager.Manager. Controllers get queues of the world: the type of controllers is internal to controller-runtime, its
// field NewQueue is exported.
func (p *Process) Add(r manager.Runnable) error {
	name := nameOf(r)
	var constructor any
	switch r.(type) {
	case interface {
		Reconcile(context.Context, reconcile.Request) (reconcile.Result, error)
	}:
		constructor = queues[reconcile.Request](p, name)
	case interface {
		Reconcile(context.Context, termination.PodKey) (reconcile.Result, error)
	}:
		constructor = queues[termination.PodKey](p, name)
	}
	if constructor != nil {
		reflect.ValueOf(r).Elem().FieldByName("NewQueue").Set(reflect.ValueOf(constructor))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runnables = append(p.runnables, r)
	return nil
}

func queues[T comparable](p *Process, name string) func(string, workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	return func(_ string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
		q := newQueue(p, name, limiter)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.queues = append(p.queues, q)
		return q
	}
}

// GetCache implements cluster.Cluster.
func (p *Process) GetCache() cache.Cache { return p.cache }

// GetClient implements cluster.Cluster: it reads from the cache.
func (p *Process) GetClient() client.Client { return p.client }

// GetAPIReader implements cluster.Cluster: it reads from the API server.
func (p *Process) GetAPIReader() client.Reader { return liveReader{p.client} }

// GetFieldIndexer implements cluster.Cluster.
func (p *Process) GetFieldIndexer() client.FieldIndexer { return p.cache }

// GetScheme implements cluster.Cluster.
func (p *Process) GetScheme() *runtime.Scheme { return p.api.Scheme }

// GetRESTMapper implements cluster.Cluster.
func (p *Process) GetRESTMapper() meta.RESTMapper { return p.api.Mapper() }

// GetLogger implements manager.Manager.
func (p *Process) GetLogger() logr.Logger { return p.log }

// GetConfig implements cluster.Cluster.
func (p *Process) GetConfig() *rest.Config { return &rest.Config{} }

// GetHTTPClient implements cluster.Cluster.
func (p *Process) GetHTTPClient() *http.Client { return nil }

// GetControllerOptions implements manager.Manager: processes with controllers of the same names follow each other.
func (p *Process) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: ptr.To(true), Logger: p.log, UsePriorityQueue: ptr.To(false)}
}
