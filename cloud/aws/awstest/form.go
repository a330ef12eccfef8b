package awstest

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// form is a request. For query protocols it holds the parameters and records which were read: a parameter that no handler reads does
// not exist and is rejected. For other protocols it holds the body.
type form struct {
	operation string
	values    url.Values
	read      map[string]bool
	body      string
}

func readForm(body string) *form {
	values, err := url.ParseQuery(body)
	if err != nil {
		return &form{operation: "malformed"}
	}
	f := &form{values: values, read: map[string]bool{}}
	f.operation = f.text("Action")
	return f
}

// flat are the parameters of the request, without those of the protocol.
func (f *form) flat() map[string]string {
	if f.values == nil {
		return nil
	}
	out := map[string]string{}
	for key := range f.values {
		if key != "Action" && key != "Version" {
			out[key] = f.values.Get(key)
		}
	}
	return out
}

// text is a parameter; empty if it is missing.
func (f *form) text(key string) string {
	f.read[key] = true
	return f.values.Get(key)
}

// or is a parameter, or a default if it is missing.
func (f *form) or(key, otherwise string) string {
	if value := f.text(key); value != "" {
		return value
	}
	return otherwise
}

// flag is a boolean parameter; false if it is missing.
func (f *form) flag(key string) bool { return f.text(key) == "true" }

// number is a numeric parameter; false if it is missing.
func (f *form) number(key string) (int, bool, error) {
	text := f.text(key)
	if text == "" {
		return 0, false, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, false, refuse("InvalidParameterValue", "Value (%s) for parameter %s is invalid.", text, key)
	}
	return n, true, nil
}

// list are the values of prefix.1, prefix.2 and so on.
func (f *form) list(prefix string) []string {
	var out []string
	for i := 1; f.values.Has(fmt.Sprintf("%s.%d", prefix, i)); i++ {
		out = append(out, f.text(fmt.Sprintf("%s.%d", prefix, i)))
	}
	return out
}

// items are prefix.1, prefix.2 and so on, as far as parameters with that prefix exist.
func (f *form) items(prefix string) []string {
	var out []string
	for i := 1; ; i++ {
		item := fmt.Sprintf("%s.%d", prefix, i)
		if !f.begins(item + ".") {
			return out
		}
		out = append(out, item)
	}
}

func (f *form) begins(prefix string) bool {
	for key := range f.values {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// below are the parameters under a prefix, without it. The part up to the first dot must be one of known.
func (f *form) below(prefix string, known ...string) (map[string]string, error) {
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(f.values)) {
		rest, ok := strings.CutPrefix(key, prefix+".")
		if !ok {
			continue
		}
		if name, _, _ := strings.Cut(rest, "."); !slices.Contains(known, name) {
			return nil, refuse("UnknownParameter", "The parameter %s is not recognized", key)
		}
		out[rest] = f.text(key)
	}
	return out, nil
}

// tagSet reads tags: prefix.1.Key and prefix.1.Value and so on.
func (f *form) tagSet(prefix string) map[string]string {
	out := map[string]string{}
	for _, item := range f.items(prefix) {
		out[f.text(item+".Key")] = f.text(item + ".Value")
	}
	return out
}

// tagSpecifications are the tags by resource type.
func (f *form) tagSpecifications(prefix string) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, item := range f.items(prefix) {
		out[f.text(item+".ResourceType")] = f.tagSet(item + ".Tag")
	}
	return out
}

// check rejects parameters that the handler did not read. A call that changes state checks after it has validated its input and
// before it acts; a dry run ends there.
func (f *form) check() error {
	for _, key := range slices.Sorted(maps.Keys(f.values)) {
		if key != "DryRun" && !f.read[key] {
			return refuse("UnknownParameter", "The parameter %s is not recognized", key)
		}
	}
	if f.values != nil && f.flag("DryRun") {
		return &apiError{status: http.StatusPreconditionFailed, code: "DryRunOperation", message: "Request would have succeeded, but DryRun flag is set."}
	}
	return nil
}
