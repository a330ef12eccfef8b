package plugin_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud/plugin"
)

func TestRedactText(t *testing.T) {
	redact := plugin.RedactText(func(text string, rename func(string) string) string { return "id-" + rename(text) })
	for _, c := range []struct{ value, want any }{
		{"abc", "id-ABC"},
		{"", "id-"},
		{int64(7), int64(7)},
		{nil, nil},
		{map[string]any{"a": "b"}, map[string]any{"a": "b"}},
	} {
		if diff := cmp.Diff(c.want, redact(c.value, strings.ToUpper)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.value, diff)
		}
	}
}

// Keys and values are renamed in an order that the map does not decide; values to keep stay, but not keys of the same text.
func TestRedactTags(t *testing.T) {
	for _, c := range []struct {
		name        string
		keep        []string
		value, want any
		asked       string
	}{
		{
			"tags", nil,
			map[string]any{"team": "a", "env": "prod", "any": "*"},
			map[string]any{"TEAM": "A", "ENV": "PROD", "ANY": "*"},
			"* any prod env a team",
		},
		{"kept", []string{"*"}, map[string]any{"*": "*", "env": "prod"}, map[string]any{"*": "*", "ENV": "PROD"}, "* prod env"},
		{"no text", nil, map[string]any{"env": int64(1)}, map[string]any{"ENV": int64(1)}, "env"},
		{"no map", nil, "env", "env", ""},
		{"none", nil, nil, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []string
			got := plugin.RedactTags(c.keep...)(c.value, func(text string) string {
				asked = append(asked, text)
				return strings.ToUpper(text)
			})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if order := strings.Join(asked, " "); order != c.asked {
				t.Errorf("renamed %q, want %q", order, c.asked)
			}
		})
	}
}
