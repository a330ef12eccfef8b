package notification

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// maxQueued is the most notifications that wait, maxBody the most bytes of one.
	maxQueued, maxBody = 256, 64 << 10
	// maxAttempts is how often a notification is sent. The pause before the second attempt is firstPause; each further one is pauseFactor as long.
	maxAttempts = 6
	firstPause  = 2 * time.Second
	pauseFactor = 3
	// maxRetryAfter is the longest pause that a webhook can ask for.
	maxRetryAfter = 5 * time.Minute
	// quietAfterBlocked is how long a command for the same nodes that is blocked for the same reason is not notified again.
	quietAfterBlocked = time.Hour
)

// Settings are what a Notifier needs.
type Settings struct {
	// Options must be enabled.
	Options options.Notifications
	// Cluster is the name of the cluster; empty if it has none.
	Cluster string
	// Version is that of the controller.
	Version string
	Clock   clock.Clock
	Log     *slog.Logger
	Metrics *observe.NotificationMetrics
	// Transport sends requests; nil is that of Go, with the proxies of the environment.
	Transport http.RoundTripper
}

// Notifier sends notifications, one at a time and in order, while the process is the leader.
type Notifier struct {
	options   options.Notifications
	cluster   string
	userAgent string
	clock     clock.Clock
	log       *slog.Logger
	metrics   *observe.NotificationMetrics
	client    *http.Client

	queue chan message
	// blocked are the commands that were notified as blocked.
	blocked *ttlcache.Cache[string, bool]
	// failing is set from the first notification that is dropped to the next one that is sent.
	failing atomic.Bool
}

// message is a notification that is ready to be sent.
type message struct {
	id    string
	event options.NotificationEvent
	body  []byte
}

// New returns a notifier that is not started. It fails if the files of the options cannot be used.
func New(s Settings) (*Notifier, error) {
	if _, err := readTarget(s.Options); err != nil {
		return nil, err
	}
	return &Notifier{
		options: s.Options, cluster: s.Cluster, userAgent: "karpenter/" + s.Version, clock: s.Clock, log: s.Log, metrics: s.Metrics,
		client: newClient(s.Transport), queue: make(chan message, maxQueued), blocked: ttlcache.New[string, bool](s.Clock, quietAfterBlocked),
	}, nil
}

// Plan notifies of the phase that a plan came into, or of what an approved one waits for. It does not block.
func (n *Notifier) Plan(plan *opsv1alpha1.DisruptionPlan) {
	if event := eventOf(plan); n.options.Wants(event) {
		n.put(event, ofPlan(plan))
	}
}

// Command notifies of what happened to a command that needs no approval. savingsPerHour is in dollars, empty if it is not known. It does not block.
func (n *Notifier) Command(e *ledger.CommandEvent, savingsPerHour string) {
	event := eventOfCommand(e.Outcome)
	if !n.options.Wants(event) || event == options.CommandBlocked && n.known(e) {
		return
	}
	n.put(event, ofCommand(e, savingsPerHour))
}

// known reports whether the same was notified as blocked before: each pass may find the command again.
func (n *Notifier) known(e *ledger.CommandEvent) bool {
	key := e.Reason + " " + strings.Join(slices.Sorted(slices.Values(e.NodeClaims)), " ")
	if len(e.Obstacles) > 0 {
		key += " " + e.Obstacles[0].Code
	}
	_, known := n.blocked.Get(key)
	if !known {
		n.blocked.Set(key, true)
	}
	return known
}

// put queues a notification.
func (n *Notifier) put(event options.NotificationEvent, data Data) {
	m := message{id: "msg_" + uuid.NewString(), event: event}
	document := &Document{Version: Version, ID: m.id, Type: event, Timestamp: n.clock.Now().UTC(), Cluster: n.cluster, Data: data}
	var form any = document
	if n.options.Format == options.NotificationSlack {
		form = slackOf(document)
	}
	var err error
	if m.body, err = json.Marshal(form); err == nil && len(m.body) > maxBody {
		err = fmt.Errorf("it has %d bytes, more than %d", len(m.body), maxBody)
	}
	if err != nil {
		n.drop(m, "too_large", err)
		return
	}
	select {
	case n.queue <- m:
		n.metrics.Queued.Set(float64(len(n.queue)))
	default:
		n.drop(m, "queue_full", fmt.Errorf("%d notifications wait already", maxQueued))
	}
}

// drop counts a notification that is not delivered. The first of a series is logged as an error.
func (n *Notifier) drop(m message, reason string, err error) {
	n.metrics.Dropped.WithLabelValues(reason).Inc()
	log := n.log.Debug
	if !n.failing.Swap(true) {
		log = n.log.Error
	}
	log("a notification is dropped", logfield.Notification(string(m.event)), logfield.Reason(reason), logfield.Error(err))
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*Notifier) NeedLeaderElection() bool { return true }

// Start sends notifications until the context ends. What waits then is dropped.
func (n *Notifier) Start(ctx context.Context) error {
	n.log.Info("sending notifications", logfield.Format(string(n.options.Format)))
	defer n.client.CloseIdleConnections()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case m := <-n.queue:
			n.metrics.Queued.Set(float64(len(n.queue)))
			n.deliver(ctx, m)
		}
	}
	for {
		select {
		case m := <-n.queue:
			n.drop(m, "stopped", ctx.Err())
		default:
			n.metrics.Queued.Set(0)
			return nil
		}
	}
}

// deliver sends a notification, repeatedly if it fails, with growing pauses.
func (n *Notifier) deliver(ctx context.Context, m message) {
	pauses := wait.Backoff{Duration: firstPause, Factor: pauseFactor, Jitter: 0.2, Steps: maxAttempts}
	for attempt := 1; ; attempt++ {
		f := n.post(ctx, m)
		if f == nil {
			n.metrics.Sent.WithLabelValues(string(m.event)).Inc()
			if n.failing.Swap(false) {
				n.log.Info("notifications are delivered again")
			}
			return
		}
		if ctx.Err() != nil {
			n.drop(m, "stopped", ctx.Err())
			return
		}
		n.metrics.FailedAttempts.WithLabelValues(f.reason).Inc()
		switch {
		case f.final:
			n.drop(m, "refused", f.err)
			return
		case attempt == maxAttempts:
			n.drop(m, "attempts_exhausted", f.err)
			return
		}
		pause := max(pauses.Step(), min(f.after, maxRetryAfter))
		n.log.Debug("cannot deliver a notification, retrying", logfield.Notification(string(m.event)), logfield.RetryIn(pause), logfield.Error(f.err))
		select {
		case <-ctx.Done():
			n.drop(m, "stopped", ctx.Err())
			return
		case <-n.clock.After(pause):
		}
	}
}
