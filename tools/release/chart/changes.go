package chart

import (
	"regexp"
	"slices"
	"strings"
)

// Change is an entry of a changelog, as Artifact Hub lists it.
type Change struct {
	// Kind is added, changed, deprecated, removed, fixed or security.
	Kind        string `json:"kind"`
	Description string `json:"description"`
}

// Changes returns the entries of a version in a changelog in the format of Keep a Changelog; those of "Unreleased" if it has no
// section for the version.
func Changes(changelog, version string) []Change {
	sections := map[string][]Change{}
	var section, kind string
	var current *Change
	for line := range strings.Lines(changelog) {
		line = strings.TrimRight(line, "\n ")
		switch {
		case strings.HasPrefix(line, "## "):
			section, _, _ = strings.Cut(strings.Trim(strings.TrimPrefix(line, "## "), "[]"), " ")
			section, kind, current = strings.Trim(section, "[]"), "", nil
		case strings.HasPrefix(line, "### "):
			kind, current = strings.ToLower(strings.TrimPrefix(line, "### ")), nil
		case strings.HasPrefix(line, "- ") && slices.Contains(kinds(), kind):
			sections[section] = append(sections[section], Change{kind, plain(strings.TrimPrefix(line, "- "))})
			current = &sections[section][len(sections[section])-1]
		case strings.HasPrefix(line, "  ") && current != nil:
			current.Description += " " + plain(strings.TrimSpace(line))
		default:
			current = nil
		}
	}
	if found, ok := sections[version]; ok {
		return found
	}
	return sections["Unreleased"]
}

// kinds are those that Artifact Hub and Keep a Changelog know.
func kinds() []string {
	return []string{"added", "changed", "deprecated", "removed", "fixed", "security"}
}

// plain is a line of Markdown without links and marks of code.
func plain(line string) string {
	return strings.ReplaceAll(regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(line, "$1"), "`", "")
}
