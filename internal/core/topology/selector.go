// Package topology counts pods by domain: how many pods of a kind run in each zone, on each machine, in each value of any
// label, and which domains that leaves to the next one. It knows spread, affinity and anti-affinity, and nothing of nodes
// or machines: who places pods tells it what is where.
//
// Source: scheduling specification, topology.
package topology

import (
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Selector chooses pods by label. The nil Selector chooses none; an empty one chooses all.
type Selector struct {
	terms requirement.Set
	// text is the identity.
	text string
}

// NewSelector chooses the pods whose labels meet all terms.
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

// identity tells requirements apart; unlike the printed form it is never cut short.
func identity(r requirement.Requirement) string {
	parts := []string{r.Key, string(r.Operator()), r.String()}
	if r.AllowsAbsence() {
		parts = append(parts, "?")
	}
	return strings.Join(append(parts, r.Values()...), "\x01")
}

// Matches reports whether the selector chooses pods with these labels.
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

// Identity is equal for selectors that say the same, and different otherwise. The nil selector has the identity "nil".
func (s *Selector) Identity() string {
	if s == nil {
		return "nil"
	}
	return s.text
}

// Demanded is a label that every chosen pod has, with the values it may have; no values when there is no such label.
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
