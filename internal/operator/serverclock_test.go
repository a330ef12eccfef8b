package operator

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

// host is a process on a host whose clock is wrong or changes, with a monotonic clock that does neither.
type host struct {
	process   *clocktesting.FakeClock
	monotonic time.Duration
	// server is the right time.
	server time.Time
	clock  *serverClock
	log    strings.Builder
}

// newHost returns a host whose clock is ahead when the process starts.
func newHost(ahead time.Duration) *host {
	h := &host{server: time.Date(2026, 5, 1, 12, 0, 0, 500_000_000, time.UTC)}
	h.process = clocktesting.NewFakeClock(h.server.Add(ahead))
	h.clock = newServerClock(h.process, slog.New(slog.NewTextHandler(&h.log, nil)))
	h.clock.elapsed = func() time.Duration { return h.monotonic }
	return h
}

// pass lets time pass.
func (h *host) pass(d time.Duration) {
	h.monotonic, h.server = h.monotonic+d, h.server.Add(d)
	h.process.SetTime(h.process.Now().Add(d))
}

// reply is the answer of an API server whose clock is wrong by that much. It took some time, in the middle of which the server wrote its own.
type reply struct{ wrong, took time.Duration }

// ask sends a request and waits for its answer.
func (h *host) ask(t testing.TB, a reply) {
	t.Helper()
	h.get(t, func() string {
		h.pass(a.took / 2)
		date := h.server.Add(a.wrong).UTC().Format(http.TimeFormat)
		h.pass(a.took / 2)
		return date
	})
}

func (h *host) get(t testing.TB, date func() string) {
	t.Helper()
	transport := h.clock.transport(roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{Header: http.Header{"Date": {date()}}, Body: http.NoBody}, nil
	}))
	request, err := http.NewRequest(http.MethodGet, "https://api", nil) //nolint:noctx // no request is sent
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}

// off is how far the clock is ahead of the API server.
func (h *host) off() time.Duration { return h.clock.Now().Sub(h.server) }

func (h *host) lines() []string { return strings.Split(strings.TrimSpace(h.log.String()), "\n") }

// TestTheClockOfTheServerCounts compares the clock of a process with answers of an API server.
func TestTheClockOfTheServerCounts(t *testing.T) {
	hour, short := reply{wrong: time.Hour}, 20*time.Second
	for name, c := range map[string]struct {
		ahead   time.Duration
		answers []reply
		// off is how far Now is from the time of the server in the end.
		off, tolerance time.Duration
		logged         string // the last line
	}{
		"no answer yet":                  {time.Hour, nil, time.Hour, 0, ""},
		"a little ahead":                 {50 * time.Second, []reply{{}}, 50 * time.Second, 0, ""},
		"a little behind":                {-50 * time.Second, []reply{{}}, -50 * time.Second, 0, ""},
		"far ahead":                      {time.Hour, []reply{{}}, 0, 2 * time.Second, `ahead=1h0m0s`},
		"far behind":                     {-time.Hour, []reply{{}}, 0, 2 * time.Second, `ahead=-1h0m0s`},
		"a slow answer":                  {time.Hour, []reply{{took: short}}, 0, 22 * time.Second, `ahead=59m`},
		"slow, then fast":                {time.Hour, []reply{{took: short}, {}, {}}, 0, 2 * time.Second, `ahead=1h0m0s`},
		"slow and right":                 {0, []reply{{took: 5 * time.Minute}}, 0, 0, ""},
		"fast, then slow":                {time.Hour, []reply{{}, {took: 5 * time.Minute}}, 0, 2 * time.Second, `ahead=1h0m0s`},
		"the second answer is wrong":     {0, []reply{{}, hour}, 0, 0, ""},
		"the first answer is wrong":      {0, []reply{hour, {}, {}}, 0, 0, "agrees"},
		"only the first answer is known": {0, []reply{hour}, time.Hour, 2 * time.Second, `ahead=-1h0m0s`},
		"two of three are right":         {time.Hour, []reply{{wrong: 2 * time.Second}, {wrong: -time.Hour}, {wrong: -2 * time.Second}}, 0, 4 * time.Second, `ahead=`},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(c.ahead)
			for _, a := range c.answers {
				h.ask(t, a)
			}
			if off := h.off(); (off - c.off).Abs() > c.tolerance {
				t.Errorf("the time is off by %s, want %s", off, c.off)
			}
			if since := h.clock.Since(h.server.Add(-time.Minute)); (since - time.Minute - c.off).Abs() > c.tolerance {
				t.Errorf("a minute ago is %s ago", since)
			}
			lines := h.lines()
			if got := lines[len(lines)-1]; !strings.Contains(got, c.logged) || got != "" && c.logged == "" {
				t.Errorf("logged %q, want %q", got, c.logged)
			}
		})
	}
	t.Run("an answer without a time", func(t *testing.T) {
		h := newHost(time.Hour)
		h.get(t, func() string { return "none" })
		if h.off() != time.Hour {
			t.Errorf("the time is off by %s", h.off())
		}
	})
}

