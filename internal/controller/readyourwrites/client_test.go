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

// lagging is a client whose reads return the cache that the test sets.
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

// label returns the value of one label, as the next write reads it.
func label(t *testing.T, c client.Client) string {
	t.Helper()
	var n corev1.Node
	if err := c.Get(t.Context(), client.ObjectKey{Name: "n"}, &n); err != nil {
		return err.Error()
	}
	return n.Labels["step"]
}

func newClient(t *testing.T) (*lagging, *Client, *clocktesting.FakeClock) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "1", Labels: map[string]string{"step": "before"}, Finalizers: []string{"a/b"}}}
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
	cache, c, _ := newClient(t)
	written := patched(t, cache, c, "after")
	for range 2 { // a read does not drop it
		if got := label(t, c); got != "after" {
			t.Errorf("read %q while the cache lags, want the write", got)
		}
	}
	cache.cached = written.DeepCopy()
	cache.cached.Labels["step"] = "of another process"
	cache.cached.ResourceVersion += "0"
	if got := label(t, c); got != "of another process" {
		t.Errorf("read %q although the cache is newer", got)
	}
	if n := len(c.writes.All()); n != 0 {
		t.Errorf("%d writes remembered that the cache shows", n)
	}
}

func TestGetOfADeletedObjectIsNotFound(t *testing.T) {
	cache, c, _ := newClient(t)
	patched(t, cache, c, "after")
	cache.cached = nil
	if got := label(t, c); got == "after" {
		t.Error("a deleted object was read from memory")
	}
}

func TestGetOfARecreatedObjectShowsTheNewOne(t *testing.T) {
	cache, c, _ := newClient(t)
	patched(t, cache, c, "after")
	cache.cached.UID = "2"
	if got := label(t, c); got != "before" {
		t.Errorf("read %q, want the new object", got)
	}
}

func TestVersionsThatCannotBeComparedNeverHideTheCache(t *testing.T) {
	cache, c, _ := newClient(t)
	patched(t, cache, c, "after")
	cache.cached.ResourceVersion = "abc"
	if got := label(t, c); got != "before" {
		t.Errorf("read %q, want what the cache shows", got)
	}
}

func TestWritesAreForgotten(t *testing.T) {
	cache, c, clk := newClient(t)
	patched(t, cache, c, "after")
	clk.Step(writeTTL)
	if got := label(t, c); got != "before" {
		t.Errorf("read %q; want what the cache shows", got)
	}
	if err := c.Delete(t.Context(), cache.cached); err != nil {
		t.Fatal(err)
	}
	clk.Step(deletionTTL - time.Nanosecond)
	if !c.DeletionPending(cache.cached) {
		t.Error("the deletion is forgotten while the cache may not show it yet")
	}
	clk.Step(time.Nanosecond)
	if got := label(t, c); got != "before" || c.DeletionPending(cache.cached) {
		t.Errorf("read %q, deletion pending %v; want what the cache shows", got, c.DeletionPending(cache.cached))
	}
}

func TestDeletionPending(t *testing.T) {
	t.Attr("covers", "W016")
	remove := func(t *testing.T, cache *lagging, c *Client) {
		t.Helper()
		if err := c.Delete(t.Context(), cache.cached); err != nil {
			t.Fatal(err)
		}
	}
	current := func(t *testing.T, cache *lagging) {
		t.Helper()
		if err := cache.Client.Get(t.Context(), client.ObjectKey{Name: "n"}, cache.cached); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		act     func(*testing.T, *lagging, *Client)
		pending bool
	}{
		"no write":     {func(*testing.T, *lagging, *Client) {}, false},
		"only a write": {func(t *testing.T, cache *lagging, c *Client) { patched(t, cache, c, "after") }, false},
		"a deletion":   {remove, true},
		"a deletion after a write": {func(t *testing.T, cache *lagging, c *Client) {
			patched(t, cache, c, "after")
			remove(t, cache, c)
		}, true},
		"the cache shows the write and not the deletion": {func(t *testing.T, cache *lagging, c *Client) {
			cache.cached = patched(t, cache, c, "after")
			remove(t, cache, c)
		}, true},
		"the cache shows the deletion": {func(t *testing.T, cache *lagging, c *Client) {
			remove(t, cache, c)
			current(t, cache)
		}, false},
		"a write shows the deletion": {func(t *testing.T, cache *lagging, c *Client) {
			remove(t, cache, c)
			patched(t, cache, c, "after")
		}, false},
		"the object was recreated": {func(t *testing.T, cache *lagging, c *Client) {
			remove(t, cache, c)
			cache.cached.UID = "2"
		}, false},
		"the object is gone": {func(t *testing.T, cache *lagging, c *Client) {
			remove(t, cache, c)
			was := cache.cached
			cache.cached = nil
			label(t, c)
			cache.cached = was
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cache, c, _ := newClient(t)
			tc.act(t, cache, c)
			for range 2 { // a read changes nothing
				var read corev1.Node
				if err := c.Get(t.Context(), client.ObjectKey{Name: "n"}, &read); err != nil {
					t.Fatal(err)
				}
				if got := c.DeletionPending(&read); got != tc.pending {
					t.Errorf("pending %v, want %v", got, tc.pending)
				}
			}
		})
	}
}
