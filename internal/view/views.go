package view

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/explain"
	"github.com/karpenter-anew/karpenter/internal/forecast/report"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// ClusterState is a cluster at one moment.
type ClusterState = simulation.ClusterState

// Cluster is where the views of the present come from.
type Cluster interface {
	// State is the newest state. It is called for each request, and at most about once per second for each client that waits for changes.
	State(ctx context.Context) (ClusterState, error)
}

// Compare returns what manifests would change in a state.
type Compare func(ctx context.Context, s ClusterState, manifests []byte) (report.Diff, error)

// Views computes views of a cluster, and implements Source. The engine is asked once for each state, in the background of the requests. It is safe
// for concurrent use.
type Views struct {
	cluster Cluster
	records *chronicle
	clock   clock.WithTicker
	compare Compare
	// commands has those of the process; nil if they are not known.
	commands CommandReader
	// commandChanges is what commands counted last.
	commandChanges uint64
	// patience is how long answers wait for what they can do without.
	patience time.Duration
	// pause is the time between two looks for changes.
	pause time.Duration

	mu       sync.Mutex
	revision uint64
	current  *present
	// failure is why the cluster could not be read again.
	failure string
	// analyzed is the newest analysis that is complete, analyzing the one under way; bound likewise.
	analyzed, analyzing *analysis
	bound               *Bound
	bounded             *present
	bounding            chan struct{}
}

// present are the answers about one state, computed when first asked for.
type present struct {
	state     ClusterState
	inventory *inventory
}

// analysis is the engine's answer about one state.
type analysis struct {
	of   *present
	done chan struct{}
	err  error

	// turn is held while engine is used: it is for one goroutine at a time.
	turn   sync.Mutex
	engine explain.Analysis
	causes map[string]explain.Cause
	// pools are the answers about NodePools without simulations, whole those with them.
	pools, whole map[string]explain.NodePool
	moves        *proposals
}

// New returns the views of a cluster. records may be nil where there is no ledger.
func New(cluster Cluster, records ledger.Records, c clock.WithTicker) *Views {
	v := &Views{cluster: cluster, clock: c, patience: defaultPatience, pause: defaultPause, revision: 1}
	if records != nil {
		v.records = newChronicle(records)
	}
	return v
}

// CompareEdits makes the views compare edits; without it they refuse to. It is called before anything is asked.
func (v *Views) CompareEdits(compare Compare) *Views {
	v.compare = compare
	return v
}

// LookEvery makes Changes look for changes at this interval, in place of once per second. It is called before anything is asked.
func (v *Views) LookEvery(pause time.Duration) *Views {
	v.pause = pause
	return v
}

// defaultPause suits clusters whose state costs something to read.
const defaultPause = time.Second

// defaultPatience keeps the fleet below 300 ms where the engine takes longer.
const defaultPatience = 100 * time.Millisecond

// now returns the newest state.
func (v *Views) now(ctx context.Context) (*present, error) {
	s, err := v.cluster.State(ctx)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.current == nil || v.current.state.Version != s.Version {
		v.current = &present{state: s}
		v.revision++
	}
	if v.commands != nil {
		if n := v.commands.Changes(); n != v.commandChanges {
			v.commandChanges = n
			v.revision++
		}
	}
	if v.failure != s.Failure {
		v.failure = s.Failure
		v.revision++
	}
	return v.current, nil
}

// head begins a view of the present.
func (v *Views) head(kind string, p *present) Head {
	v.mu.Lock()
	defer v.mu.Unlock()
	return Head{
		Version: Version, Kind: kind, At: p.state.Options.Now.UTC(), Revision: v.revision, Origin: p.state.Origin,
		Failure: v.failure, Unknown: append([]string{}, p.state.Unknown...),
	}
}

// take returns the inventory of a state.
func (v *Views) take(ctx context.Context, p *present) *inventory {
	v.mu.Lock()
	defer v.mu.Unlock()
	if p.inventory == nil {
		p.inventory = newInventory(ctx, p.state)
	}
	return p.inventory
}

// start starts the analysis of a state unless one is under way, and returns the one that is.
func (v *Views) start(ctx context.Context, p *present) *analysis {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.analyzed.serves(p) {
		return v.analyzed
	}
	if v.analyzing != nil {
		return v.analyzing
	}
	a := &analysis{of: p, done: make(chan struct{}), pools: map[string]explain.NodePool{}, whole: map[string]explain.NodePool{}}
	v.analyzing = a
	go v.analyze(context.WithoutCancel(ctx), a)
	return a
}

// serves reports whether an analysis is the answer for a state: it is of that state, or of an earlier one that is good enough.
func (a *analysis) serves(p *present) bool {
	if a == nil {
		return false
	}
	return a.of == p || a.err == nil && p.state.Options.Now.Sub(a.of.state.Options.Now) < p.state.Rest
}

