package sim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/karpenter-anew/karpenter/embedded/kubelet"
	"github.com/karpenter-anew/karpenter/embedded/scheduler"
	"github.com/karpenter-anew/karpenter/embedded/workloads"
)

// actor is a component of the cluster that takes steps when something has changed, or is due.
type actor struct {
	name  string
	world *World
	api   *API
	// step does what is due and returns when something will be, or the zero time.
	step        func() (time.Time, error)
	least, most time.Duration

	mu  sync.Mutex
	due bool
	// next is when the actor acts even if nothing changes.
	next *event
}

// wake schedules a step.
func (a *actor) wake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.due {
		return
	}
	a.due = true
	a.world.soon(a.name, a.name, a.least, a.most, a.run)
}

func (a *actor) run() {
	a.mu.Lock()
	a.due = false
	if a.next != nil {
		a.world.stop(a.next)
		a.next = nil
	}
	a.mu.Unlock()
	var next time.Time
	err := a.api.do(func() (err error) {
		next, err = a.step()
		return err
	})
	switch {
	case err != nil && !transient(err):
		panic(fmt.Sprintf("%s: %v", a.name, err))
	case err != nil:
		next = time.Now().Add(100 * time.Millisecond)
	}
	if next.IsZero() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = a.world.after(max(time.Millisecond, time.Until(next)), a.name+" due", a.wake)
}

// addActors adds what a cluster has beside the controllers of this project. Each acts some time after something has changed.
func addActors(w *World, api *API, zones []string) {
	kubelets, placer, f := &kubelet.Kubelets{}, &scheduler.Scheduler{}, api.faults
	disks := &volumes{world: w, faults: f, zones: zones, due: map[string]time.Time{}}
	never := func(f func() error) func() (time.Time, error) {
		return func() (time.Time, error) { return time.Time{}, f() }
	}
	for _, a := range []*actor{
		{name: "kubelets", least: 50 * time.Millisecond, most: max(2*time.Second, f.MaxKubelet), step: func() (time.Time, error) { return kubelets.Step(api.View) }},
		{name: "kube-scheduler", least: 5 * time.Millisecond, most: max(100*time.Millisecond, f.MaxBind), step: never(func() error { return placer.Step(context.Background(), api.View) })},
		{name: "workloads", least: 5 * time.Millisecond, most: 100 * time.Millisecond, step: never(func() error { return workloads.Step(api.View) })},
		{name: "volumes", least: 5 * time.Millisecond, most: 100 * time.Millisecond, step: func() (time.Time, error) { return disks.step(api.View) }},
		{name: "garbage collector", least: 50 * time.Millisecond, most: time.Second, step: func() (time.Time, error) {
			wrote, err := api.Registry.Collect()
			if wrote {
				return time.Now().Add(10 * time.Millisecond), err
			}
			return time.Time{}, err
		}},
	} {
		a.world, a.api = w, api
		api.onWrite(a.wake)
	}
}
