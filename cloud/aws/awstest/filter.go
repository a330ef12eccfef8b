package awstest

import (
	"path"
	"slices"
	"strings"
)

// filter is one condition: the field has one of the values, in which * and ? are wildcards.
type filter struct {
	name   string
	values []string
}

// filters read the conditions of a call. A name that is neither in known nor about tags is an error.
func filters(f *form, known ...string) ([]filter, error) {
	var out []filter
	for _, item := range f.items("Filter") {
		name := f.text(item + ".Name")
		if !slices.Contains(known, name) && name != "tag-key" && !strings.HasPrefix(name, "tag:") {
			return nil, refuse("InvalidParameterValue", "The filter '%s' is invalid", name)
		}
		values := f.list(item + ".Value")
		if len(values) == 0 {
			return nil, refuse("InvalidParameterValue", "The filter '%s' has no values", name)
		}
		out = append(out, filter{name, values})
	}
	return out, nil
}

// meets reports whether a resource meets all conditions. Its fields are lists, by the names of filters.
func meets(conditions []filter, tags map[string]string, fields map[string][]string) bool {
	return !slices.ContainsFunc(conditions, func(c filter) bool {
		have := fields[c.name]
		switch key, ofTag := strings.CutPrefix(c.name, "tag:"); {
		case ofTag:
			value, ok := tags[key]
			if !ok {
				return true
			}
			have = []string{value}
		case c.name == "tag-key":
			for key := range tags {
				have = append(have, key)
			}
		}
		return !slices.ContainsFunc(c.values, func(pattern string) bool {
			return slices.ContainsFunc(have, func(value string) bool { return like(pattern, value) })
		})
	})
}

// like reports whether a value matches a pattern with wildcards.
func like(pattern, value string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == value
	}
	// Unlike in paths, a wildcard matches slashes as well.
	flat := func(text string) string { return strings.ReplaceAll(text, "/", "\x00") }
	ok, err := path.Match(flat(pattern), flat(value))
	return err == nil && ok
}

// keep returns the resources that meet the conditions.
func keep[T any](all []T, ok func(T) bool) []T {
	var out []T
	for _, t := range all {
		if ok(t) {
			out = append(out, t)
		}
	}
	return out
}
