package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// prettyLog writes the controller's JSON log lines in a readable form: time, level, logger, message, then the other fields.
type prettyLog struct{ out io.Writer }

// Write takes whole lines.
func (p prettyLog) Write(line []byte) (int, error) {
	if _, err := fmt.Fprintln(p.out, prettyLine(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// prettyLine returns a log line in its readable form; a line that is not a JSON object is unchanged.
func prettyLine(line []byte) string {
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		return strings.TrimRight(string(line), "\n")
	}
	take := func(key string) string {
		value, ok := fields[key]
		if !ok {
			return ""
		}
		delete(fields, key)
		return show(value)
	}
	at := take("time")
	if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
		at = t.Local().Format(time.TimeOnly)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %-5s %s: %s", at, take("level"), strings.TrimPrefix(take("logger"), "controller."), take("message"))
	for _, noise := range []string{"commit", "controllerGroup", "controllerKind", "name", "namespace", "reconcileID"} {
		delete(fields, noise)
	}
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		fmt.Fprintf(&text, " %s=%s", key, show(fields[key]))
	}
	return text.String()
}

func show(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
