package create

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// keptFor is how long the log line of a NodeClaim is kept whose creation got no clear response: one that exists is launched by then, or
// deleted because its launch takes too long.
const keptFor = 15 * time.Minute

// Creations creates NodeClaims and logs each creation once, before the launch of the same NodeClaim is logged.
//
// Problem: a watch event can announce a NodeClaim before the response to its creation arrives, so that it is launched by then. Approach:
// the log line is prepared before the request. The one who first knows that the NodeClaim exists writes it: the creator, or the
// controller that has launched it.
//
// It is safe for concurrent use. A nil Creations logs nothing.
type Creations struct {
	// Admission is asked before each creation; nil for none. It is set before the first creation.
	Admission Admission

	mu sync.Mutex
	// pending has the log lines of NodeClaims that may not exist yet, by name.
	pending *ttlcache.Cache[string, func(name string)]
}

// New returns Creations without any NodeClaims.
func New(c clock.PassiveClock) *Creations {
	return &Creations{pending: ttlcache.New[string, func(name string)](c, keptFor)}
}

// Caps are what Admission holds NodeClaims to; nil for nothing.
func (c *Creations) Caps() Admission {
	if c == nil {
		return nil
	}
	return c.Admission
}

// begin keeps the log line of a NodeClaim that is about to be created.
func (c *Creations) begin(name string, logCreated func(name string)) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending.Set(name, logCreated)
}

// Exists logs the creation of a NodeClaim that this process creates, unless it is logged already. It returns when the line is written.
func (c *Creations) Exists(name string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if logCreated, ok := c.pending.Get(name); ok {
		c.pending.Delete(name)
		logCreated(name)
	}
}

// forget drops the log line of a NodeClaim that does not exist.
func (c *Creations) forget(name string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending.Delete(name)
}
