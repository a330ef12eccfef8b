package problem

import "time"

// ValidationDelay is how long a command waits before it is validated, so that pods being scheduled to its nodes are bound, counted
// from the change that triggered the pass. Minus the quiet period before a pass it is still longer than the ten seconds in which pod events are
// deduplicated.
const ValidationDelay = 15 * time.Second

// MinBackoff is how long a node is not disrupted after a command for it failed. The delay doubles with every further failure, up to MaxBackoff.
const MinBackoff, MaxBackoff = 20 * time.Second, 15 * time.Minute
