package manager

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/operator"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Replica is one controller, as `karpenter controller` runs it.
type Replica struct {
	cluster *Cluster
	name    string
	// ctx ends when the replica is killed: none of its calls arrives any more.
	ctx context.Context //nolint:containedctx // the lifetime of the replica
	die context.CancelFunc
	// stop asks for an orderly stop; ended is closed once the controller has returned, with err.
	stop  context.CancelFunc
	ended chan struct{}
	err   error
	// endpoints are what it listens on, by address.
	mu        sync.Mutex
	endpoints map[string]*endpoint
	// severed is closed when the connection to the API server is back; nil while there is one. With leaseOnly it is that for the lease.
	severed   chan struct{}
	leaseOnly bool
	// wasSevered says that it may have lost its lease.
	wasSevered bool
}

// startReplica starts a replica.
func (c *Cluster) startReplica(name string) *Replica {
	r := &Replica{cluster: c, name: name, ended: make(chan struct{}), endpoints: map[string]*endpoint{}}
	r.ctx, r.die = context.WithCancel(context.Background())
	ctx, stop := context.WithCancel(r.ctx)
	r.stop = stop
	o := options.Default()
	o.LeaderElection.Namespace = namespace
	o.FeatureGates.StaticCapacity, o.FeatureGates.CapacityBuffer, o.FeatureGates.OperationsPolicy = true, true, true
	go func() {
		defer close(r.ended)
		r.err = operator.RunIn(ctx, operator.Surroundings{Config: r.config, Listen: r.listen, Shared: true}, o, operator.Process{
			Provider: r.provider(), Build: observe.Build{Version: "test"}, Log: slog.New(c.log.handler(name)),
		})
	}()
	return r
}

func (r *Replica) config() (*rest.Config, error) {
	return &rest.Config{Host: "http://kube-apiserver", Transport: &transport{cluster: r.cluster, replica: r}}, nil
}

// provider is the simulated cloud, with instances of the datacenter unless the cluster has it as it is.
func (r *Replica) provider() plugin.Provider {
	p := kwok.Provider()
	if r.cluster.simulated {
		return p
	}
	p.Open = func(c client.Client, _ options.Options, _ *observe.Telemetry, now clock.WithTicker) (cloud.Cloud, error) {
		place, err := kwok.New(c, kwok.Options{Clock: now})
		if err != nil {
			return cloud.Cloud{}, fmt.Errorf("opening the cloud: %w", err)
		}
		place.Provider, place.Rebooter, place.Register, place.UseCorrection = &account{r.cluster.datacenter, r}, nil, nil, nil
		return place, nil
	}
	return p
}

func (r *Replica) listen(_, address string) (net.Listener, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := newEndpoint(address)
	r.endpoints[address] = e
	return e, nil
}

// get asks an endpoint of the replica.
func (r *Replica) get(ctx context.Context, address, path string) (status int, text string, err error) {
	r.mu.Lock()
	e := r.endpoints[address]
	r.mu.Unlock()
	if e == nil {
		return 0, "", fmt.Errorf("%s does not listen on %s", r.name, address)
	}
	c, done := e.client()
	defer done()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.name+path, http.NoBody)
	if err != nil {
		return 0, "", fmt.Errorf("asking for %s: %w", path, err)
	}
	response, err := c.Do(request)
	if err != nil {
		return 0, "", fmt.Errorf("asking for %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// reachable waits while there is no connection to the API server; requests that wait fail afterwards. Discovery fails at once.
func (r *Replica) reachable(ctx context.Context, what operation) error {
	r.mu.Lock()
	severed := r.severed
	if r.leaseOnly && !what.lease() {
		severed = nil
	}
	r.mu.Unlock()
	switch {
	case r.ctx.Err() != nil:
		return errGone
	case severed == nil:
		return nil
	case what.resource == "":
		return errGone
	}
	select {
	case <-severed:
		return errGone
	case <-r.ctx.Done():
		return errGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sever cuts the connection to the API server for a time, or that for the lease only.
func (r *Replica) sever(d time.Duration, leaseOnly bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.severed != nil {
		return
	}
	back := make(chan struct{})
	r.severed, r.leaseOnly, r.wasSevered = back, leaseOnly, true
	time.AfterFunc(d, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.severed = nil
		close(back)
	})
}

// kill ends the replica at once. What it has asked for may have happened.
func (r *Replica) kill() { r.die() }

// slot runs one replica after another, as a Deployment does.
func (c *Cluster) slot(number int) {
	for n := 0; c.ctx.Err() == nil; n++ {
		r := c.startReplica(fmt.Sprintf("replica-%d-%d", number, n))
		c.setReplica(number, r)
		<-r.ended
		r.stop()
		r.judge()
		r.die() // what is left of it writes no more
		if sleep(c.ctx, c.chance.between(2*time.Second, 20*time.Second)) != nil {
			return
		}
	}
}

// judge checks why the controller returned.
func (r *Replica) judge() {
	r.mu.Lock()
	lost := r.wasSevered
	r.mu.Unlock()
	switch {
	case r.err == nil || r.ctx.Err() != nil:
	case lost && strings.Contains(r.err.Error(), "lease"):
		r.cluster.count("lost lease")
	case strings.Contains(r.err.Error(), "injected") || strings.Contains(r.err.Error(), errGone.Error()):
		r.cluster.count("failed start")
	default:
		r.cluster.violated("controller failed", "%s: %v", r.name, r.err)
	}
}

// logbook counts log lines.
type logbook struct {
	mu sync.Mutex
	// lines are the numbers of warnings and errors, by message; quiet those while nothing fails.
	lines, quiet map[string]int
	resting      bool
	to           slog.Handler
}

func (l *logbook) handler(replica string) slog.Handler {
	return &counted{Handler: l.to.WithAttrs([]slog.Attr{slog.String("replica", replica)}), book: l}
}

func (l *logbook) rest(resting bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resting = resting
}

// unquiet are the warnings and errors while nothing failed.
func (l *logbook) unquiet() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.quiet))
}

// counts are the numbers of warnings and errors, by message.
func (l *logbook) counts() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]int{}
	for message, n := range l.lines {
		out["logged: "+message] = n
	}
	return out
}

// counted is a handler that counts warnings and errors.
type counted struct {
	slog.Handler

	book *logbook
}

// Enabled implements slog.Handler.
func (h *counted) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *counted) Handle(ctx context.Context, line slog.Record) error {
	if line.Level >= slog.LevelWarn {
		h.book.mu.Lock()
		h.book.lines[line.Message]++
		if h.book.resting {
			text := line.Message
			line.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
			h.book.quiet[text]++
		}
		h.book.mu.Unlock()
	}
	if !h.Handler.Enabled(ctx, line.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h *counted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &counted{Handler: h.Handler.WithAttrs(attrs), book: h.book}
}

// WithGroup implements slog.Handler.
func (h *counted) WithGroup(name string) slog.Handler {
	return &counted{Handler: h.Handler.WithGroup(name), book: h.book}
}
