package nodeclaim

import "sync"

// runningLaunches are the launches that this process waits for. A provider may list an instance before the call that launches it
// returns; until then no record says which NodeClaim the instance is for. Launches are numbered in the order in which they begin, so
// that one number bounds all launches that an instance can be of. It is safe for concurrent use.
type runningLaunches struct {
	mu      sync.Mutex
	last    uint64
	running map[uint64]struct{}
}

// begin records that a launch begins, and returns what records its end.
func (r *runningLaunches) begin() (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		r.running = map[uint64]struct{}{}
	}
	r.last++
	number := r.last
	r.running[number] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.running, number)
	}
}

// latest is the number of the launch that began last; 0 before the first.
func (r *runningLaunches) latest() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// oldest is the number of the oldest launch that has not ended, or that of the next one: all launches before it have ended.
func (r *runningLaunches) oldest() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.last + 1
	for number := range r.running {
		out = min(out, number)
	}
	return out
}
