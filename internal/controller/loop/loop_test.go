package loop_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/internal/controller/loop"
)

func node(uid, version string, deleted bool) *corev1.Node {
	out := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: types.UID(uid), ResourceVersion: version}}
	if deleted {
		out.DeletionTimestamp = &metav1.Time{}
	}
	return out
}

func TestWrites_W016(t *testing.T) {
	for name, c := range map[string]struct {
		act   func(*loop.Writes)
		read  *corev1.Node
		stale bool
	}{
		"nothing was written":           {func(*loop.Writes) {}, node("1", "5", false), false},
		"older than the write":          {func(w *loop.Writes) { w.Wrote(node("1", "10", false)) }, node("1", "9", false), true},
		"shows the write":               {func(w *loop.Writes) { w.Wrote(node("1", "10", false)) }, node("1", "10", false), false},
		"newer than the write":          {func(w *loop.Writes) { w.Wrote(node("1", "10", false)) }, node("1", "100", false), false},
		"another object of that name":   {func(w *loop.Writes) { w.Wrote(node("1", "10", false)) }, node("2", "9", false), false},
		"does not show the deletion":    {func(w *loop.Writes) { w.Deleted(node("1", "10", false)) }, node("1", "11", false), true},
		"shows the deletion":            {func(w *loop.Writes) { w.Deleted(node("1", "10", false)) }, node("1", "11", true), false},
		"a recreated object is no echo": {func(w *loop.Writes) { w.Deleted(node("1", "10", false)) }, node("2", "12", false), false},
		"forgotten when gone": {func(w *loop.Writes) {
			w.Wrote(node("1", "10", false))
			w.Gone(types.NamespacedName{Name: "a"})
		}, node("1", "9", false), false},
		"a deletion after a write": {func(w *loop.Writes) {
			w.Wrote(node("1", "10", false))
			w.Deleted(node("1", "10", false))
		}, node("1", "9", true), true},
		"versions that cannot be compared never block": {func(w *loop.Writes) { w.Wrote(node("1", "abc", false)) }, node("1", "abb", false), false},
	} {
		t.Run(name, func(t *testing.T) {
			var w loop.Writes
			c.act(&w)
			for range 2 { // asking changes nothing
				if got := w.Stale(c.read); got != c.stale {
					t.Errorf("stale: %v, want %v", got, c.stale)
				}
			}
		})
	}
}

func TestMemo(t *testing.T) {
	start := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	m := loop.NewMemo[string, int](time.Minute)
	m.Put("a", 1, start)
	m.Put("b", 2, start.Add(30*time.Second))
	for _, c := range []struct {
		key  string
		at   time.Duration
		want int
		rest time.Duration
	}{{"a", 0, 1, time.Minute}, {"a", 59 * time.Second, 1, time.Second}, {"a", time.Minute, 0, 0}, {"b", time.Minute, 2, 30 * time.Second}, {"c", 0, 0, 0}} {
		got, rest := m.GetWithRest(c.key, start.Add(c.at))
		if _, ok := m.Get(c.key, start.Add(c.at)); got != c.want || rest != c.rest || ok != (c.rest > 0) {
			t.Errorf("%s after %v: %d for %v", c.key, c.at, got, rest)
		}
	}
	m.Drop("b")
	if _, ok := m.Get("b", start); ok {
		t.Error("b was not dropped")
	}
}

func TestSettle(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		err    error
		result reconcile.Result
		want   error
	}{
		"no error":      {nil, reconcile.Result{}, nil},
		"gone":          {fmt.Errorf("writing: %w", apierrors.NewNotFound(things, "a")), reconcile.Result{}, nil},
		"a conflict":    {fmt.Errorf("writing: %w", apierrors.NewConflict(things, "a", boom)), loop.Again(), nil},
		"anything else": {boom, reconcile.Result{}, boom},
	} {
		t.Run(name, func(t *testing.T) {
			if result, err := loop.Settle(c.err); result != c.result || !errors.Is(err, c.want) {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}

func TestLimiter(t *testing.T) {
	limiter := loop.Limiter[string](time.Second, time.Minute, 1000, 1000)
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if got := limiter.When("a"); got != want*time.Second {
			t.Errorf("retry %d waits %v, want %vs", i, got, int(want))
		}
	}
	if got := limiter.When("b"); got != time.Second {
		t.Errorf("another item waits %v", got)
	}
	limiter.Forget("a")
	if got := limiter.When("a"); got != time.Second {
		t.Errorf("after a success it waits %v", got)
	}
}
