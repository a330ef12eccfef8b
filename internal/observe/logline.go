package observe

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"
)

// newLineHandler returns a handler that writes a record as a JSON object in the order of upstream: level, time, logger, caller, message,
// commit, then all other fields. Parsers of log lines, such as queries of CloudWatch, depend on this order. slog's handler has another
// one, so that headed puts the first five fields into the message, from which writtenField takes them out.
func newLineHandler(out io.Writer, level slog.Level, commit string) slog.Handler {
	return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: writtenField}).WithAttrs([]slog.Attr{slog.String("commit", commit)})
}

// headSeparator begins each part of a message from headed. No message of the program contains it.
const headSeparator = "\x00"

// headed returns a copy of r, without its attributes, whose message has the fields before commit. Its time is zero, so that the handler writes none.
func headed(r slog.Record, logger string, caller bool) slog.Record {
	from := ""
	if caller {
		from = callerOf(r)
	}
	at := r.Time.UTC().Format("2006-01-02T15:04:05.000Z0700")
	message := strings.Join([]string{"", levelName(r.Level), at, logger, from, r.Message}, headSeparator)
	return slog.NewRecord(time.Time{}, r.Level, message, r.PC)
}

// headFields are the fields in a message from headed; ok is false for any other text.
func headFields(message string) (fields []slog.Attr, ok bool) {
	parts := strings.SplitN(message, headSeparator, 6)
	if len(parts) != 6 || parts[0] != "" {
		return nil, false
	}
	for i, name := range []string{"level", "time", "logger", "caller", "message"} {
		if name != "caller" || parts[i+1] != "" {
			fields = append(fields, slog.String(name, parts[i+1]))
		}
	}
	return fields, true
}

// writtenField bounds the fields of a line and takes the first ones out of the message. It leaves out slog's own level, and errors that
// are nil.
func writtenField(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return bounded(a)
	}
	switch a.Key {
	case slog.MessageKey:
		if fields, ok := headFields(a.Value.String()); ok {
			return slog.Attr{Value: slog.GroupValue(fields...)}
		}
	case slog.LevelKey:
		if _, ok := a.Value.Any().(slog.Level); ok {
			return slog.Attr{}
		}
	case "err": // what the logr bridge calls it
		a.Key = "error"
	}
	if a.Key == "error" && a.Value.Kind() == slog.KindAny && a.Value.Any() == nil {
		return slog.Attr{}
	}
	return bounded(a)
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

// callerOf is the place of a record: folder, file and line; empty when it is unknown.
func callerOf(r slog.Record) string {
	source := r.Source()
	if source == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Join(filepath.Base(filepath.Dir(source.File)), filepath.Base(source.File)), source.Line)
}
