package autoscaler

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/prediction"
	"github.com/karpenter-anew/karpenter/test/logcapture"
)

// api lists autoscalers, or fails.
type api struct {
	client.Reader
	mu    sync.Mutex
	items []unstructured.Unstructured
	err   error
	asked []time.Time
}

func (a *api) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, time.Now())
	if a.err != nil {
		return a.err
	}
	list.(*unstructured.UnstructuredList).Items = a.items
	return nil
}

func (a *api) answer(err error, items ...unstructured.Unstructured) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err, a.items = err, items
}

func (a *api) times() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.asked)
}

func recommending(target string) unstructured.Unstructured {
	recommended := map[string]any{"containerName": "app", "target": map[string]any{"cpu": "2"}}
	return unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": target},
		"spec":     map[string]any{"targetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": target}},
		"status":   map[string]any{"recommendation": map[string]any{"containerRecommendations": []any{recommended}}},
	}}
}

func broken() unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "broken"}, "spec": 1}}
}

// told runs the loop in a synctest bubble beside script. The first list fails with the error first.
func told(t *testing.T, first error, script func(*api, *prediction.Store, *logcapture.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, s, j := &api{}, &prediction.Store{}, &logcapture.Buffer{}
		a.answer(first)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := New(a, clock.RealClock{}, s, slog.New(slog.NewTextHandler(j, nil))).Start(ctx); err != nil {
				t.Error(err)
			}
		})
		wait(0)
		script(a, s, j)
		cancel()
		running.Wait()
	})
}

func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func has(s *prediction.Store, workload string) bool {
	return s.Of(prediction.Target{Namespace: "shop", APIVersion: "apps/v1", Kind: "Deployment", Name: workload}) != nil
}

func TestAutoscalersComeAndGo(t *testing.T) {
	t.Attr("covers", "L398")
	absent := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "autoscaling.k8s.io", Kind: "VerticalPodAutoscaler"}}
	told(t, absent, func(a *api, s *prediction.Store, j *logcapture.Buffer) {
		if !s.Complete() {
			t.Error("without the kind there is nothing to wait for")
		}
		wait(3*time.Minute + time.Second)
		if got := a.times(); got != 4 {
			t.Errorf("asked %d times in three minutes without the kind, want 4", got)
		}
		a.answer(nil, recommending("web"), recommending("db"))
		wait(time.Minute)
		if !has(s, "web") || !has(s, "db") {
			t.Fatal("predictions are missing")
		}
		before := a.times()
		wait(3 * time.Minute)
		if got := a.times() - before; got != 6 {
			t.Errorf("asked %d times in three minutes, want 6", got)
		}
		a.answer(errors.New("timeout"))
		wait(2 * time.Minute)
		if !has(s, "web") || !has(s, "db") {
			t.Error("predictions are lost while autoscalers cannot be listed")
		}
		if got := strings.Count(j.String(), "\n"); got != 1 {
			t.Errorf("%d lines about one failure, want 1", got)
		}
		a.answer(nil, recommending("db"))
		wait(30 * time.Second)
		if has(s, "web") || !has(s, "db") {
			t.Error("an autoscaler that was deleted still counts")
		}
		a.answer(absent)
		wait(30 * time.Second)
		if has(s, "db") {
			t.Error("predictions stay although the kind is gone")
		}
	})
}

func TestPredictionsAreCompleteAfterARoundWithoutGaps(t *testing.T) {
	t.Attr("covers", "L398")
	told(t, errors.New("timeout"), func(a *api, s *prediction.Store, _ *logcapture.Buffer) {
		if s.Complete() {
			t.Error("complete without an answer")
		}
		a.answer(nil, recommending("web"), broken())
		wait(30 * time.Second)
		if s.Complete() || !has(s, "web") {
			t.Errorf("complete %v, web known %v; want the rest of an incomplete round", s.Complete(), has(s, "web"))
		}
		a.answer(nil, recommending("web"))
		wait(30 * time.Second)
		if !s.Complete() {
			t.Error("not complete after a round without gaps")
		}
	})
}
