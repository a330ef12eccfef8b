package metering

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxLabelPairs is for how many different pairs of type and reason the changes of conditions are counted, by kind.
const maxLabelPairs = 1000

// otherLabel replaces the type and the reason of conditions beyond maxLabelPairs.
const otherLabel = "Other"

// labelPairs bounds the series that count changes of conditions. Kubelets choose the types and reasons of the conditions of their Nodes, and series
// that count are never removed. The zero value is ready to use; it is safe for concurrent use.
type labelPairs struct {
	mu    sync.Mutex
	known map[[2]string]bool
}

// of returns a condition whose type and reason may be label values.
func (p *labelPairs) of(c metav1.Condition) metav1.Condition {
	p.mu.Lock()
	defer p.mu.Unlock()
	pair := [2]string{c.Type, c.Reason}
	switch {
	case p.known[pair]:
	case len(p.known) >= maxLabelPairs:
		c.Type, c.Reason = otherLabel, otherLabel
	default:
		if p.known == nil {
			p.known = map[[2]string]bool{}
		}
		p.known[pair] = true
	}
	return c
}
