package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// clockAheadEnv says how far the clock of a controller that was built with the tag clockfault is ahead.
	clockAheadEnv = "KARPENTER_CLOCK_AHEAD"
	// clockLife is how long a controller with a wrong clock lives, unless it is killed after a write: long enough to start and to do harm.
	clockLife = 8 * time.Second
	// tolerated is by how much the clock of a controller may be wrong without a warning.
	tolerated = time.Minute
	// warning is what a controller logs that notices that its clock is wrong.
	warning = "the clock differs from that of the API server"
	// instanceMinAge is the age from which the controller may take an instance for one without a NodeClaim.
	instanceMinAge = 30 * time.Second
)

// expireAfter is the maximum age of nodes, more than any run takes: none expires on a right clock.
func expireAfter(kills int) time.Duration { return time.Hour + time.Duration(kills)*time.Minute }

// setClocks draws when the clock of the controller is wrong: for some lives in a row it is minutes more than expireAfter ahead, so that
// everything that has a deadline has exceeded it, for others as much behind, and for others wrong by so little that the controller tolerates it.
func setClocks(seed uint64, rounds []round, expireAfter time.Duration) {
	// Faults of other kinds do not depend on these.
	random := rand.New(rand.NewPCG(seed, 3))
	var lives []*step
	for _, r := range rounds {
		for i := range r {
			lives = append(lives, &r[i])
		}
	}
	minutes := func() time.Duration { return time.Duration(1+random.IntN(20)) * time.Minute }
	slightly := time.Duration(20+random.IntN(35)) * time.Second * time.Duration(1-2*random.IntN(2))
	first := random.Perm(len(lives))
	for i, ahead := range []time.Duration{expireAfter + minutes(), -expireAfter - minutes(), slightly} {
		if i < len(lives) {
			lives[first[i]].setClock(ahead)
		}
	}
	for _, at := range first[:min(3, len(lives))] {
		for more, next := random.IntN(1+len(lives)/10), at+1; more > 0 && next < len(lives) && lives[next].ahead == 0; more, next = more-1, next+1 {
			lives[next].setClock(lives[at].ahead)
		}
	}
}

func (s *step) setClock(ahead time.Duration) { s.ahead, s.life = ahead, max(s.life, clockLife) }

// clockText says how a clock is wrong.
func clockText(ahead time.Duration) string {
	// 1h4m0s is 1h4m.
	text := strings.TrimSuffix(ahead.Abs().String(), "m0s")
	if text != ahead.Abs().String() {
		text += "m"
	}
	if ahead < 0 {
		return text + " behind"
	}
	return text + " ahead"
}

// setClock sets the clock of the controllers that are started from now on.
func (c *chaos) setClock(ahead time.Duration) {
	if ahead == c.ahead {
		return
	}
	c.ahead = ahead
	if ahead == 0 {
		c.observer.say("clock: that of the controller is right again")
		return
	}
	c.observer.say("clock: the controller is %s", clockText(ahead))
}

// buildClockFault builds a controller whose clock can be wrong.
func buildClockFault(ctx context.Context, path string) error {
	build := exec.CommandContext(ctx, "go", "build", "-tags=clockfault", "-o", path, "github.com/karpenter-anew/karpenter/cmd/karpenter")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building a controller with a wrong clock: %w\n%s", err, text)
	}
	return nil
}

// logLine has the fields of a log line that premature reads.
type logLine struct {
	Time        time.Time
	Message     string
	NodeClaim   json.RawMessage
	Timeout     string
	ExpireAfter string `json:"expire-after"`
	ProviderID  string `json:"provider-id"`
}

// ages say when objects were created; zero if that is unknown, which is when they existed only for a moment.
type ages struct {
	claim    func(name string) time.Time
	instance func(providerID string) time.Time
}

// premature are the lines of a log that report that the controller deleted something because of its age, before that age was reached.
func premature(log []byte, born ages) (out []string) {
	for text := range bytes.Lines(log) {
		var line logLine
		if json.Unmarshal(text, &line) != nil {
			continue
		}
		age, limit := time.Duration(0), time.Duration(0)
		switch line.Message {
		case "deleted expired nodeclaim":
			age, limit = line.age(born.claim(line.claim())), duration(line.ExpireAfter)
		case "deleting nodeclaim that timed out":
			age, limit = line.age(born.claim(line.claim())), duration(line.Timeout)
		case "garbage collecting instance without nodeclaim":
			age, limit = line.age(born.instance(line.ProviderID)), instanceMinAge
		default:
			continue
		}
		// Times of the API server are whole seconds.
		if age < limit-time.Second {
			out = append(out, fmt.Sprintf("%s, after %s of %s: %s", line.Message, age.Round(time.Second), limit, bytes.TrimSpace(text)))
		}
	}
	return out
}

// claim is the name of the NodeClaim that the line is about.
func (l logLine) claim() string {
	var object struct{ Name string }
	_ = json.Unmarshal(l.NodeClaim, &object)
	return object.Name
}

// age is the age of an object at the time of the line; 0 if it is unknown when it was created.
func (l logLine) age(born time.Time) time.Duration {
	if born.IsZero() {
		return 0
	}
	return l.Time.Sub(born)
}

// duration is a limit in a log line. One that cannot be read is longer than any age.
func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 1<<63 - 1
	}
	return d
}

// launched is when an instance was launched.
func (c *chaos) launched(providerID string) time.Time {
	if c.cloud.launched != nil {
		return c.cloud.launched(providerID)
	}
	return c.observer.bornAt(providerID)
}

// judgeClocks records what controllers with a wrong clock did too early, and whether none of them noticed that its clock is wrong. It
// returns how many did.
func (c *chaos) judgeClocks() (noticed int, err error) {
	log, err := os.ReadFile(c.log.Name())
	if err != nil {
		return 0, fmt.Errorf("reading the log of the controllers: %w", err)
	}
	for _, line := range premature(log, ages{claim: c.observer.bornAt, instance: c.launched}) {
		c.observer.found("too early: %s", line)
	}
	noticed = bytes.Count(log, []byte(warning))
	if c.wrong > 0 && noticed == 0 {
		c.observer.found("%d controllers had a clock that was wrong by more than %s, and none logged it: the fault had no effect", c.wrong, tolerated)
	}
	return noticed, nil
}
