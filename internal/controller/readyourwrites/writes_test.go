package readyourwrites_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/internal/controller/readyourwrites"
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
		act   func(*readyourwrites.Writes)
		read  *corev1.Node
		stale bool
	}{
		"nothing was written":           {func(*readyourwrites.Writes) {}, node("1", "5", false), false},
		"older than the write":          {func(w *readyourwrites.Writes) { w.Wrote(node("1", "10", false)) }, node("1", "9", false), true},
		"shows the write":               {func(w *readyourwrites.Writes) { w.Wrote(node("1", "10", false)) }, node("1", "10", false), false},
		"newer than the write":          {func(w *readyourwrites.Writes) { w.Wrote(node("1", "10", false)) }, node("1", "100", false), false},
		"another object of that name":   {func(w *readyourwrites.Writes) { w.Wrote(node("1", "10", false)) }, node("2", "9", false), false},
		"does not show the deletion":    {func(w *readyourwrites.Writes) { w.Deleted(node("1", "10", false)) }, node("1", "11", false), true},
		"shows the deletion":            {func(w *readyourwrites.Writes) { w.Deleted(node("1", "10", false)) }, node("1", "11", true), false},
		"a recreated object is no echo": {func(w *readyourwrites.Writes) { w.Deleted(node("1", "10", false)) }, node("2", "12", false), false},
		"forgotten when gone": {func(w *readyourwrites.Writes) {
			w.Wrote(node("1", "10", false))
			w.Gone(types.NamespacedName{Name: "a"})
		}, node("1", "9", false), false},
		"a deletion after a write": {func(w *readyourwrites.Writes) {
			w.Wrote(node("1", "10", false))
			w.Deleted(node("1", "10", false))
		}, node("1", "9", true), true},
		"versions that cannot be compared never block": {func(w *readyourwrites.Writes) { w.Wrote(node("1", "abc", false)) }, node("1", "abb", false), false},
	} {
		t.Run(name, func(t *testing.T) {
			var w readyourwrites.Writes
			c.act(&w)
			for range 2 { // asking changes nothing
				if got := w.Stale(c.read); got != c.stale {
					t.Errorf("stale: %v, want %v", got, c.stale)
				}
			}
		})
	}
}
