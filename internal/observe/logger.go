package observe

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
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
	// Commit is the value of the commit field; empty leaves the field out.
	Commit string
}

// Logger builds the logger. Its lines are JSON objects with level, time, logger, message and commit, and with caller when the
// level is debug. Lines with the same level and message are sampled: the first hundred in a second, then every hundredth.
// Source: spec, logging.
func (c LogConfig) Logger() *slog.Logger {
	level := slog.LevelInfo
	switch c.Level {
	case "debug":
		level = slog.LevelDebug
	case "error":
		level = slog.LevelError
	}
	var inner slog.Handler = slog.NewJSONHandler(c.Output, &slog.HandlerOptions{
		AddSource:   level == slog.LevelDebug,
		Level:       level,
		ReplaceAttr: renameField,
	})
	if c.Commit != "" {
		inner = inner.WithAttrs([]slog.Attr{slog.String("commit", c.Commit)})
	}
	return slog.New(&logHandler{inner: inner, name: rootLogger, sampler: &sampler{}, errors: c.Errors})
}

// Log returns the logger of a context: that of a running reconcile names the controller and the object.
func Log(ctx context.Context) *slog.Logger { return slog.New(logr.ToSlogHandler(log.FromContext(ctx))) }

// renameField gives the fields of a line their names and formats, and bounds them.
func renameField(groups []string, a slog.Attr) slog.Attr {
	a = bounded(a)
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		if a.Value.Kind() == slog.KindTime {
			return slog.String("time", a.Value.Time().UTC().Format("2006-01-02T15:04:05.000Z0700"))
		}
	case slog.LevelKey:
		if level, ok := a.Value.Any().(slog.Level); ok {
			return slog.String("level", levelName(level))
		}
	case slog.MessageKey:
		a.Key = "message"
	case slog.SourceKey:
		if source, ok := a.Value.Any().(*slog.Source); ok {
			file := filepath.Join(filepath.Base(filepath.Dir(source.File)), filepath.Base(source.File))
			return slog.String("caller", fmt.Sprintf("%s:%d", file, source.Line))
		}
	case "err": // what the logr bridge calls it
		a.Key = "error"
	}
	return a
}

// levelName maps levels to the four names; the logr bridge makes levels in between of verbosities.
func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "DEBUG"
	case level < slog.LevelWarn:
		return "INFO"
	case level < slog.LevelError:
		return "WARN"
	default:
		return "ERROR"
	}
}

// logHandler adds the logger's name, samples lines and adds the fields of structured errors.
type logHandler struct {
	inner   slog.Handler
	name    string
	grouped bool // an open group: attributes no longer belong to the top level
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
	var fields []slog.Attr
	logged := false
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "logger" && !h.grouped {
			name = loggerName(a.Value.String())
			return true
		}
		fields = append(fields, a)
		if err, ok := a.Value.Any().(error); ok {
			fields = append(fields, errorFields(err)...)
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
	out := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	if !h.grouped {
		out.AddAttrs(slog.String("logger", name))
	}
	out.AddAttrs(fields...)
	err := h.inner.Handle(ctx, out)
	if err != nil && h.errors != nil {
		_, _ = fmt.Fprintf(h.errors, "%s writing a log line: %v\n", time.Now().UTC().Format(time.RFC3339), err)
	}
	return err
}

// WithAttrs implements slog.Handler; an attribute "logger" renames the logger.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := *h
	var rest []slog.Attr
	for _, a := range attrs {
		if a.Key == "logger" && !h.grouped {
			out.name = loggerName(a.Value.String())
			continue
		}
		rest = append(rest, a)
		if err, ok := a.Value.Any().(error); ok {
			rest = append(rest, errorFields(err)...)
		}
	}
	out.inner = h.inner.WithAttrs(rest)
	return &out
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	out := *h
	if !h.grouped {
		out.inner = h.inner.WithAttrs([]slog.Attr{slog.String("logger", h.name)})
	}
	out.inner, out.grouped = out.inner.WithGroup(name), true
	return &out
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
