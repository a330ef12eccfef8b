package readyourwrites

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// lagging is a client whose reads show what the test says the cache holds.
type lagging struct {
	client.Client
	cached *corev1.Node // nil: the cache has no such object
}

func (l *lagging) Get(_ context.Context, name client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if l.cached == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, name.Name)
	}
	l.cached.DeepCopyInto(o.(*corev1.Node))
	return nil
}

// label is the value of one label, as one more write sees it.
func label(t *testing.T, c client.Client) string {
	t.Helper()
	var n corev1.Node
	if err := c.Get(t.Context(), client.ObjectKey{Name: "n"}, &n); err != nil {
		return err.Error()
	}
	return n.Labels["step"]
}

func world(t *testing.T) (*lagging, *Client, *clocktesting.FakeClock) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "1", Labels: map[string]string{"step": "before"}}}
	server := apiserver.New().WithObjects(node).Build()
	cache := &lagging{Client: server, cached: &corev1.Node{}}
	if err := server.Get(t.Context(), client.ObjectKey{Name: "n"}, cache.cached); err != nil {
		t.Fatal(err)
	}
	clk := clocktesting.NewFakeClock(time.Now())
	return cache, New(cache, clk), clk
}

func patched(t *testing.T, cache *lagging, c client.Client, value string) *corev1.Node {
	t.Helper()
	next := cache.cached.DeepCopy()
	next.Labels["step"] = value
	if err := c.Patch(t.Context(), next, client.MergeFrom(cache.cached)); err != nil {
		t.Fatal(err)
	}
	return next
}

func TestGetShowsTheLastWriteUntilTheCacheDoes(t *testing.T) {
	cache, fresh, _ := world(t)
	written := patched(t, cache, fresh, "after")
	if got := label(t, fresh); got != "after" {
		t.Errorf("read %q while the cache lags, want the write", got)
	}
	cache.cached = written.DeepCopy()
	cache.cached.Labels["step"] = "and somebody else's"
	cache.cached.ResourceVersion += "0"
	if got := label(t, fresh); got != "and somebody else's" {
		t.Errorf("read %q although the cache is newer", got)
	}
	if len(fresh.written) != 0 {
		t.Error("a write that the cache shows is still remembered")
	}
}

func TestAnObjectThatIsGoneStaysGone(t *testing.T) {
	cache, fresh, _ := world(t)
	patched(t, cache, fresh, "after")
	cache.cached = nil
	if got := label(t, fresh); got == "after" {
		t.Error("a deleted object was read from memory")
	}
}

func TestAnotherObjectOfTheSameNameIsNotMistaken(t *testing.T) {
	cache, fresh, _ := world(t)
	patched(t, cache, fresh, "after")
	cache.cached.UID = "2"
	if got := label(t, fresh); got != "before" {
		t.Errorf("read %q, want the object that the name stands for now", got)
	}
}

func TestWritesThatNobodyReadsAreForgotten(t *testing.T) {
	cache, fresh, clk := world(t)
	patched(t, cache, fresh, "after")
	clk.Step(3 * freshFor)
	other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	if err := fresh.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if n := len(fresh.written); n != 1 {
		t.Errorf("%d writes remembered, want the last one only", n)
	}
}
