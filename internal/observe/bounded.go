package observe

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"

	"github.com/karpenter-anew/karpenter/api/condition"
)

// bounded cuts a field to condition.MaxMessageBytes. Texts, errors and other values that are shown as text are cut at their end; lists and maps
// lose elements. Stack traces are not cut: no user writes them, and what matters is at their end as well.
func bounded(a slog.Attr) (out slog.Attr) {
	// As in slog: a value whose methods panic does not end the process.
	defer func() {
		if failure := recover(); failure != nil {
			out = slog.String(a.Key, condition.TruncateMessage(fmt.Sprintf("!PANIC: %v", failure)))
		}
	}()
	switch {
	case a.Key == "stack":
	case a.Value.Kind() == slog.KindDuration: // of libraries; fields of this program are texts already
		a.Value = slog.StringValue(a.Value.Duration().String())
	case a.Value.Kind() == slog.KindString:
		a.Value = slog.StringValue(condition.TruncateMessage(a.Value.String()))
	case a.Value.Kind() == slog.KindAny:
		a.Value = slog.AnyValue(boundedValue(a.Value.Any()))
	}
	return a
}

func boundedValue(value any) any {
	switch v := value.(type) {
	case nil:
		return value
	case error:
		return condition.TruncateMessage(v.Error()) // also that of an error with another form in JSON
	}
	shown, err := json.Marshal(value)
	if err != nil || len(shown) <= condition.MaxMessageBytes {
		return value
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Slice, reflect.Array:
		return boundedList(v)
	case reflect.Map:
		return boundedMap(v)
	}
	return condition.TruncateMessage(string(shown))
}

// boundedList returns the first elements of a list that together take at most condition.MaxMessageBytes.
func boundedList(list reflect.Value) []any {
	out, left := []any{}, condition.MaxMessageBytes
	for i := range list.Len() {
		element := boundedValue(list.Index(i).Interface())
		if left -= shownBytes(element); left < 0 {
			break
		}
		out = append(out, element)
	}
	return out
}

// boundedMap returns the entries of a map with the first keys that together take at most condition.MaxMessageBytes.
func boundedMap(m reflect.Value) map[string]any {
	entries := map[string]any{}
	for iterator := m.MapRange(); iterator.Next(); {
		entries[fmt.Sprint(iterator.Key().Interface())] = iterator.Value().Interface()
	}
	out, left := map[string]any{}, condition.MaxMessageBytes
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		value := boundedValue(entries[key])
		if left -= len(key) + shownBytes(value); left < 0 {
			break
		}
		out[key] = value
	}
	return out
}

// shownBytes is the length of a value in a log line, without the separator.
func shownBytes(value any) int {
	shown, err := json.Marshal(value)
	if err != nil {
		return 0
	}
	return len(shown)
}
