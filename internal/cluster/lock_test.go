package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slow is an API server that does not answer before it is told to.
type slow struct {
	client.Reader
	asked, answer chan struct{}
}

func (s slow) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	s.asked <- struct{}{}
	<-s.answer
	return s.Reader.Get(ctx, key, obj, opts...)
}

// TestNothingIsReadWhileThePictureIsLocked: while the feed waits for an answer, everything can be told and asked. A lock
// that is held meanwhile would end the bubble in a deadlock.
func TestNothingIsReadWhileThePictureIsLocked(t *testing.T) {
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
			t.Error("the answer was not heard")
		}
	})
}

// TestNothingHappensWithoutChanges: hours without any event leave the very same picture.
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
			t.Error("the picture was made anew")
		}
	})
}
