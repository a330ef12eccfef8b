package policy

import "time"

// Schedule is the hits of a cron expression.
type Schedule interface {
	// Next is the first hit after t, in the time zone of t; the zero time if there is none.
	Next(t time.Time) time.Time
}

// Window is a recurring time in which nodes may be disrupted. It opens at each hit of its schedule, and stays open for its duration, which is
// elapsed time: an hour is an hour also in the night in which clocks change.
//
// Hits are wall-clock times. A time that clocks skip is meant as if they had not changed yet, and one that they show twice is meant the first
// time, so that a nightly window opens once every night. Schedules that hit every hour are evaluated in elapsed time instead: they hit in both
// of two equal hours.
//
// Cost: the hits of about two days around the time that is asked about.
//
// Source: RFC 5545, section 3.3.5, local times that do not exist or occur twice.
type Window struct {
	// Reasons are those that the window is for; nil for all but Unhealthy.
	Reasons []string
	// Schedule has hits by wall clock. It is asked about times in UTC that stand for wall-clock times, or, if Hourly is set, about times in
	// Location.
	Schedule Schedule
	Hourly   bool
	Location *time.Location
	Duration time.Duration
}

const (
	// mostShift is more than clocks are ever changed by: some places have skipped a day.
	mostShift = 25 * time.Hour
	// mostHits bounds the hits that are followed.
	mostHits = 10_000
)

// State reports whether the window is open, and else when it opens next; the zero time for never.
func (w Window) State(now time.Time) (open bool, opens time.Time) {
	after := now.Add(-w.Duration) // a window that opened at this moment has just closed
	if w.Hourly {
		hit := w.Schedule.Next(after.In(w.Location))
		return !hit.IsZero() && !hit.After(now), hit
	}
	last := wallClock(now, w.Location).Add(mostShift)
	hit := wallClock(after, w.Location).Add(-mostShift)
	for range mostHits {
		if hit = w.Schedule.Next(hit); hit.IsZero() {
			return false, opens
		}
		switch at := instant(hit, w.Location); {
		case !at.After(after):
		case !at.After(now):
			return true, time.Time{}
		case opens.IsZero() || at.Before(opens):
			opens = at
		}
		if !opens.IsZero() && hit.After(last) {
			break
		}
	}
	return false, opens
}

// wallClock is what a clock in a time zone shows at t, as a time in UTC.
func wallClock(t time.Time, in *time.Location) time.Time {
	_, offset := t.In(in).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// instant is when a clock in a time zone shows a wall-clock time: the first time, or, if clocks skip it, when it would have without the change.
func instant(wall time.Time, in *time.Location) time.Time {
	at := func(probe time.Time) time.Time {
		_, offset := probe.In(in).Zone()
		return wall.Add(-time.Duration(offset) * time.Second)
	}
	before, after := at(wall.Add(-mostShift)), at(wall.Add(mostShift))
	first, second := before, after
	if second.Before(first) {
		first, second = second, first
	}
	for _, t := range []time.Time{first, second} {
		if wallClock(t, in).Equal(wall) {
			return t
		}
	}
	return before
}
