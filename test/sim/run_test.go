package sim

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// simulation is one run: a cluster, some time with faults, and the time of rest after them.
type simulation struct {
	seed uint64
	// set are settings as in Set, after everything and everyday.
	set   string
	hours float64
	quiet time.Duration
	// only are the choices of the seed that happen; nil for all.
	only []Choice
	// first ends the run at its first violation. recorded keeps all steps and writes.
	first, recorded bool
	// incident is what happens beside; nil for nothing.
	incident *incident
}

// run simulates a cluster. The error is that of the simulation itself.
func (s simulation) run(t *testing.T) (c *Cluster, err error) {
	t.Helper()
	settings := Settings{Seed: s.seed, Faults: everything(), Scene: everyday(), Only: s.only, Writes: s.recorded, Recorded: s.recorded}
	if *logs {
		settings.Log = os.Stderr
	}
	if err := Set(s.set, &settings.Faults, &settings.Scene); err != nil {
		return nil, err
	}
	synctest.Test(t, func(*testing.T) {
		if c, err = New(settings); err != nil {
			return
		}
		defer c.Stop()
		c.StopEarly = s.first
		err = s.live(c)
	})
	return c, err
}

// live lets the time pass.
func (s simulation) live(c *Cluster) error {
	if err := c.User.Begin(); err != nil {
		return err
	}
	began := time.Now()
	defer func() { c.Hours = time.Since(began).Hours() }()
	for half := range 2 {
		if half == 1 && s.incident != nil && s.incident.then != nil {
			s.incident.then(c)
		}
		if err := c.Run(time.Duration(s.hours * float64(time.Hour) / 2)); err != nil {
			return err
		}
	}
	if s.incident != nil && s.incident.check != nil {
		if wrong := s.incident.check(c); wrong != "" {
			c.invariants.violated("incident", "%s", wrong)
		}
	}
	return c.Settle(s.quiet)
}

func mustRun(t *testing.T, s simulation) *Cluster {
	t.Helper()
	c, err := s.run(t)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
