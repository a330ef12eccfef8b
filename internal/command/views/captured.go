// Package views reads what people look at in a console or a terminal: a snapshot, or a live cluster that is captured again while they look, and the
// decision ledger.
package views

import (
	"context"
	"sync"
	"time"

	"github.com/alecthomas/kong"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/command/source"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// From is where the state of a cluster is from.
type From struct {
	// Name is what the subcommand is called.
	Name    string
	Cluster *source.Cluster
	// Refresh is how old the state of a live cluster may become. With Watch it is that of what cannot be watched, and of the answers of the engine.
	Refresh time.Duration
	// Watch follows the changes of a live cluster, in place of reading it again.
	Watch bool
	Clock clock.PassiveClock
}

// Capture reads a cluster. Later captures of a live one end with ctx.
func Capture(ctx context.Context, k *kong.Context, s command.Streams, from From) (*Captured, error) {
	c := &Captured{from: from, kong: k, streams: s, background: ctx}
	if from.Watch && from.Cluster.Snapshot == "" {
		var err error
		if c.watched, err = from.Cluster.Watch(ctx, from.Name); err != nil {
			return nil, err
		}
	}
	if _, err := c.State(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Tell says on standard error which settings are used, and what was left out.
func (c *Captured) Tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held.Tell(c.streams.Err, c.opened)
}

// Captured is a snapshot, or a live cluster that is watched, or captured again when its state is old and a client asks. It implements view.Cluster.
type Captured struct {
	from    From
	kong    *kong.Context
	streams command.Streams
	// background is the context of captures that no request waits for.
	background context.Context
	// watched is the cluster if it is watched; nil otherwise.
	watched *source.Watched

	mu        sync.Mutex
	held      *source.State
	opened    plugin.Opened
	state     simulation.ClusterState
	capturing bool
	// failure is why the last capture failed.
	failure error
	// following is the progress of a cluster that is watched.
	following following
}

// State implements view.Cluster.
func (c *Captured) State(ctx context.Context) (simulation.ClusterState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watched != nil {
		return c.follow(ctx)
	}
	if c.held == nil {
		if err := c.replace(c.capture(ctx)); err != nil {
			return simulation.ClusterState{}, err
		}
		return c.state, nil
	}
	live := c.from.Cluster.Snapshot == ""
	if live && !c.capturing && c.from.Clock.Since(c.state.Options.Now) > c.from.Refresh {
		c.capturing = true
		go c.recapture()
	}
	out := c.state
	if c.failure != nil {
		out.Failure = c.failure.Error()
	}
	return out, nil
}

func (c *Captured) recapture() {
	taken, err := c.capture(c.background)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.capturing = false
	c.failure = c.replace(taken, err)
}

// captured is what a capture returns.
type captured struct {
	held   *source.State
	opened plugin.Opened
}

func (c *Captured) capture(ctx context.Context) (captured, error) {
	held, err := c.from.Cluster.Read(ctx, c.kong, c.streams, c.from.Name)
	if err != nil {
		return captured{}, err
	}
	opened, err := held.Open(ctx, held.Objects)
	return captured{held, opened}, err
}

// MaxAge is how long a state is the same while its objects are: the answers of the engine depend on the time, too.
const MaxAge = time.Minute

// replace makes a capture the present state. The lock is held.
func (c *Captured) replace(taken captured, err error) error {
	if err != nil {
		return err
	}
	options := taken.held.Policies()
	same := c.held != nil && options.Now.Sub(c.state.Options.Now) < MaxAge && equality.Semantic.DeepEqual(c.held.Objects, taken.held.Objects)
	c.held, c.opened = taken.held, taken.opened
	if same {
		c.state.Options.Now = options.Now
		return nil
	}
	c.show(options)
	return nil
}

// show makes what was opened the state that is shown. The lock is held.
func (c *Captured) show(options simulation.Options) {
	c.state = simulation.ClusterState{
		Objects: c.opened.Objects, Version: c.state.Version + 1, Cloud: c.opened.Cloud, Options: options, Origin: c.origin(),
		Unknown: append([]string{
			"what only the memory of the controller has: commands that wait or are under way, backoff after failed commands, and offerings that are unavailable",
		}, c.opened.Notes...),
	}
}

// origin is a name for the cluster.
func (c *Captured) origin() string {
	if file := c.from.Cluster.Snapshot; file != "" {
		return file
	}
	config, err := c.from.Cluster.Access.RESTConfig()
	if err != nil {
		return "cluster"
	}
	return config.Host
}

// Held is what was captured last.
func (c *Captured) Held() *source.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}
