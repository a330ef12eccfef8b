//go:build !clockfault

package operator

import "k8s.io/utils/clock"

// processClock is the clock of the process. A build with the tag clockfault, for tests, can have a wrong one.
func processClock() clock.WithTicker { return clock.RealClock{} }
