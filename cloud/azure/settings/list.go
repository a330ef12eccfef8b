package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// IDs is a list of ARM ids.
type IDs []string

// Decode implements kong.MapperValue.
func (i *IDs) Decode(ctx *kong.DecodeContext) error { return options.DecodeText(ctx, i, parseIDs) }

// String returns the form that the flag reads.
func (i IDs) String() string { return strings.Join(i, ",") }

// parseIDs reads ids separated by commas.
func parseIDs(text string) (IDs, error) {
	var out IDs
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" && text != "" {
			return nil, errors.New("must be ARM ids, separated by commas, none of them empty")
		}
		if part != "" {
			out = append(out, part)
		}
	}
	return out, nil
}

// Tags are tags of resources, by key.
type Tags map[string]string

// Most characters of tags, and what their keys must not contain.
const (
	maxTagKey    = 512
	maxTagValue  = 256
	notInTagKeys = `<>%&?\/`
)

// Decode implements kong.MapperValue.
func (t *Tags) Decode(ctx *kong.DecodeContext) error { return options.DecodeText(ctx, t, ParseTags) }

// String returns the form that ParseTags reads, sorted by key.
func (t Tags) String() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(t)) {
		parts = append(parts, key+"="+t[key])
	}
	return strings.Join(parts, ",")
}

// ParseTags reads "key=value,key=value" and refuses what Azure does not accept as tags. Azure does not distinguish upper and lower case in
// keys.
func ParseTags(text string) (Tags, error) {
	var out Tags
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		folded := strings.ToLower(key)
		switch {
		case !found || key == "":
			return nil, fmt.Errorf("%q is not a tag; write key=value", pair)
		case utf8.RuneCountInString(key) > maxTagKey:
			return nil, fmt.Errorf("the key of a tag has %d characters; at most %d are allowed", utf8.RuneCountInString(key), maxTagKey)
		case utf8.RuneCountInString(value) > maxTagValue:
			return nil, fmt.Errorf("the value of tag %q has %d characters; at most %d are allowed", key, utf8.RuneCountInString(value), maxTagValue)
		case strings.ContainsAny(key, notInTagKeys):
			return nil, fmt.Errorf("the key of tag %q contains one of %s", key, strings.Join(strings.Split(notInTagKeys, ""), " "))
		case seen[folded]:
			return nil, fmt.Errorf("tag %q is there twice; keys that differ in case only are the same", key)
		}
		seen[folded] = true
		if out == nil {
			out = Tags{}
		}
		out[key] = value
	}
	return out, nil
}
