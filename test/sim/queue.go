package sim

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// queue is the work queue of a controller as data: items wait until the world hands them to a worker.
// It keeps the promise of workqueue.Interface: an item is worked on once at a time, and again if it was added meanwhile.
type queue[T comparable] struct {
	name    string
	process *Process
	limiter workqueue.TypedRateLimiter[T]
	handed  chan T
	closed  chan struct{}

	mu       sync.Mutex
	waiting  map[T]bool
	working  map[T]bool
	dirty    map[T]bool
	later    map[T]*event
	shutdown bool
}

var _ workqueue.TypedRateLimitingInterface[string] = (*queue[string])(nil)

func newQueue[T comparable](p *Process, name string, limiter workqueue.TypedRateLimiter[T]) *queue[T] {
	return &queue[T]{
		name: name, process: p, limiter: limiter, handed: make(chan T), closed: make(chan struct{}),
		waiting: map[T]bool{}, working: map[T]bool{}, dirty: map[T]bool{}, later: map[T]*event{},
	}
}

// Add implements workqueue.Interface.
func (q *queue[T]) Add(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.shutdown || q.waiting[item]:
	case q.working[item]:
		q.dirty[item] = true
	default:
		q.wait(item)
	}
}

// wait wants the lock.
func (q *queue[T]) wait(item T) {
	q.waiting[item] = true
	q.process.arrive(q.itemName(item), func() { q.hand(item) })
}

// hand gives an item to a worker, when one is idle.
func (q *queue[T]) hand(item T) {
	q.mu.Lock()
	if q.shutdown {
		q.mu.Unlock()
		return
	}
	delete(q.waiting, item)
	q.working[item] = true
	q.mu.Unlock()
	go func() {
		select {
		case q.handed <- item:
		case <-q.closed:
		}
	}()
}

// Len implements workqueue.Interface.
func (q *queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// Get implements workqueue.Interface. A worker that takes an item which has waited for it goes on in the item's name. One of a process that has
// crashed takes none: whether an item or ShutDown comes first depends on the order of goroutines.
func (q *queue[T]) Get() (item T, shutdown bool) {
	select {
	case item = <-q.handed:
		if !q.process.alive() {
			return item, true
		}
		q.process.world.act(q.itemName(item))
		return item, false
	case <-q.closed:
		return item, true
	}
}

// itemName is what works on an item.
func (q *queue[T]) itemName(item T) string { return fmt.Sprintf("%s %v", q.name, item) }

// Done implements workqueue.Interface.
func (q *queue[T]) Done(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.working, item)
	if q.dirty[item] && !q.shutdown {
		delete(q.dirty, item)
		q.wait(item)
	}
}

// ShutDown implements workqueue.Interface. Items that were to be added later do not happen any more: the items of all processes that there
// were would be due at the same time, such as the expiry of a node.
func (q *queue[T]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shutdown {
		return
	}
	q.shutdown = true
	close(q.closed)
	for _, e := range q.later {
		q.process.world.stop(e)
	}
	clear(q.later)
}

// ShutDownWithDrain implements workqueue.Interface.
func (q *queue[T]) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown implements workqueue.Interface.
func (q *queue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shutdown
}

// AddAfter implements workqueue.DelayingInterface. The earliest time of an item counts. A process that has crashed adds nothing: whether the call
// that crashed returns before or after ShutDown depends on the order of goroutines.
func (q *queue[T]) AddAfter(item T, d time.Duration) {
	if d <= 0 {
		q.Add(item)
		return
	}
	if !q.process.alive() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if have := q.later[item]; have != nil {
		earlier := time.Now().Add(d).Before(have.at)
		if have.at.IsZero() { // added in the same step, which has not ended
			earlier = d < have.least
		}
		if !earlier {
			return
		}
		q.process.world.stop(have)
	}
	q.later[item] = q.process.world.after(d, q.itemName(item)+" again", func() {
		q.mu.Lock()
		delete(q.later, item)
		q.mu.Unlock()
		q.Add(item)
	})
	q.later[item].process = q.process
}

// AddRateLimited implements workqueue.RateLimitingInterface.
func (q *queue[T]) AddRateLimited(item T) { q.AddAfter(item, q.limiter.When(item)) }

// Forget implements workqueue.RateLimitingInterface.
func (q *queue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues implements workqueue.RateLimitingInterface.
func (q *queue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }
