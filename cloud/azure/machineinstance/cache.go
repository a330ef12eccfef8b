package machineinstance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// cacheTTL is how old the list of AKSMachines may be.
const cacheTTL = 30 * time.Second

// cache holds all AKSMachines of the agent pool, as they were listed at one time or read since. A read of what is too old asks for a new
// list, which is read in the background.
//
// A list takes a while. What changes meanwhile must not be undone by it: each change has a serial number, and a list, or the answer to a
// request for one AKSMachine, changes only what has not changed since it was requested.
type cache struct {
	clock clock.PassiveClock
	list  func(context.Context) ([]*machineapi.AKSMachine, error)
	// wanted has an item if a new list is needed; listing has one while a list is read.
	wanted, listing chan struct{}

	mu       sync.Mutex
	listed   time.Time
	machines map[string]*machineapi.AKSMachine
	// changed are the serial numbers of the last changes, of AKSMachines that exist and of such that do not.
	changed map[string]int
	// serial is that of the last change, listSerial what it was when the list was requested.
	serial, listSerial int
}

func newCache(clock clock.PassiveClock, list func(context.Context) ([]*machineapi.AKSMachine, error)) *cache {
	return &cache{
		clock: clock, list: list, wanted: make(chan struct{}, 1), listing: make(chan struct{}, 1),
		machines: map[string]*machineapi.AKSMachine{}, changed: map[string]int{},
	}
}

// start reads lists when they are wanted, until the context ends.
func (c *cache) start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wanted:
			if err := c.refresh(ctx); err != nil && ctx.Err() == nil {
				observe.Log(ctx).InfoContext(ctx, "cannot list AKSMachines; single ones are read until it succeeds", logfield.Error(err))
			}
		}
	}
}

// fresh reports whether the list is not too old. If it is, a new one is wanted. The caller holds the lock.
func (c *cache) fresh() bool {
	if !c.listed.IsZero() && c.clock.Since(c.listed) < cacheTTL {
		return true
	}
	select {
	case c.wanted <- struct{}{}:
	default:
	}
	return false
}

// get returns an AKSMachine; nil if there is none. fresh is false, and the result nil, if the list is too old.
func (c *cache) get(name string) (found *machineapi.AKSMachine, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.fresh() {
		return nil, false
	}
	return c.machines[strings.ToLower(name)], true
}

// all returns all AKSMachines by name; it reads a list if what is known is too old.
func (c *cache) all(ctx context.Context) ([]*machineapi.AKSMachine, error) {
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*machineapi.AKSMachine, 0, len(c.machines))
	for _, name := range slices.Sorted(maps.Keys(c.machines)) {
		out = append(out, c.machines[name])
	}
	return out, nil
}

// now returns the serial number of the last change.
func (c *cache) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.serial
}

// set stores what a request says of an AKSMachine, nil that there is none, unless it has changed after the serial number since.
func (c *cache) set(name string, m *machineapi.AKSMachine, since int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name = strings.ToLower(name)
	if c.changed[name] > since || c.listSerial > since {
		return
	}
	c.serial++
	c.changed[name] = c.serial
	if m == nil {
		delete(c.machines, name)
	} else {
		c.machines[name] = m
	}
}

// drop forgets an AKSMachine that is being changed or deleted.
func (c *cache) drop(name string) { c.set(name, nil, c.now()) }

// refresh reads a list, unless there is one that is not too old. Callers at the same time share one.
func (c *cache) refresh(ctx context.Context) error {
	select {
	case c.listing <- struct{}{}:
		defer func() { <-c.listing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	serial, began, fresh := c.serial, c.clock.Now(), c.fresh()
	c.mu.Unlock()
	if fresh {
		return nil
	}
	listed, err := c.list(ctx)
	if err != nil && !machineapi.IsNotFound(err) {
		return fmt.Errorf("listing AKSMachines: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	machines := make(map[string]*machineapi.AKSMachine, len(listed))
	for _, m := range listed {
		machines[strings.ToLower(m.Name)] = m
	}
	for name, at := range c.changed {
		if at <= serial {
			delete(c.changed, name)
			continue
		}
		delete(machines, name)
		if now := c.machines[name]; now != nil {
			machines[name] = now
		}
	}
	c.machines, c.listed, c.listSerial = machines, began, serial
	return nil
}
