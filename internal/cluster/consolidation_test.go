package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestMoves checks that the number changes exactly on events that could make consolidation possible.
func TestMoves(t *testing.T) {
	t.Attr("covers", "L388")
	now := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	initialized := func() *corev1.Node {
		n := node("n", "p://1")
		n.Labels[v1.NodeInitializedLabelKey] = "true"
		return n
	}
	for _, tt := range []struct {
		name   string
		change func(s *Store)
		moves  bool
	}{
		{"nothing", func(*Store) {}, false},
		{"a node appears", func(s *Store) { s.UpdateNode(node("m", "p://2")) }, true},
		{"a node disappears", func(s *Store) { s.DeleteNode("lone") }, true},
		{"a claim appears", func(s *Store) { s.UpdateNodeClaim(claim("d", "p://4")) }, true},
		{"a node becomes initialized", func(s *Store) { s.UpdateNode(initialized()) }, true},
		{"a node is marked for deletion", func(s *Store) { s.Mark("p://1") }, true},
		{"a node turns consolidatable", func(s *Store) {
			c := claim("c", "p://1")
			condition.For(c, now).True(v1.ConditionTypeConsolidatable)
			s.UpdateNodeClaim(c)
		}, true},
		{"a heartbeat", func(s *Store) {
			n := node("n", "p://1")
			n.Annotations = map[string]string{"beat": "2"}
			s.UpdateNode(n)
		}, false},
		{"a pod is bound", func(s *Store) { s.UpdatePod(boundPod("new", "n")) }, true},
		{"a pod is moved", func(s *Store) { s.UpdatePod(boundPod("old", "lone")) }, true},
		{"a pod is updated", func(s *Store) { s.UpdatePod(boundPod("old", "n")) }, false},
		{"a pod is deleted", func(s *Store) { s.DeletePod("old") }, true},
		{"an unknown pod is deleted", func(s *Store) { s.DeletePod("who") }, false},
		{"a pod ends", func(s *Store) {
			p := boundPod("old", "n")
			p.Status.Phase = corev1.PodSucceeded
			s.UpdatePod(p)
		}, true},
		{"a pod that has not been there ends", func(s *Store) {
			p := boundPod("who", "n")
			p.Status.Phase = corev1.PodSucceeded
			s.UpdatePod(p)
		}, false},
		{"the caller marks it", func(s *Store) { s.MarkUnconsolidated() }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore()
			s.UpdateNodeClaim(claim("c", "p://1"))
			n := node("n", "p://1")
			s.UpdateNode(n)
			s.UpdateNode(node("lone", "p://3"))
			s.UpdatePod(boundPod("old", "n"))
			before := s.ConsolidationState(now)
			tt.change(s)
			if got := s.ConsolidationState(now) != before; got != tt.moves {
				t.Errorf("moved %t, want %t", got, tt.moves)
			}
		})
	}
	t.Run("after five minutes without any change", func(t *testing.T) {
		s := newStore()
		before := s.ConsolidationState(now)
		if s.ConsolidationState(now.Add(5*time.Minute-time.Second)) != before {
			t.Error("moved too early")
		}
		after := s.ConsolidationState(now.Add(5 * time.Minute))
		if after == before {
			t.Error("did not move")
		}
		if s.ConsolidationState(now.Add(9*time.Minute)) != after {
			t.Error("moved again at once")
		}
	})
}
