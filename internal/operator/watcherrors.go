package operator

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
)

// watchErrorPause is how long one line about failing watches speaks for all of them.
const watchErrorPause = 10 * time.Second

// watchErrors logs failing watches. The library keeps silent about an API server that refuses connections, which is the one thing an
// operator wants to read when nothing happens any more; and an outage fails every watch several times, which is too much to read.
type watchErrors struct {
	log *slog.Logger

	mu   sync.Mutex
	next time.Time
}

// handle implements toolscache.WatchErrorHandlerWithContext. The watch is retried by the caller, with backoff.
func (w *watchErrors) handle(_ context.Context, r *toolscache.Reflector, err error) {
	if errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // how watches end in ordinary operation
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if now.Before(w.next) {
		return
	}
	w.next = now.Add(watchErrorPause)
	w.log.Warn("watching the API server failed, trying again; what is known may be out of date", "error", err, "kind", r.TypeDescription())
}
