package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slow is an API server that blocks until a value is sent to answer.
type slow struct {
	client.Reader
	asked, answer chan struct{}
}

func (s slow) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	s.asked <- struct{}{}
	<-s.answer
	return s.Reader.Get(ctx, key, obj, opts...)
}

// TestStoreIsNotLockedDuringReads checks that the store can be read and updated while the Watcher waits for the API server. A lock
// that is held meanwhile would deadlock the bubble.
func TestStoreIsNotLockedDuringReads(t *testing.T) {
	t.Attr("covers", "W027")
	synctest.Test(t, func(t *testing.T) {
		w := newWatches(t)
		reader := slow{w.reader, make(chan struct{}), make(chan struct{})}
		w.reader = reader
		s, f := w.runFeed()
		w.deliver()
		s.Created(claim("doubtful", ""), time.Now())
		<-reader.asked
		w.by["Node"].Add(node("n", "test://1"))
		w.by["Pod"].Add(boundPod("p", "n"))
		s.Mark("test://1")
		if n, ok := s.Snapshot().Nodes.Get("test://1"); !ok || len(n.Pods) != 1 || !n.Deleting || !f.Ready() {
			t.Errorf("node %+v, ready %t", n, f.Ready())
		}
		reader.answer <- struct{}{}
		pass(time.Second)
		if _, ok := s.Snapshot().Nodes.Get("nodeclaim/doubtful"); ok {
			t.Error("the response was not applied")
		}
	})
}

// TestNothingHappensWithoutChanges checks that the snapshot is the same one after hours without events.
func TestNothingHappensWithoutChanges(t *testing.T) {
	t.Attr("covers", "W027")
	synctest.Test(t, func(t *testing.T) {
		w := newWatches(t, claim("a", "test://1"))
		s, _ := w.runFeed()
		w.by["NodeClaim"].Add(claim("a", "test://1"))
		w.by["Node"].Add(node("n", "test://1"))
		w.by["Pod"].Add(boundPod("p", "n"))
		w.deliver()
		pass(time.Minute)
		before := s.Snapshot()
		pass(6 * time.Hour)
		if s.Snapshot() != before {
			t.Error("the snapshot was rebuilt")
		}
	})
}
