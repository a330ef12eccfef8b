package cluster

import (
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

func TestHeadroomOfNodes(t *testing.T) {
	t.Attr("covers", "L348 L394")
	for name, c := range map[string]struct {
		apply func(*Store)
		want  map[string]int
	}{
		"the first counts": {func(*Store) {}, map[string]int{"test://1": 3, "test://2": 1}},
		"an unknown node has none, now and when it appears": {func(s *Store) {
			s.Buffers.SetHeadroom(map[string]Headroom{"test://3": {"shop/a": 1}})
			s.UpdateNodeClaim(claim("c", "test://3"))
		}, map[string]int{}},
		"counts are replaced as a whole": {func(s *Store) {
			s.Buffers.SetHeadroom(map[string]Headroom{"test://2": {"shop/b": 2}})
		}, map[string]int{"test://2": 2}},
		"and cleared": {func(s *Store) { s.Buffers.SetHeadroom(nil) }, map[string]int{}},
		"an incomplete result removes no headroom": {func(s *Store) {
			s.Buffers.AddHeadroom(map[string]Headroom{"test://2": {"shop/b": 2}, "test://3": {"shop/b": 2}})
		}, map[string]int{"test://1": 3, "test://2": 2}},
		"a count of zero is none": {func(s *Store) {
			s.Buffers.SetHeadroom(map[string]Headroom{"test://1": {"shop/a": 0}})
		}, map[string]int{}},
		"a buffer that is gone frees its places at once": {func(s *Store) { s.Buffers.Drop("shop/a") }, map[string]int{"test://1": 1}},
		"a created NodeClaim counts before and after its launch": {func(s *Store) {
			s.Created(claim("c", ""), time.Now())
			s.Buffers.KeepHeadroom("c", Headroom{"shop/a": 4})
			s.Buffers.KeepHeadroom("no such claim", Headroom{"shop/a": 4})
			if n, _ := s.Snapshot().Nodes.Get("nodeclaim/c"); n.Headroom != 4 {
				t.Errorf("before the launch %d", n.Headroom)
			}
			s.UpdateNodeClaim(claim("c", "test://3"))
		}, map[string]int{"test://1": 3, "test://2": 1, "test://3": 4}},
		"a NodeClaim that was launched while pods were placed": {func(s *Store) {
			s.UpdateNodeClaim(claim("c", "test://3"))
			s.Buffers.SetHeadroom(map[string]Headroom{"nodeclaim/c": {"shop/a": 1}, "nodeclaim/gone": {"shop/a": 1}})
		}, map[string]int{"test://3": 1}},
		"a node that is gone and comes back has none": {func(s *Store) {
			s.DeleteNodeClaim("a")
			s.Snapshot()
			s.UpdateNodeClaim(claim("a", "test://1"))
		}, map[string]int{"test://2": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			s.UpdateNodeClaim(claim("a", "test://1"))
			s.UpdateNodeClaim(claim("b", "test://2"))
			s.Buffers.SetHeadroom(map[string]Headroom{"test://1": {"shop/a": 2, "shop/b": 1}, "test://2": {"shop/a": 1}})
			s.Snapshot() // publishing in between must not freeze anything
			c.apply(s)
			got := map[string]int{}
			for id, n := range s.Snapshot().Nodes.All() {
				if n.Headroom > 0 {
					got[id] = n.Headroom
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for id, want := range c.want {
				if got[id] != want {
					t.Errorf("%s has headroom for %d pods, want %d", id, got[id], want)
				}
			}
		})
	}
}

func TestHeadroomIsUnsettledUntilPodsWerePlaced(t *testing.T) {
	t.Attr("covers", "W014")
	s := newStore()
	if s.Snapshot().HeadroomUnknown {
		t.Error("without buffers there is nothing to settle")
	}
	s = newStore()
	s.Buffers.Expect()
	if !s.Snapshot().HeadroomUnknown {
		t.Error("settled before pods were placed")
	}
	s.Buffers.AddHeadroom(nil)
	if !s.Snapshot().HeadroomUnknown {
		t.Error("settled by an answer that is not complete")
	}
	s.Buffers.SetHeadroom(nil)
	if s.Snapshot().HeadroomUnknown {
		t.Error("unsettled although pods were placed")
	}
}

func TestVirtualPodsAreInEveryQuestion(t *testing.T) {
	s := newStore()
	a, b := &model.Pod{UID: "a", Virtual: true}, &model.Pod{UID: "b", Virtual: true}
	s.Buffers.Put("shop/b", []*model.Pod{b})
	s.Buffers.Put("shop/a", []*model.Pod{a})
	s.UpdatePod(boundPod("real", "n"))
	ask := func() []*model.Pod {
		in, err := problem.Builder{Translator: s.translator}.WithoutPools(t.Context(), s.Snapshot(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		return in.Problem.Pods
	}
	if got := ask(); len(got) != 2 || got[0] != a || got[1] != b {
		t.Errorf("asked for %v, want the pods of both buffers in the order of their names", got)
	}
	version := s.Snapshot().Version
	s.Buffers.Put("shop/a", []*model.Pod{a})
	if got := s.Snapshot().Version; got != version {
		t.Error("the same pods again make another snapshot")
	}
	s.Buffers.Put("shop/a", nil)
	if got := ask(); len(got) != 1 || got[0] != b {
		t.Errorf("asked for %v after a buffer shrank to nothing", got)
	}
	s.Buffers.Drop("shop/b")
	if got := ask(); len(got) != 0 {
		t.Errorf("asked for %v after the buffer was dropped", got)
	}
}
