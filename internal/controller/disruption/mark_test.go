package disruption

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// lagging is a client whose cache shows an old version of a Node.
type lagging struct {
	client.Client
	old *corev1.Node
}

func (l lagging) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if node, ok := o.(*corev1.Node); ok && key.Name == l.old.Name {
		l.old.DeepCopyInto(node)
		return nil
	}
	return l.Client.Get(ctx, key, o, opts...)
}

// TestMarksOfNodesThatOthersWrite: a cache that lags behind the kubelet delays a mark by one conflict, and does not prevent it.
func TestMarksOfNodesThatOthersWrite(t *testing.T) {
	inBubble(t, "a cache that lags", func(w *harness) {
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		old, now := w.node("a"), w.node("a")
		now.Status.Conditions[0].Message = "kubelet is posting ready status"
		if err := w.client.Status().Patch(w.Context(), now, client.MergeFrom(old)); err != nil {
			t.Fatal(err)
		}
		patches := 0
		w.fail(func(op string, obj runtime.Object) error {
			if _, node := obj.(*corev1.Node); node && op == "patch" {
				patches++
			}
			return nil
		})
		m := marker{client: lagging{w.client, old}, live: w.client, clock: w.deps.Clock, log: w.deps.Log, turns: semaphore.NewWeighted(1)}
		n, _ := w.store.Snapshot().Nodes.Get("test://a")
		if err := m.mark(w.Context(), n, disrupt.Empty); err != nil {
			t.Errorf("cannot mark the node: %v", err)
		}
		if !disrupted(w.node("a")) || patches != 2 {
			t.Errorf("disrupted %t after %d patches, want true after 2", disrupted(w.node("a")), patches)
		}
	})
	for _, c := range []struct {
		name, level string
		err         error
	}{
		{"conflicts are expected", "level=INFO", conflict("a")},
		{"other errors are not", "level=ERROR", errors.New("overloaded")},
	} {
		inBubble(t, c.name, func(w *harness) {
			w.pool("pool", budget("100%"))
			w.addNode("pool", "a")
			w.fail(func(op string, obj runtime.Object) error {
				if _, node := obj.(*corev1.Node); node && op == "patch" {
					return fmt.Errorf("tainting: %w", c.err)
				}
				return nil
			})
			defer w.run()()
			w.pass(20 * time.Second)
			found := false
			for line := range strings.Lines(w.logs.String()) {
				if strings.Contains(line, "cannot mark all nodes") {
					found = true
					if !strings.Contains(line, c.level) {
						t.Errorf("%q, want %s", line, c.level)
					}
				}
			}
			if !found {
				t.Error("it was not logged")
			}
		})
	}
}
