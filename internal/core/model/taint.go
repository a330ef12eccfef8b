package model

import "strconv"

// Effect is the effect of a taint on pods that do not tolerate it.
type Effect string

// The taint effects of the Kubernetes API.
const (
	NoSchedule       Effect = "NoSchedule"
	PreferNoSchedule Effect = "PreferNoSchedule"
	NoExecute        Effect = "NoExecute"
)

// Taint repels pods.
type Taint struct {
	Key, Value string
	Effect     Effect
}

// String renders key[=value]:effect.
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + string(t.Effect)
	}
	return t.Key + "=" + t.Value + ":" + string(t.Effect)
}

// Toleration is a pod's toleration. An empty Key with Exists tolerates every key, an empty Effect every effect.
type Toleration struct {
	Key, Value string
	Exists     bool
	// Compare compares the value of the taint with Value as integers; empty tests whether they are equal as texts.
	Compare Comparison
	Effect  Effect
}

// Comparison is how the value of a taint is compared with that of a toleration.
type Comparison string

// The comparisons of the Kubernetes API.
const (
	Less    Comparison = "Lt"
	Greater Comparison = "Gt"
)

// tolerates reports whether the value of a taint compares to that of a toleration. Values that are not decimal integers never do.
// Source: KEP-5471, tolerations with comparison operators.
func (c Comparison) tolerates(taint, toleration string) bool {
	have, ok := integer(taint)
	bound, bounded := integer(toleration)
	switch {
	case !ok || !bounded:
		return false
	case c == Less:
		return have < bound
	}
	return have > bound
}

// integer parses a decimal integer without a plus sign and without leading zeros.
func integer(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// Tolerates reports whether the toleration covers the taint.
func (t Toleration) Tolerates(taint Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Key != "" && t.Key != taint.Key || t.Key == "" && !t.Exists {
		return false
	}
	if t.Compare != "" {
		return t.Compare.tolerates(taint.Value, t.Value)
	}
	return t.Exists || t.Value == taint.Value
}

// Untolerated returns the first taint that no toleration covers. With soft set, PreferNoSchedule is ignored.
func Untolerated(taints []Taint, tolerations []Toleration, soft bool) (Taint, bool) {
	for _, taint := range taints {
		if soft && taint.Effect == PreferNoSchedule {
			continue
		}
		if !tolerated(taint, tolerations) {
			return taint, true
		}
	}
	return Taint{}, false
}

func tolerated(taint Taint, tolerations []Toleration) bool {
	for _, t := range tolerations {
		if t.Tolerates(taint) {
			return true
		}
	}
	return false
}
