package notification

import (
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// bench is a notifier with its files, log and metrics.
type bench struct {
	*Notifier
	t       *testing.T
	metrics *observe.NotificationMetrics
	log     *logText
	secret  string
}

// logText collects log lines.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// secretOf is a secret whose key repeats a byte.
func secretOf(b byte) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune(b)), 32)))
}

// newBench returns a notifier to a URL.
func newBench(t *testing.T, url string, transport http.RoundTripper, change ...func(*options.Notifications)) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{t: t, log: &logText{}, secret: secretOf('k')}
	o := options.Notifications{URLFile: filepath.Join(dir, "url"), SecretFile: filepath.Join(dir, "secret"), Format: options.NotificationJSON}
	for _, f := range change {
		f(&o)
	}
	write(t, o.URLFile, url+"\n")
	if o.SecretFile != "" {
		write(t, o.SecretFile, b.secret+"\n")
	}
	b.metrics = &observe.NewMetrics(prometheus.NewRegistry(), nil).Notifications
	var err error
	b.Notifier, err = New(Settings{
		Options: o, Cluster: "blue", Version: "1.2.3", Clock: clock.RealClock{}, Metrics: b.metrics, Transport: transport,
		Log: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func slack(o *options.Notifications) { o.Format, o.SecretFile = options.NotificationSlack, "" }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run starts the notifier until the test ends, or stop is called.
func (b *bench) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := b.Start(ctx); err != nil {
			b.t.Error(err)
		}
	}()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); <-done }) }
	b.t.Cleanup(stop)
	return stop
}

// wantDropped compares how many notifications were dropped for a reason.
func (b *bench) wantDropped(reason string, want float64) {
	b.t.Helper()
	if got := testutil.ToFloat64(b.metrics.Dropped.WithLabelValues(reason)); got != want {
		b.t.Errorf("%v dropped because of %s, want %v", got, reason, want)
	}
}

// received is what a webhook received.
type received struct {
	header http.Header
	body   string
	at     time.Time
}

// recorder is a transport that answers with the results of a function, and keeps what it received.
type recorder struct {
	mu     sync.Mutex
	all    []received
	answer func(attempt int, r *http.Request) (*http.Response, error)
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.all = append(r.all, received{header: request.Header, body: string(body), at: time.Now()})
	n := len(r.all)
	r.mu.Unlock()
	return r.answer(n, request)
}

func (r *recorder) got() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.all...)
}

func status(code int, header ...string) *http.Response {
	out := &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody}
	for i := 0; i < len(header); i += 2 {
		out.Header.Set(header[i], header[i+1])
	}
	return out
}

// planIn is a plan in a phase.
func planIn(phase opsv1alpha1.PlanPhase, message string) *opsv1alpha1.DisruptionPlan {
	plan := &opsv1alpha1.DisruptionPlan{
		Spec: opsv1alpha1.DisruptionPlanSpec{
			Method: "drift", Reason: "Drifted", Action: "replace", SavingsPerHour: "-0.250000", Risk: 2,
			OperationsPolicy: opsv1alpha1.AskingPolicy{Name: "production", Why: "every disruption has to be approved"},
			Nodes:            []opsv1alpha1.PlannedNode{{Name: "node-1", NodeClaim: "default-1", NodePool: "default"}, {Name: "node-2", NodeClaim: "default-2", NodePool: "default"}},
			Replacements:     []opsv1alpha1.PlannedReplacement{{NodePool: "default"}},
			Evictions:        []opsv1alpha1.PlannedEviction{{Kind: "Deployment", Namespace: "web", Name: "api", Pods: 3}, {Kind: "Pod", Namespace: "web", Name: "one", Pods: 1}},
			ExpiresAt:        metav1.Date(2027, 3, 2, 8, 0, 0, 0, time.UTC),
		},
	}
	plan.Name, plan.UID, plan.Status.Phase = "drifted-1a2b3c4d5e", "uid-1", phase
	plan.Status.Conditions = []metav1.Condition{{Type: string(phase), Status: metav1.ConditionTrue, Reason: "Because", Message: message}}
	return plan
}

// commandThat is a command with an outcome.
func commandThat(what ledger.Outcome) *ledger.CommandEvent {
	return &ledger.CommandEvent{
		ID: "4711", Method: "emptiness", Reason: "Empty", Decision: "delete", Outcome: what, Nodes: []string{"node-1"}, NodeClaims: []string{"default-1"},
		NodePools: []string{"default"},
	}
}
