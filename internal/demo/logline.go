package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// PrettyLog writes the controller's JSON log lines in a readable form: time, level, logger, message, then the other fields.
type PrettyLog struct{ Out io.Writer }

// Write takes whole lines.
func (p PrettyLog) Write(line []byte) (int, error) {
	if _, err := fmt.Fprintln(p.Out, PrettyLine(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// PrettyLine returns a log line in its readable form; a line that is not a JSON object is unchanged.
func PrettyLine(line []byte) string {
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
	switch v := value.(type) {
	case string:
		return v
	case map[string]any:
		if name, ok := objectName(v); ok {
			return name
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// objectName is the name of a Kubernetes object in a log line, with its namespace if it has one; ok is false for other values.
func objectName(fields map[string]any) (name string, ok bool) {
	name, ok = fields["name"].(string)
	namespace, inNamespace := fields["namespace"].(string)
	switch {
	case ok && len(fields) == 1:
		return name, true
	case ok && inNamespace && len(fields) == 2:
		return namespace + "/" + name, true
	default:
		return "", false
	}
}
