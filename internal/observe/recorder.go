package observe

import (
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// EventComponent is the source component of all events.
const EventComponent = "karpenter"

// The windows in which an event is not repeated, and the rate of events that are limited. Source: spec, recorder.
const (
	defaultWindow = 2 * time.Minute
	limitedRate   = 5 // per second
	limitedBurst  = 10
)

// Event is an event about an object, before it is deduplicated.
type Event struct {
	// Object the event is about.
	Object runtime.Object
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason in CamelCase.
	Reason string
	// Message is the text.
	Message string
	// Dedupe are the values that identify a repetition, together with the reason; without any, the event is always published.
	Dedupe []string
	// Window in which a repetition is dropped; zero means two minutes.
	Window time.Duration
	// Limited events of one reason share a token bucket and are dropped when it is empty.
	Limited bool
}

// key identifies repetitions. The kind of the object is not part of it.
func (e Event) key() string {
	return strings.ToLower(e.Reason) + "-" + strings.Join(e.Dedupe, "-")
}

// Recorder publishes events without repetitions within a window. It is safe for concurrent use. Its memory is bounded by the number
// of different events within their windows.
type Recorder struct {
	sink  record.EventRecorder
	clock clock.PassiveClock

	// mu makes the lookup in published and the entry there one step, and guards buckets.
	mu sync.Mutex
	// published has the keys of events within their windows.
	published *ttlcache.Cache[string, struct{}]
	// buckets are those of limited events, by reason.
	buckets map[string]*rate.Limiter
}

// NewRecorder returns a recorder that writes to sink, whose component should be EventComponent.
func NewRecorder(sink record.EventRecorder, clk clock.PassiveClock) *Recorder {
	return &Recorder{
		sink:      sink,
		clock:     clk,
		published: ttlcache.New[string, struct{}](clk, defaultWindow),
		buckets:   map[string]*rate.Limiter{},
	}
}

// Publish sends the events that are not repetitions and, if limited, fit the rate. A limited event that exceeds the rate counts as
// published, so that a burst is not replayed slowly. Messages are cut to condition.MaxMessageBytes.
func (r *Recorder) Publish(events ...Event) {
	for _, e := range events {
		if r.admit(e) {
			r.sink.Event(e.Object, e.Type, e.Reason, condition.TruncateMessage(e.Message))
		}
	}
}

// admit decides whether e is sent and remembers it.
func (r *Recorder) admit(e Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(e.Dedupe) > 0 {
		key := e.key()
		if _, known := r.published.Get(key); known {
			return false
		}
		window := e.Window
		if window == 0 {
			window = defaultWindow
		}
		r.published.SetWithTTL(key, struct{}{}, window)
	}
	if !e.Limited {
		return true
	}
	bucket := r.buckets[e.Reason]
	if bucket == nil {
		bucket = rate.NewLimiter(limitedRate, limitedBurst)
		r.buckets[e.Reason] = bucket
	}
	return bucket.AllowN(r.clock.Now(), 1)
}

// NormalEvent returns an event of type Normal with the default window.
func NormalEvent(o runtime.Object, reason, message string, dedupe ...string) Event {
	return Event{Object: o, Type: corev1.EventTypeNormal, Reason: reason, Message: message, Dedupe: dedupe}
}

// WarningEvent returns an event of type Warning with the default window.
func WarningEvent(o runtime.Object, reason, message string, dedupe ...string) Event {
	return Event{Object: o, Type: corev1.EventTypeWarning, Reason: reason, Message: message, Dedupe: dedupe}
}

// within sets the window.
func (e Event) within(window time.Duration) Event {
	e.Window = window
	return e
}
