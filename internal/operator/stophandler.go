package operator

import (
	"context"
	"log/slog"
)

// stopHandler drops a line that the manager logs in every orderly stop, as an error: that it lost the lease it has just released.
type stopHandler struct {
	slog.Handler
	stopping context.Context
}

// Handle implements slog.Handler.
func (h *stopHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.stopping.Err() != nil && r.Level >= slog.LevelError && releasedLease(r) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *stopHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &stopHandler{Handler: h.Handler.WithAttrs(attrs), stopping: h.stopping}
}

// WithGroup implements slog.Handler.
func (h *stopHandler) WithGroup(name string) slog.Handler {
	return &stopHandler{Handler: h.Handler.WithGroup(name), stopping: h.stopping}
}

// releasedLease recognises the error of the manager, which has no type.
func releasedLease(r slog.Record) bool {
	found := false
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		found = ok && err.Error() == "leader election lost"
		return !found
	})
	return found
}
