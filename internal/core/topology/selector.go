// Package topology counts pods by topology domain, such as zones and nodes, and determines which domains a constraint leaves to
// the next pod. It knows spread, affinity and anti-affinity, and nothing of nodes: the caller reports which pods are in which
// domain.
//
// Source: scheduling specification, topology.
package topology

import (
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Selector selects pods by label. The nil Selector selects none; an empty one selects all.
type Selector struct {
	terms requirement.Set
	// text is the identity.
	text string
}

// NewSelector returns the selector of pods whose labels meet all terms.
func NewSelector(terms requirement.Set) *Selector {
	var b strings.Builder
	b.WriteByte('{')
	for _, r := range terms {
		b.WriteString(identity(r))
		b.WriteByte(0)
	}
	b.WriteByte('}')
	return &Selector{terms: terms, text: b.String()}
}

// identity differs for different requirements; unlike the printed form it is never truncated.
func identity(r requirement.Requirement) string {
	parts := []string{r.Key, string(r.Operator()), r.String()}
	if r.AllowsAbsence() {
		parts = append(parts, "?")
	}
	return strings.Join(append(parts, r.Values()...), "\x01")
}

// Matches reports whether the selector selects pods with these labels.
func (s *Selector) Matches(labels map[string]string) bool {
	if s == nil {
		return false
	}
	for _, r := range s.terms {
		value, ok := labels[r.Key]
		if ok && !r.Has(value) || !ok && !r.AllowsAbsence() {
			return false
		}
	}
	return true
}

// Empty reports whether the selector has no terms. kube-scheduler counts no pod for a spread with such a selector.
func (s *Selector) Empty() bool { return s == nil || len(s.terms) == 0 }

// Identity returns a string that is equal exactly for equal selectors. The nil selector has the identity "nil".
func (s *Selector) Identity() string {
	if s == nil {
		return "nil"
	}
	return s.text
}

// Demanded returns a label that every selected pod has, with its possible values; no values if there is no such label.
func (s *Selector) Demanded() (key string, values []string) {
	if s == nil {
		return "", nil
	}
	for _, r := range s.terms {
		if r.Operator() == requirement.In {
			return r.Key, r.Values()
		}
	}
	return "", nil
}
