package operator

import (
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	// maxSkew is how far the clock of this process may differ from that of the API server before the latter counts.
	maxSkew = time.Minute
	// skewStep is the smallest change of a skew that is taken over, and how far below maxSkew a skew ends: a clock that drifts, and one that
	// is wrong by about maxSkew, do not move Now with every answer.
	skewStep = 10 * time.Second
	// maxAnswers is how many of the last answers count. After the first quickAnswers, which count as soon as they arrive, one in answerPeriod
	// does: those that count are from a minute at least, and half a minute of answers with another time moves Now.
	maxAnswers, quickAnswers, answerPeriod = 31, 3, 2 * time.Second
)

// serverClock is the clock of controllers and cloud providers.
//
// Problem: objects carry the time of the API server and are compared with Now. A clock that is an hour ahead would expire NodeClaims, end
// termination grace periods and repair nodes an hour early, and none of it can be undone. The clock of the host may be wrong, and be
// corrected in one step at any time; so may the clock of one of several API servers, or the answer of a proxy or a cache.
//
// Approach: Now is the time of the process at its start plus the monotonic time since then, which no correction of the host's clock changes,
// minus a skew. Answers of the API server have its time in the header Date, and each bounds the skew: its time lies between the request
// and the arrival of the answer. Of the last maxAnswers the median of the lower bounds and the median of the upper bounds count. With an
// even number these are the outer ones of the two in the middle. The skew is the value between them that is closest to the last one.
// The first answer counts alone, so that Now is right before the controllers start, because the manager asks the API server first.
//
// Invariant: while at most half of the answers that count have a wrong time, the skew of the others lies between the medians, because at
// least half of the lower bounds are not above it, and at least half of the upper bounds are not below it. A single wrong answer moves Now
// only if it is the first, until the third. One of three API servers does not while requests are spread over them. A client
// keeps its connection, and with it its API server: if that one is wrong for half a minute, Now follows it, for it cannot be told from a
// host whose clock was wrong.
//
// Error: at most maxSkew while the skew is 0, otherwise the time that the answers took, a second for the rounding of Date, and skewStep. The
// monotonic clock stops while a host is suspended: Now is then behind, which delays what depends on age, until half of the answers that
// count are newer. It drifts by seconds a day at most, which moves Now once it exceeds these bounds.
//
// Cost: a request in answerPeriod sorts maxAnswers bounds. Timers are those of the process.
//
// Source: RFC 9110, section 6.6.1 (Date). Lundelius and Lynch, "A new fault-tolerant algorithm for clock synchronization", 1984, for clocks
// that discard the extremes of what others tell.
type serverClock struct {
	clock.WithTicker
	log *slog.Logger
	// start is the time of the process when elapsed was 0; elapsed is the monotonic time since then.
	start   time.Time
	elapsed func() time.Duration
	// skew is how much start and elapsed are ahead of the API server, in nanoseconds; 0 while the difference is tolerable.
	skew atomic.Int64

	mu sync.Mutex
	// answers are the bounds of the last ones in the order of their arrival; latest is when the last one arrived.
	answers []skewBounds
	latest  time.Duration
}

// skewBounds are the least and the greatest skew that an answer allows.
type skewBounds struct{ least, most time.Duration }

// newServerClock returns a clock that has the time of process until the API server answers.
func newServerClock(process clock.WithTicker, log *slog.Logger) *serverClock {
	began := time.Now() // with a monotonic part, on which Since is based
	return &serverClock{
		WithTicker: process, log: log, start: process.Now().Round(0),
		elapsed: func() time.Duration { return time.Since(began) },
	}
}

// Now returns the time of the API server as far as it is known. It has no monotonic part.
func (c *serverClock) Now() time.Time { return c.start.Add(c.elapsed() - time.Duration(c.skew.Load())) }

// Since returns the time since t, a result of Now or a time of the API server.
func (c *serverClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// transport reads the time in the answers to requests that go through inner.
func (c *serverClock) transport(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		sent := c.elapsed()
		response, err := inner.RoundTrip(r)
		if err == nil {
			c.observe(sent, c.elapsed(), response.Header.Get("Date"))
		}
		return response, err
	})
}

// observe compares the time of an answer, whole seconds, with that of the process; sent and received are monotonic.
func (c *serverClock) observe(sent, received time.Duration, date string) {
	told, err := http.ParseTime(date)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answers) >= quickAnswers && received-c.latest < answerPeriod {
		return
	}
	c.latest = received
	c.answers = append(c.answers, skewBounds{c.start.Add(sent).Sub(told.Add(time.Second)), c.start.Add(received).Sub(told)})
	c.answers = c.answers[max(0, len(c.answers)-maxAnswers):]
	before := time.Duration(c.skew.Load())
	bounds := medianBounds(c.answers)
	skew := nextSkew(before, bounds)
	if skew == before {
		return
	}
	c.skew.Store(int64(skew))
	if skew == 0 {
		c.log.Info("the clock agrees with that of the API server again")
		return
	}
	c.log.Warn("the clock differs from that of the API server, using the time of the API server: check the time synchronization of the host",
		logfield.ClockAhead(skew.Round(time.Second)))
}

// medianBounds are the medians of the bounds of at least one answer.
func medianBounds(answers []skewBounds) skewBounds {
	least, most := make([]time.Duration, len(answers)), make([]time.Duration, len(answers))
	for i, a := range answers {
		least[i], most[i] = a.least, a.most
	}
	slices.Sort(least)
	slices.Sort(most)
	return skewBounds{least[(len(least)-1)/2], most[len(most)/2]}
}

// nextSkew returns the skew after answers that bound it, when it was before.
func nextSkew(before time.Duration, b skewBounds) time.Duration {
	skew := min(max(before, b.least), b.most)
	switch {
	case before == 0 && skew.Abs() <= maxSkew, before != 0 && skew.Abs() < maxSkew-skewStep:
		return 0
	case before != 0 && (skew-before).Abs() < skewStep:
		return before
	}
	return skew
}
