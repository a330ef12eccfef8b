package model

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
	Effect     Effect
}

// Tolerates reports whether the toleration covers the taint.
func (t Toleration) Tolerates(taint Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Key != "" && t.Key != taint.Key || t.Key == "" && !t.Exists {
		return false
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
