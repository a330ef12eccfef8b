package problem

import "time"

// ValidationDelay is how long a command waits before it is validated, so that pods being scheduled to its nodes are bound, counted
// from the change that triggered the pass. Minus the quiet period before a pass it is still longer than the ten seconds in which pod events are
// deduplicated.
const ValidationDelay = 15 * time.Second

// A node is not disrupted for MinBackoff after a command for it failed. The delay doubles with every further failure, up to MaxBackoff.
const (
	MinBackoff = 20 * time.Second
	MaxBackoff = 15 * time.Minute
)

// A pass of disruption follows the first change after the one before by QuietPeriod, and the pass before by PassInterval without a change.
const (
	QuietPeriod  = time.Second
	PassInterval = 10 * time.Second
)

// PollInterval is how long a command of disruption waits before it checks its replacements again.
const PollInterval = time.Second
