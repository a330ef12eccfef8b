package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// action is what happens to the cluster before the controller that should handle it is killed.
type action string

const (
	grow   action = "grow"   // more pods are wanted
	shrink action = "shrink" // fewer pods are wanted, and consolidation may begin
	drift  action = "drift"  // the template of the pool is edited
	drain  action = "drain"  // a user deletes a node
	reboot action = "reboot" // a client requests the reboot of a node
)

// step is one action, and the life of one controller.
type step struct {
	action action
	// amount is by how many pods grow and shrink change the workload.
	amount int
	// pick chooses the node to drain or to reboot: an index as a fraction of the sorted names.
	pick float64
	// life is how long the controller lives at most, from the start of its process to kill -9.
	life time.Duration
	// write is the number of the write after which the controller is killed, before it sees the answer; 0 for none.
	write int
	// outage is for how long the API server is down in the middle of that life; 0 for not at all. The life begins again when it is back.
	outage time.Duration
	// readOnly is for how long all writes are refused in the middle of that life; 0 for not at all.
	readOnly time.Duration
	// ahead is how far the clock of the controller is ahead of that of the API server; negative if it is behind.
	ahead time.Duration
}

func (s step) String() string {
	text := fmt.Sprintf("%-6s", s.action)
	switch s.action {
	case grow, shrink:
		text += fmt.Sprintf(" by %2d pods", s.amount)
	case drain, reboot:
		text += fmt.Sprintf(" node at %2.0f%%", 100*s.pick)
	case drift:
		text += "           "
	}
	text += fmt.Sprintf(", kill -9 after %5.2f s", s.life.Seconds())
	if s.write > 0 {
		text += fmt.Sprintf(" or write %d", s.write)
	}
	if s.readOnly > 0 {
		text += fmt.Sprintf(", writes refused for %s", s.readOnly)
	}
	if s.outage > 0 {
		text += fmt.Sprintf(", API server down for %s", s.outage)
	}
	if s.ahead != 0 {
		text += ", clock " + clockText(s.ahead)
	}
	return text
}

// round is a series of steps, after which the cluster must reach a steady state.
type round []step

// kindsOfARound are the actions of a full round. Those that add pods come first, when nothing else changes: only then is it exactly known how
// many nodes may be added for them.
func kindsOfARound() []action {
	return []action{grow, grow, grow, grow, shrink, shrink, drift, drift, drain, drain, reboot, reboot}
}

// newSchedule draws every fault of a run. The same seed gives the same schedule.
func newSchedule(s settings) []round {
	random := rand.New(rand.NewPCG(s.seed, 0))
	var rounds []round
	for left := s.kills; left > 0; {
		kinds := kindsOfARound()
		later := kinds[4:]
		random.Shuffle(len(later), func(i, j int) { later[i], later[j] = later[j], later[i] })
		if left < len(kinds) {
			// A short round has some of all kinds.
			kinds = []action{grow, drift, drain, reboot, shrink, grow, drift, drain, reboot, grow, grow}[:left]
		}
		left -= len(kinds)
		one := make(round, 0, len(kinds))
		for _, kind := range kinds {
			one = append(one, newStep(random, kind))
		}
		rounds = append(rounds, one)
	}
	in := rounds[random.IntN(len(rounds))]
	in[random.IntN(len(in))].outage = s.outage
	in = rounds[random.IntN(len(rounds))]
	in[random.IntN(len(in))].readOnly = s.readOnly
	if s.clock {
		setClocks(s.seed, rounds, expireAfter(s.kills))
	}
	return rounds
}

const (
	// mostWrites is the last write after which a controller is killed.
	mostWrites = 40
	// writeWait is how long a controller has at least to make its writes.
	writeWait = 8 * time.Second
)

func newStep(random *rand.Rand, kind action) step {
	s := step{action: kind, amount: 4 + random.IntN(9), pick: random.Float64()}
	between := func(from, to float64) time.Duration {
		return time.Duration((from + random.Float64()*(to-from)) * float64(time.Second)).Round(10 * time.Millisecond)
	}
	switch kind {
	case grow:
		s.life = between(0.3, 4)
	case drift, drain, reboot:
		s.life = between(1, 10)
	case shrink:
		// A command is validated after 15 seconds; the kill should hit what follows.
		s.life = between(16, 26)
	}
	if write := random.IntN(2 * mostWrites); write < mostWrites {
		s.write, s.life = write+1, max(s.life, writeWait)
	}
	return s
}

// write prints the schedule.
func write(out io.Writer, rounds []round) {
	number := 0
	for i, r := range rounds {
		_, _ = fmt.Fprintf(out, "  round %d\n", i+1)
		for _, s := range r {
			number++
			_, _ = fmt.Fprintf(out, "    %2d %s\n", number, s)
		}
	}
}