// lateness says in a sentence that an analysis is of an earlier state; empty if it is not.
func (a *analysis) lateness(p *present, what string) []string {
	if a.of == p {
		return nil
	}
	return []string{what + ": this is as of " + stamp(a.of.state.Options.Now)}
}

// analyze asks the engine.
func (v *Views) analyze(ctx context.Context, a *analysis) {
	defer func() {
		if trouble := recover(); trouble != nil {
			a.err = fmt.Errorf("the analysis of the cluster failed: %v\n%s", trouble, debug.Stack())
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.analyzing = nil
		if v.analyzed = a; a.err == nil {
			v.revision++
		}
		close(a.done)
	}()
	s := a.of.state
	a.engine, a.err = explain.NewAnalysis(ctx, explain.Question{Objects: s.Objects, Cloud: s.Cloud, Options: s.Options})
	if a.err == nil {
		a.causes = a.engine.Causes()
	}
}

// analysisOf waits for the analysis of a state, or of an earlier one that is good enough, and returns it with the right to use its engine until
// release is called.
func (v *Views) analysisOf(ctx context.Context, p *present) (a *analysis, release func(), err error) {
	for {
		a = v.start(ctx, p)
		select {
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("waiting for the analysis of the cluster: %w", ctx.Err())
		case <-a.done:
		}
		if a.serves(p) {
			break
		}
	}
	if a.err != nil {
		return nil, nil, a.err
	}
	a.turn.Lock()
	return a, a.turn.Unlock, nil
}

// causes are the reasons to disrupt nodes, of the newest analysis that is there soon. late says in a sentence that there is none for the state, or is
// empty.
func (v *Views) causes(ctx context.Context, p *present) (causes map[string]explain.Cause, late string) {
	a := v.start(ctx, p)
	timeout := v.clock.NewTimer(v.patience)
	defer timeout.Stop()
	select {
	case <-a.done:
	case <-timeout.C():
	case <-ctx.Done():
	}
	v.mu.Lock()
	a = v.analyzed
	v.mu.Unlock()
	const unknown = "why nodes are disrupted or blocked"
	switch {
	case a == nil:
		return nil, unknown + " is being computed: reason, obstacle and the state blocked are missing until then"
	case a.err != nil:
		return nil, unknown + " is not known: " + a.err.Error()
	case a.of != p:
		return a.causes, unknown + " is as of " + a.of.state.Options.Now.UTC().Format(time.RFC3339) + ", the newer state is being computed"
	}
	return a.causes, ""
}

// Revision implements Revised.
func (v *Views) Revision(ctx context.Context) (uint64, error) {
	if _, err := v.now(ctx); err != nil {
		return 0, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.revision, nil
}

// Changes implements Source.
func (v *Views) Changes(ctx context.Context) <-chan uint64 {
	out := make(chan uint64)
	go func() {
		defer close(out)
		ticks := v.clock.NewTicker(v.pause)
		defer ticks.Stop()
		last := uint64(0)
		for {
			// An error is that of the requests, too.
			_, _ = v.now(ctx)
			v.mu.Lock()
			revision := v.revision
			v.mu.Unlock()
			if revision != last {
				select {
				case out <- revision:
					last = revision
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-ticks.C():
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// Edit implements Source.
func (v *Views) Edit(ctx context.Context, manifests []byte) (report.Diff, error) {
	p, err := v.now(ctx)
	if err != nil {
		return report.Diff{}, err
	}
	if v.compare == nil {
		return report.Diff{}, fmt.Errorf("%w: edits are not compared here: run karpenter diff -f FILE, or karpenter console, on your host", ErrInvalid)
	}
	return v.compare(ctx, p.state, manifests)
}

// errNoLedger is the error of questions about the past where there is no ledger.
var errNoLedger = fmt.Errorf("%w: there is no ledger here, and without it nothing is known about the past: give its directory or the address of a controller with --ledger", ErrNotFound)

// past returns the records up to a moment.
func (v *Views) past(ctx context.Context, at time.Time) (*moment, error) {
	if v.records == nil {
		return nil, errNoLedger
	}
	return v.records.at(ctx, at)
}

// origin is that of the present; the ledger does not know it.
func (v *Views) origin() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.current == nil {
		return ""
	}
	return v.current.state.Origin
}

// headAt begins a view of the past.
func (v *Views) headAt(ctx context.Context, kind string, m *moment) Head {
	if v.origin() == "" {
		_, _ = v.now(ctx) // the past is known without the present
	}
	return Head{Version: Version, Kind: kind, At: m.at.UTC(), Past: true, Origin: v.origin(), Unknown: slices.Clone(m.unknown)}
}
