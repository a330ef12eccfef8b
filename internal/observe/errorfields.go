package observe

import (
	"fmt"
	"log/slog"
	"strings"
)

// FieldError is an error with values that a log line shows as separate fields. Make it with WithFields.
type FieldError struct {
	cause  error
	fields []slog.Attr
	// quiet leaves the values out of the text.
	quiet bool
}

// WithFields attaches fields to err; nil stays nil.
func WithFields(err error, fields ...slog.Attr) error {
	if err == nil {
		return nil
	}
	return &FieldError{cause: err, fields: fields}
}

// WithLogFields is WithFields for values that only log lines show. The text is that of err: it appears in events and conditions,
// which must not change with every retry.
func WithLogFields(err error, fields ...slog.Attr) error {
	with := WithFields(err, fields...)
	if e, ok := with.(*FieldError); ok { //nolint:errorlint // it was made here
		e.quiet = true
	}
	return with
}

// Error is the cause followed by its values in parentheses.
func (e *FieldError) Error() string {
	if e.quiet {
		return e.cause.Error()
	}
	parts := make([]string, len(e.fields))
	for i, a := range e.fields {
		parts[i] = a.Key + "=" + a.Value.String()
	}
	return fmt.Sprintf("%v (%s)", e.cause, strings.Join(parts, ", "))
}

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.cause }

// errorFields collects the fields of err and of all errors that it wraps, the outermost first.
func errorFields(err error) []slog.Attr {
	var out []slog.Attr
	for err != nil {
		if e, ok := err.(*FieldError); ok { //nolint:errorlint // this walks the chain itself, to collect from every link
			out = append(out, e.fields...)
		}
		switch e := err.(type) { //nolint:errorlint // as above
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				out = append(out, errorFields(inner)...)
			}
			return out
		default:
			return out
		}
	}
	return out
}
