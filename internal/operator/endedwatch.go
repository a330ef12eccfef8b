package operator

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// newInformer is the constructor of the library, whose watches of metadata end once they are stopped.
//
// Problem: the cache passes the events of such a watch through a filter, whose goroutine waits until an event is received. If a watch is stopped
// while it holds one, it waits for ever, with the event.
//
// Approach: what is left in a stopped watch is received and dropped.
func newInformer(lw toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	_, metadata := object.(*metav1.PartialObjectMetadata)
	if source, ok := lw.(*toolscache.ListWatch); ok && metadata {
		start := source.WatchFuncWithContext
		source.WatchFuncWithContext = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := start(ctx, options)
			if err != nil {
				return nil, err
			}
			return endedWatch{w}, nil
		}
	}
	return toolscache.NewSharedIndexInformer(lw, object, resync, indexers)
}

// endedWatch is a watch whose events are dropped after Stop.
type endedWatch struct{ watch.Interface }

// Stop implements watch.Interface.
func (w endedWatch) Stop() {
	w.Interface.Stop()
	go func() {
		for range w.ResultChan() {
		}
	}()
}
