// Package machinebatch requests AKSMachines in batches: AKS creates up to 50 that differ only in their names, tags and zones by one request,
// whereas requests for single ones are throttled after few.
//
// A batch closes when no request has come for a while, when it has waited long enough, or when it is full. One goroutine holds the open
// batches, so that none is ever larger than allowed: what arrives while one is sent is in the next.
//
// Source: Azure provider specification, header batching.
package machinebatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/azure/aksmachine"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
)

// ErrShuttingDown is the error of AKSMachines that were not requested because the controller ends.
var ErrShuttingDown = errors.New("the AKSMachine was not requested: the controller is shutting down")

// Sender requests the AKSMachines of a batch; machineapi.Client is one.
type Sender interface {
	CreateBatch(ctx context.Context, batch []machineapi.InBatch, body any) error
}

// Options configure a Batcher.
type Options struct {
	Sender Sender
	// Idle is for how long no request may come before all batches are sent, Max the longest time that a request waits.
	Idle, Max time.Duration
	// Size is the most AKSMachines of a batch, at least 1. AKS allows 50.
	Size  int
	Clock clock.Clock
}

// Batcher collects requests for AKSMachines of one agent pool. Make one with New, and run Start. It is safe for concurrent use.
type Batcher struct {
	options  Options
	arrivals chan request
	ended    chan struct{}
}

// request is what a caller waits for.
type request struct {
	key      string
	template *aksmachine.Body
	machine  machineapi.InBatch
	// result has space for the one result, so that a caller may leave.
	result chan error
}

// New returns a batcher. Callers wait until Start runs.
func New(o Options) *Batcher {
	return &Batcher{options: o, arrivals: make(chan request), ended: make(chan struct{})}
}

// Create requests an AKSMachine, together with others, and returns once Azure has accepted or refused it. Errors that Azure has for this
// AKSMachine are of type machineapi.Error; others concern all of the batch, and say nothing about what exists. If the context ends, the
// request is sent nevertheless.
func (b *Batcher) Create(ctx context.Context, name string, body *aksmachine.Body) error {
	r, err := newRequest(name, body)
	if err != nil {
		return err
	}
	select {
	case b.arrivals <- r:
	case <-b.ended:
		return ErrShuttingDown
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newRequest separates what AKSMachines of a batch share from what they do not: their names and tags, and their zones unless they have
// ultra disks.
func newRequest(name string, body *aksmachine.Body) (request, error) {
	template := *body
	template.Properties.Tags = nil
	if !body.Properties.Hardware.UltraSSDEnabled {
		template.Zones = []string{}
	}
	key, err := json.Marshal(&template)
	if err != nil {
		return request{}, fmt.Errorf("encoding AKSMachine %q: %w", name, err)
	}
	return request{
		key: string(key), template: &template, result: make(chan error, 1),
		machine: machineapi.InBatch{Name: name, Zones: body.Zones, Tags: body.Properties.Tags},
	}, nil
}

// batch are AKSMachines with the same template.
type batch struct {
	template *aksmachine.Body
	machines []machineapi.InBatch
	// callers wait for the AKSMachine at the same place. One that has left, and comes again, waits for the same AKSMachine.
	callers [][]chan error
}

func (b *batch) add(r request) {
	for i := range b.machines {
		if b.machines[i].Name == r.machine.Name {
			b.callers[i] = append(b.callers[i], r.result)
			return
		}
	}
	b.machines, b.callers = append(b.machines, r.machine), append(b.callers, []chan error{r.result})
}

// finish gives each caller its result.
func (b *batch) finish(results []error) {
	for i, callers := range b.callers {
		for _, caller := range callers {
			caller <- results[i]
		}
	}
}

// Start collects and sends requests until the context ends. Requests that wait then are not sent.
func (b *Batcher) Start(ctx context.Context) error {
	defer close(b.ended)
	var sending sync.WaitGroup
	defer sending.Wait()
	open := map[string]*batch{}
	idle, limit := newTimer(b.options.Clock), newTimer(b.options.Clock)
	defer idle.stop()
	defer limit.stop()
	send := func() {
		for key, batch := range open {
			delete(open, key)
			sending.Go(func() { batch.finish(b.send(ctx, batch)) })
		}
		idle.stop()
		limit.stop()
	}
	for {
		select {
		case <-ctx.Done():
			for _, batch := range open {
				batch.finish(everyone(len(batch.machines), ErrShuttingDown))
			}
			return nil
		case r := <-b.arrivals:
			if len(open) == 0 {
				limit.start(b.options.Max)
			}
			if open[r.key] == nil {
				open[r.key] = &batch{template: r.template}
			}
			open[r.key].add(r)
			idle.start(b.options.Idle)
			if len(open[r.key].machines) >= b.options.Size {
				send()
			}
		case <-idle.fires():
			send()
		case <-limit.fires():
			send()
		}
	}
}

// send requests the AKSMachines of a batch. A panic is an error of each: callers would wait for ever otherwise.
func (b *Batcher) send(ctx context.Context, batch *batch) (results []error) {
	defer func() {
		if cause := recover(); cause != nil {
			results = everyone(len(batch.machines), fmt.Errorf("requesting %d AKSMachines: panic: %v", len(batch.machines), cause))
		}
	}()
	return distribute(batch.machines, b.options.Sender.CreateBatch(ctx, batch.machines, batch.template))
}

// timer is one that can be off.
type timer struct {
	clock   clock.Clock
	running clock.Timer
}

func newTimer(c clock.Clock) *timer { return &timer{clock: c} }

// start lets the timer fire after a duration from now.
func (t *timer) start(d time.Duration) {
	t.stop()
	t.running = t.clock.NewTimer(d)
}

func (t *timer) stop() {
	if t.running != nil {
		t.running.Stop()
		t.running = nil
	}
}

// fires returns the channel of the timer; nil if it is off.
func (t *timer) fires() <-chan time.Time {
	if t.running == nil {
		return nil
	}
	return t.running.C()
}
