package operator

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// TestWatchesOfMetadataEnd stops a watch whose filter holds an event. The bubble fails if a goroutine stays.
func TestWatchesOfMetadataEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := watch.NewFake()
		lw := &toolscache.ListWatch{WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.Filter(source, func(e watch.Event) (watch.Event, bool) { return e, true }), nil
		}}
		newInformer(lw, &metav1.PartialObjectMetadata{}, 0, nil)
		w, err := lw.WatchFuncWithContext(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		source.Add(&corev1.Pod{})
		w.Stop()
	})
}
