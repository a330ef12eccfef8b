package nodeclaim_test

import (
	"context"
	"testing"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
)

// slowAnswers is a provider that launches at once, and answers when it is told to.
type slowAnswers struct {
	*fakecluster.Provider
	launched chan string
	answer   map[string]chan error
}

func (s slowAnswers) Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	created, err := s.Provider.Create(ctx, claim)
	s.launched <- claim.Name
	if wrong := <-s.answer[claim.Name]; wrong != nil {
		return nil, wrong
	}
	return created, err
}

// TestSlowAnswersOfLaunches has a cloud that lists instances, without a name, long before it answers the calls that launch them.
func TestSlowAnswersOfLaunches(t *testing.T) {
	type world struct {
		*fakecluster.Cluster
		slow      slowAnswers
		lifecycle *nodeclaim.Lifecycle
		garbage   *nodeclaim.InstanceGarbage
		ended     chan error
	}
	build := func(t *testing.T) *world {
		w := &world{Cluster: fakecluster.New(t), ended: make(chan error, 1)}
		w.Provider.OnCreate = func(instance *v1.NodeClaim) { instance.Name = "" }
		w.slow = slowAnswers{w.Provider, make(chan string), map[string]chan error{"a": make(chan error), "b": make(chan error)}}
		w.Shared.Cloud.Provider = w.slow
		w.lifecycle = nodeclaim.NewLifecycle(w.Shared, &health{})
		w.garbage = nodeclaim.NewInstanceGarbage(w.Shared, w.lifecycle)
		return w
	}
	launch := func(w *world, name string) *v1.NodeClaim {
		claim := w.Claim(name)
		w.Add(claim)
		go func() {
			_, err := w.Try(w.lifecycle, claim)
			w.ended <- err
		}()
		<-w.slow.launched
		return claim
	}
	collect := func(w *world) {
		w.Time.Step(31 * time.Second)
		w.Run(w.garbage, w.Claim("any"))
	}
	t.Run("the instance is kept and belongs to its NodeClaim", func(t *testing.T) {
		w := build(t)
		claim := launch(w, "a")
		collect(w)
		collect(w)
		if !w.Provider.Has("test://a") {
			t.Fatal("an instance was terminated while the call that launched it was running")
		}
		w.slow.answer["a"] <- nil
		if err := <-w.ended; err != nil {
			t.Fatal(err)
		}
		collect(w)
		if id := fakecluster.Must(w.Cluster, claim).Status.ProviderID; id != "test://a" || !w.Provider.Has(id) {
			t.Errorf("the NodeClaim has %q, and the instance runs: %v", id, w.Provider.Has(id))
		}
	})
	t.Run("a lost answer leaves an instance that is terminated, however many launches follow", func(t *testing.T) {
		w := build(t)
		launch(w, "a")
		collect(w)
		launch(w, "b")
		w.slow.answer["a"] <- context.DeadlineExceeded
		if err := <-w.ended; err == nil {
			t.Fatal("the error was swallowed")
		}
		collect(w)
		if w.Provider.Has("test://a") {
			t.Error("the instance of the lost answer runs on")
		}
		if !w.Provider.Has("test://b") {
			t.Error("an instance was terminated while the call that launched it was running")
		}
		w.slow.answer["b"] <- nil
		if err := <-w.ended; err != nil {
			t.Fatal(err)
		}
	})
}
