package disrupt

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

func TestMethodsAreConsistent(t *testing.T) {
	names := map[string]bool{}
	for _, m := range Methods() {
		if m.Name == "" || names[m.Name] {
			t.Errorf("the name %q is missing or not unique", m.Name)
		}
		names[m.Name] = true
		simulates := m.Simulates != NoSimulation
		if simulates != (m.Timeout > 0) {
			t.Errorf("%s: timeout %s, simulates: %t", m.Name, m.Timeout, simulates)
		}
		if simulates == (m.Search == ByBudget) {
			t.Errorf("%s: only methods that do not simulate pick by budget alone", m.Name)
		}
		if m.DropsOccupied && simulates {
			t.Errorf("%s drops occupied nodes, but its commands have places for pods", m.Name)
		}
	}
}

func TestMethodFor(t *testing.T) {
	candidate := func(pool Pool, pods ...*model.Pod) Candidate {
		return newCandidate(drifted(node("a", func(n *model.Node) { n.Pods = pods }), 1), pool)
	}
	free := &model.Pod{UID: "free", Reschedulable: true}
	costly := &model.Pod{UID: "costly", Reschedulable: true, EvictionCost: 1}
	for _, tt := range []struct {
		name   string
		reason Reason
		of     Candidate
		want   string
	}{
		{"no pods", Empty, candidate(Pool{}), "emptiness"},
		{"pods without eviction cost", Empty, candidate(Pool{}, free), "dispensable"},
		{"pods with eviction cost", Empty, candidate(Pool{}, free, costly), "emptiness"},
		{"static pool", Drifted, candidate(Pool{Static: true}), "static drift"},
		{"static pool in backoff", Drifted, candidate(Pool{Static: true, InBackoff: true}), "static drift"},
		{"dynamic pool", Drifted, candidate(Pool{}), "drift"},
		{"pods", Underutilized, candidate(Pool{}, costly), "single-node consolidation"},
	} {
		if got := MethodFor(tt.reason, tt.of).Name; got != tt.want {
			t.Errorf("%s: method %q decides, want %q", tt.name, got, tt.want)
		}
	}
}
