package plugin

import (
	"maps"
	"slices"
)

// RedactText returns a Redactor that replaces texts, and keeps other values.
func RedactText(replace func(text string, rename func(string) string) string) Redactor {
	return func(value any, rename func(string) string) any {
		if text, ok := value.(string); ok {
			return replace(text, rename)
		}
		return value
	}
}

// RedactTags returns a Redactor that replaces the keys and values of a map of tags by their pseudonyms. It keeps the values in keep, and
// values that are no maps.
func RedactTags(keep ...string) Redactor {
	return func(value any, rename func(string) string) any {
		tags, ok := value.(map[string]any)
		if !ok {
			return value
		}
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(tags)) {
			renamed := tags[key]
			if text, isText := renamed.(string); isText && !slices.Contains(keep, text) {
				renamed = rename(text)
			}
			out[rename(key)] = renamed
		}
		return out
	}
}
