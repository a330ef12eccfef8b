// Package passlog marks the log lines of controllers that run passes instead of reconciles.
package passlog

import (
	"context"
	"log/slog"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// Passes are the passes of one loop, one at a time.
type Passes struct{ id atomic.Pointer[string] }

// New returns the passes of a loop, and its logger: lines that are logged during a pass have its ID in the field reconcileID, as those of
// reconciles do. Work that outlives a pass needs the logger that was given to New.
func New(log *slog.Logger) (*Passes, *slog.Logger) {
	p := &Passes{}
	return p, slog.New(handler{Handler: log.Handler(), id: &p.id})
}

// Begin begins a pass. The function that it returns ends the pass.
func (p *Passes) Begin() (end func()) {
	id := string(uuid.NewUUID())
	p.id.Store(&id)
	return func() { p.id.Store(nil) }
}

// handler adds the ID of the current pass to records.
type handler struct {
	slog.Handler
	id *atomic.Pointer[string]
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	id := h.id.Load()
	if id == nil {
		return h.Handler.Handle(ctx, r)
	}
	out := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	out.AddAttrs(logfield.ReconcileID(*id))
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{Handler: h.Handler.WithAttrs(attrs), id: h.id}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{Handler: h.Handler.WithGroup(name), id: h.id}
}
