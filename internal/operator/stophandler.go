package operator

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/leader"
)

// lostLease is the text of the manager's error, which has no type.
const lostLease = "leader election lost"

// explain adds to a failure of the manager what an operator needs to know.
func explain(err error) error {
	if strings.Contains(err.Error(), lostLease) {
		return fmt.Errorf("the lease could not be renewed for %s, because the API server does not answer or another replica took over; ending so that no two replicas act: %w", leader.RenewDeadline, err)
	}
	return fmt.Errorf("running controllers: %w", err)
}

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

// releasedLease recognises the error in a line.
func releasedLease(r slog.Record) bool {
	found := false
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		found = ok && err.Error() == lostLease
		return !found
	})
	return found
}
