package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const changelog = `# Changelog

- Not an entry.

## Unreleased

### Added

- A [link](docs/x.md) and ` + "`code`" + `, in
  two lines.

  Another paragraph.

### Notes

- Not of a known kind.

## [1.2.0] - 2026-11-25

### Fixed

- One.
- Two.
`

func TestChangesAreThoseOfTheVersion(t *testing.T) {
	unreleased := []Change{{"added", "A link and code, in two lines."}}
	for version, want := range map[string][]Change{
		"1.3.0": unreleased,
		"1.2.0": {{"fixed", "One."}, {"fixed", "Two."}},
	} {
		if diff := cmp.Diff(want, Changes(changelog, version)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", version, diff)
		}
	}
}
