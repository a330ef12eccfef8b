package operator

import (
	"context"
	"log/slog"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// routeLibraryLogs routes the log lines of the libraries through the same logger. Each library has its own global logger variable.
func routeLibraryLogs(log *slog.Logger) {
	bridge := logr.FromSlogHandler(withoutChatter{log.Handler()})
	ctrllog.SetLogger(bridge)
	klog.SetLoggerWithOptions(bridge, klog.ContextualLogger(true))
}

// withoutChatter lowers the lines of the controller library about every controller at every start and stop from info to
// debug: a hundred lines that bury the few an operator looks for.
type withoutChatter struct{ slog.Handler }

func isChatter(message string) bool {
	for _, prefix := range []string{
		"Starting EventSource", "Starting Controller", "Starting workers", "Shutdown signal received", "All workers finished",
		"Stopping and waiting for", "Wait completed, proceeding",
	} {
		if strings.HasPrefix(message, prefix) {
			return true
		}
	}
	return false
}

func (h withoutChatter) Handle(ctx context.Context, r slog.Record) error {
	if r.Level == slog.LevelInfo && isChatter(r.Message) {
		r.Level = slog.LevelDebug
		if !h.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h withoutChatter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withoutChatter{h.Handler.WithAttrs(attrs)}
}

func (h withoutChatter) WithGroup(name string) slog.Handler {
	return withoutChatter{h.Handler.WithGroup(name)}
}