// TestACorrectionOfTheHostDoesNotCount: the host's clock is set, between two answers and with none after it.
func TestACorrectionOfTheHostDoesNotCount(t *testing.T) {
	for name, c := range map[string]struct{ before, after time.Duration }{
		"from an hour ahead":  {time.Hour, 0},
		"from an hour behind": {-time.Hour, 0},
		"to an hour ahead":    {0, time.Hour},
		"to an hour behind":   {0, -time.Hour},
	} {
		h := newHost(c.before)
		h.ask(t, reply{})
		h.process.SetTime(h.server.Add(c.after))
		if off := h.off().Abs(); off > 2*time.Second {
			t.Errorf("%s: the time is off by %s before the next answer", name, off)
		}
		h.pass(time.Hour)
		h.ask(t, reply{})
		if off := h.off().Abs(); off > 2*time.Second {
			t.Errorf("%s: the time is off by %s after it", name, off)
		}
	}
}

// TestOneWrongServerOfThree sends requests to API servers in turn, and then only to the wrong one.
func TestOneWrongServerOfThree(t *testing.T) {
	for _, wrong := range []time.Duration{time.Hour, -time.Hour, 1000 * time.Hour} {
		for first := range 3 {
			h := newHost(0)
			for i := range 300 {
				h.ask(t, []reply{{}, {}, {wrong: wrong}}[(first+i)%3])
				h.pass(time.Second)
				if off := h.off().Abs(); i >= 2 && off > maxSkew {
					t.Fatalf("wrong by %s, answer %d: the time is off by %s", wrong, i, off)
				}
			}
			for range 10 {
				h.ask(t, reply{wrong: wrong})
				h.pass(time.Second)
			}
			if off := h.off().Abs(); off > maxSkew {
				t.Errorf("wrong by %s: the time is off by %s after ten seconds with the wrong server", wrong, off)
			}
			for range 60 {
				h.ask(t, reply{wrong: wrong})
				h.pass(time.Second)
			}
			if off := (h.off() - wrong).Abs(); off > maxSkew {
				t.Errorf("wrong by %s: the time is still off by %s after a minute, as if the host had been wrong", wrong, off)
			}
		}
	}
}

// TestABurstIsOneAnswer: many answers at once do not outvote others.
func TestABurstIsOneAnswer(t *testing.T) {
	h := newHost(0)
	for range quickAnswers {
		h.ask(t, reply{})
	}
	h.pass(answerPeriod)
	for range 1000 {
		h.ask(t, reply{wrong: time.Hour})
	}
	if h.off() != 0 {
		t.Errorf("the time is off by %s", h.off())
	}
}

// TestASuspendedHostCatchesUp: the monotonic clock stops while a host is suspended.
func TestASuspendedHostCatchesUp(t *testing.T) {
	h := newHost(0)
	for range maxAnswers {
		h.ask(t, reply{})
		h.pass(answerPeriod)
	}
	h.server = h.server.Add(time.Hour)
	h.process.SetTime(h.server)
	if h.off() != -time.Hour {
		t.Errorf("the time is off by %s before an answer", h.off())
	}
	for range maxAnswers/2 + 1 {
		h.ask(t, reply{})
		h.pass(answerPeriod)
	}
	if off := h.off().Abs(); off > 2*time.Second {
		t.Errorf("the time is off by %s after half a minute", off)
	}
}

// TestMostAnswersDecide: while fewer than half of the answers are wrong, the time is right within the bounds of serverClock.
func TestMostAnswersDecide(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		slow := time.Duration(rapid.IntRange(0, 5000).Draw(r, "slow")) * time.Millisecond
		h := newHost(time.Duration(rapid.IntRange(-7200, 7200).Draw(r, "ahead")) * time.Second)
		count := rapid.IntRange(1, 2*maxAnswers).Draw(r, "answers")
		var wrong []bool // of the answers that count
		for range count {
			a := reply{took: time.Duration(rapid.Int64Range(0, int64(slow)).Draw(r, "took"))}
			liars := 0
			for _, w := range wrong[max(0, len(wrong)-maxAnswers+1):] {
				if w {
					liars++
				}
			}
			n := min(len(wrong)+1, maxAnswers)
			lies := 2*(liars+1) < n && rapid.Bool().Draw(r, "lies")
			if lies {
				a.wrong = time.Duration(rapid.IntRange(-100_000, 100_000).Draw(r, "wrong")) * time.Second
			}
			wrong = append(wrong, lies)
			h.ask(t, a)
			if off := h.off().Abs(); off > maxSkew+slow+time.Second {
				r.Fatalf("the time is off by %s", off)
			}
			h.pass(answerPeriod)
		}
	})
}

// TestTheClockDoesNotJump: answers that differ by less than the tolerances move the clock once at most.
func TestTheClockDoesNotJump(t *testing.T) {
	t.Run("requests that take different times", func(t *testing.T) {
		h := newHost(time.Hour)
		for i := range 40 {
			h.ask(t, reply{took: time.Duration(i%20) * 50 * time.Millisecond})
			h.pass(answerPeriod)
		}
		if n := len(h.lines()); n != 1 {
			t.Errorf("logged %d lines:\n%s", n, h.log.String())
		}
	})
	t.Run("a clock that is wrong by about the tolerance", func(t *testing.T) {
		h := newHost(maxSkew + 500*time.Millisecond)
		for i := range 80 {
			h.ask(t, reply{wrong: -time.Duration(i%8) * time.Second})
			h.pass(answerPeriod)
		}
		if n := len(h.lines()); n > 1 {
			t.Errorf("logged %d lines:\n%s", n, h.log.String())
		}
	})
}
