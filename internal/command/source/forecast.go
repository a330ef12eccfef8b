package source

import (
	"errors"
	"fmt"
	"time"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/forecast"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// Forecast are the flags of commands that forecast.
type Forecast struct {
	At      time.Time        `name:"at" placeholder:"TIME" help:"When the forecast starts, as in 2026-01-02T15:04:05Z; otherwise now."`
	Horizon time.Duration    `name:"horizon" default:"168h" placeholder:"DURATION" help:"How far the forecast looks ahead (${default})."`
	Drifted command.Repeated `name:"drift-nodeclass" placeholder:"NAME" help:"Let the nodes of this node class drift, as after a new image or another change of the class. Can be given several times."`
	Launch  time.Duration    `name:"launch-time" placeholder:"DURATION" help:"How long a node takes from the creation of its NodeClaim until it is initialized; otherwise the median of the NodeClaims of the cluster."`
}

// Forecasts begin and end in these years: the nanoseconds of later times exceed 64 bits, and those of NodeClaims do not begin earlier.
const minYear, maxYear = 1970, 2200

// Check reports mistakes in the flags for a forecast from start.
func (f Forecast) Check(start time.Time) error {
	switch {
	case f.Horizon <= 0 || f.Launch < 0:
		return errors.New("--horizon has to be positive, and --launch-time must not be negative")
	case start.Year() < minYear || start.Add(f.Horizon).Year() > maxYear || start.Add(f.Launch).Year() > maxYear:
		return fmt.Errorf("--at, --horizon and --launch-time have to describe a time from %d to %d", minYear, maxYear)
	}
	return nil
}

// Start is when the forecast starts: now, unless the flags say when.
func (f Forecast) Start(now time.Time) time.Time {
	if f.At.IsZero() {
		return now
	}
	return f.At
}

// Options are those of a forecast with the policies.
func (f Forecast) Options(policies simulation.Options) forecast.Options {
	return forecast.Options{Options: policies, Horizon: f.Horizon, Launch: f.Launch, DriftedNodeClasses: f.Drifted}
}
