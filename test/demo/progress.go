package main

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

// priceLabel is where the simulated cloud writes the price of a node, in dollars per hour.
const priceLabel = "eks-node-viewer/instance-price"

// counts are the state of the loop at one moment.
type counts struct {
	running, pending                          int
	claims, launched, registered, initialized int
	nodes, ready                              int
	pricePerH                                 float64
}

func (c counts) String() string {
	return fmt.Sprintf("pods %d running %d pending · nodeclaims %d: %d launched %d registered %d initialized · nodes %d ready of %d · $%.4f/h",
		c.running, c.pending, c.claims, c.launched, c.registered, c.initialized, c.ready, c.nodes, c.pricePerH)
}

// count counts the pods of the Deployment, the NodeClaims and their nodes.
func (st *stack) count() (counts, error) {
	var c counts
	var pods corev1.PodList
	if err := st.client.List(st.ctx, &pods, client.InNamespace("default"), client.MatchingLabels{"app": "inflate"}); err != nil {
		return counts{}, fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodRunning {
			c.running++
		} else {
			c.pending++
		}
	}
	var claims v1.NodeClaimList
	if err := st.client.List(st.ctx, &claims); err != nil {
		return counts{}, fmt.Errorf("listing nodeclaims: %w", err)
	}
	for i := range claims.Items {
		c.claims++
		for condition, counter := range map[string]*int{
			v1.ConditionTypeLaunched: &c.launched, v1.ConditionTypeRegistered: &c.registered, v1.ConditionTypeInitialized: &c.initialized,
		} {
			if meta.IsStatusConditionTrue(claims.Items[i].Status.Conditions, condition) {
				*counter++
			}
		}
	}
	c.pricePerH = st.pricePerHour()
	var nodes corev1.NodeList
	if err := st.client.List(st.ctx, &nodes, client.HasLabels{v1.NodePoolLabelKey}); err != nil {
		return counts{}, fmt.Errorf("listing nodes: %w", err)
	}
	for i := range nodes.Items {
		c.nodes++
		for _, condition := range nodes.Items[i].Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				c.ready++
			}
		}
		if price, err := strconv.ParseFloat(nodes.Items[i].Labels[priceLabel], 64); err == nil {
			c.pricePerH += price
		}
	}
	return c, nil
}

// progress writes what happens, each line with the time since the start: on a terminal the last line changes in place, elsewhere a line
// appears when something changed, at most one a second. It may be used from several goroutines.
type progress struct {
	mu       sync.Mutex
	out      io.Writer
	start    time.Time
	terminal bool
	last     string
	written  time.Time
	open     bool
}

func newProgress(out io.Writer, start time.Time) *progress {
	p := &progress{out: out, start: start}
	if file, ok := out.(*os.File); ok {
		if info, err := file.Stat(); err == nil {
			p.terminal = info.Mode()&os.ModeCharDevice != 0
		}
	}
	return p
}

func (p *progress) stamp() string { return fmt.Sprintf("[%5.1f s] ", time.Since(p.start).Seconds()) }

// counts shows the state.
func (p *progress) counts(c counts) {
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

// line shows that a step is done.
func (p *progress) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.close()
	_, _ = fmt.Fprintf(p.out, "%s%s\n", p.stamp(), text)
}

// end finishes a line that is open.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.close()
}

func (p *progress) close() {
	if p.open {
		_, _ = fmt.Fprintln(p.out)
		p.open = false
	}
}
