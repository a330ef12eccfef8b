package demo

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Counts are the state of the loop at one moment.
type Counts struct {
	Running, Pending                          int
	Claims, Launched, Registered, Initialized int
	Nodes, Ready                              int
	PricePerHour                              float64
}

func (c Counts) String() string {
	return fmt.Sprintf("pods %d running %d pending · nodeclaims %d: %d launched %d registered %d initialized · nodes %d ready of %d · $%.4f/h",
		c.Running, c.Pending, c.Claims, c.Launched, c.Registered, c.Initialized, c.Ready, c.Nodes, c.PricePerHour)
}

// Count counts the pods of the Deployment, the NodeClaims and their nodes.
func (p *Play) Count() (Counts, error) {
	var c Counts
	var pods corev1.PodList
	if err := p.Client.List(p.Ctx, &pods, client.InNamespace("default"), client.MatchingLabels{"app": "inflate"}); err != nil {
		return Counts{}, fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodRunning {
			c.Running++
		} else {
			c.Pending++
		}
	}
	var claims v1.NodeClaimList
	if err := p.Client.List(p.Ctx, &claims); err != nil {
		return Counts{}, fmt.Errorf("listing nodeclaims: %w", err)
	}
	for i := range claims.Items {
		c.Claims++
		for condition, counter := range map[string]*int{
			v1.ConditionTypeLaunched: &c.Launched, v1.ConditionTypeRegistered: &c.Registered, v1.ConditionTypeInitialized: &c.Initialized,
		} {
			if meta.IsStatusConditionTrue(claims.Items[i].Status.Conditions, condition) {
				*counter++
			}
		}
	}
	if p.Price != nil {
		c.PricePerHour = p.Price()
	}
	var nodes corev1.NodeList
	if err := p.Client.List(p.Ctx, &nodes, client.HasLabels{v1.NodePoolLabelKey}); err != nil {
		return Counts{}, fmt.Errorf("listing nodes: %w", err)
	}
	for i := range nodes.Items {
		c.Nodes++
		for _, condition := range nodes.Items[i].Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				c.Ready++
			}
		}
		if price, err := strconv.ParseFloat(nodes.Items[i].Labels[p.Settings.PriceLabel], 64); err == nil {
			c.PricePerHour += price
		}
	}
	return c, nil
}

// Progress writes what happens, each line with the time since the start: on a terminal the last line changes in place, elsewhere a line
// appears when something changed, at most one a second. It may be used from several goroutines.
type Progress struct {
	mu       sync.Mutex
	out      io.Writer
	start    time.Time
	terminal bool
	last     string
	written  time.Time
	open     bool
}

// NewProgress returns a progress that began at start.
func NewProgress(out io.Writer, start time.Time) *Progress {
	p := &Progress{out: out, start: start}
	if file, ok := out.(*os.File); ok {
		if info, err := file.Stat(); err == nil {
			p.terminal = info.Mode()&os.ModeCharDevice != 0
		}
	}
	return p
}

func (p *Progress) stamp() string { return fmt.Sprintf("[%5.1f s] ", time.Since(p.start).Seconds()) }

// Counts shows the state.
func (p *Progress) Counts(c Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := c.String()
	if p.terminal {
		_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s%s", p.stamp(), text)
		p.open = true
		return
	}
	if text == p.last || time.Since(p.written) < time.Second {
		return
	}
	p.last, p.written = text, time.Now()
	_, _ = fmt.Fprintf(p.out, "%s%s\n", p.stamp(), text)
}

// Line shows that a step is done.
func (p *Progress) Line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.close()
	_, _ = fmt.Fprintf(p.out, "%s%s\n", p.stamp(), text)
}

// End finishes a line that is open.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.close()
}

func (p *Progress) close() {
	if p.open {
		_, _ = fmt.Fprintln(p.out)
		p.open = false
	}
}

// stopwatch starts to measure a time that is shown. The result returns the time since then.
func stopwatch() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
