package observe

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// rootLogger is the value of the logger field of lines without a named logger, and the prefix of all names.
const rootLogger = "controller"

// LogConfig configures a logger.
type LogConfig struct {
	// Level is debug, info (also when empty) or error.
	Level string
	// Output gets one JSON object a line.
	Output io.Writer
	// Errors gets a line when Output cannot be written; nil drops it.
	Errors io.Writer
	// Commit is the value of the commit field; "unspecified" when empty.
	Commit string
}

// Logger builds the logger. Its lines are JSON objects that begin with level, time, logger, message and commit, and with caller after
// logger when the level is debug. Lines with the same level and message are sampled: the first hundred in a second, then every hundredth.
// Source: spec, logging.
func (c LogConfig) Logger() *slog.Logger {
	level := slog.LevelInfo
	switch c.Level {
	case "debug":
		level = slog.LevelDebug
	case "error":
		level = slog.LevelError
	}
	commit := c.Commit
	if commit == "" {
		commit = "unspecified"
	}
	inner := newLineHandler(c.Output, level, commit)
	return slog.New(&logHandler{inner: inner, name: rootLogger, caller: level == slog.LevelDebug, sampler: &sampler{}, errors: c.Errors})
}

// Log returns the logger of a context: that of a running reconcile names the controller and the object.
func Log(ctx context.Context) *slog.Logger { return slog.New(logr.ToSlogHandler(log.FromContext(ctx))) }

// logHandler adds the logger's name, samples lines and adds the fields of structured errors. A field appears once in a line: the first
// one with its name is kept, since parsers of JSON disagree about duplicates.
type logHandler struct {
	inner   slog.Handler
	name    string
	keys    []string // of the attributes at the top level
	caller  bool     // lines have the caller
	grouped bool     // an open group: attributes no longer belong to the top level
	sampler *sampler
	errors  io.Writer
}

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.inner.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	name := h.name
	fields := fieldSet{keys: h.keys[:len(h.keys):len(h.keys)]}
	logged := false
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "logger" && !h.grouped {
			name = loggerName(a.Value.String())
			return true
		}
		fields.add(a)
		if err, ok := a.Value.Any().(error); ok {
			fields.add(errorFields(err)...)
			logged = logged || isLogged(err)
		}
		return true
	})
	if logged {
		return nil
	}
	if r.Level < slog.LevelInfo && strings.HasSuffix(name, ".events") {
		return nil // the broadcaster logs every event, which is visible as an event already
	}
	if !h.sampler.keep(r.Time, r.Level, r.Message) {
		return nil
	}
	out := headed(r, name, h.caller)
	out.AddAttrs(fields.attrs...)
	err := h.inner.Handle(ctx, out)
	if err != nil && h.errors != nil {
		_, _ = fmt.Fprintf(h.errors, "%s writing a log line: %v\n", time.Now().UTC().Format(time.RFC3339), err)
	}
	return err
}

// WithAttrs implements slog.Handler; an attribute "logger" renames the logger.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := *h
	rest := fieldSet{keys: h.keys[:len(h.keys):len(h.keys)]}
	for _, a := range attrs {
		if a.Key == "logger" && !h.grouped {
			out.name = loggerName(a.Value.String())
			continue
		}
		rest.add(a)
		if err, ok := a.Value.Any().(error); ok {
			rest.add(errorFields(err)...)
		}
	}
	out.inner, out.keys = h.inner.WithAttrs(rest.attrs), rest.keys
	return &out
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	out := *h
	out.inner, out.grouped, out.keys = h.inner.WithGroup(name), true, nil
	return &out
}

// fieldSet collects fields that have different keys.
type fieldSet struct {
	keys  []string
	attrs []slog.Attr
}

func (s *fieldSet) add(attrs ...slog.Attr) {
	for _, a := range attrs {
		if a.Key != "" && slices.Contains(s.keys, a.Key) {
			continue
		}
		s.keys, s.attrs = append(s.keys, a.Key), append(s.attrs, a)
	}
}

// loggerName puts a name, whose parts the logr bridge separates by slashes, below the root.
func loggerName(name string) string {
	name = strings.ReplaceAll(name, "/", ".")
	switch {
	case name == "", name == rootLogger:
		return rootLogger
	case strings.HasPrefix(name, rootLogger+"."):
		return name
	default:
		return rootLogger + "." + name
	}
}
