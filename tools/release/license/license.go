// Package license finds the licenses of what a program contains by others, checks them against an allowlist, and writes the notices that
// these licenses ask for.
package license

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// Component is a library that a program contains.
type Component struct {
	// Name is a module path of Go or a package name of npm; the standard library of Go is "stdlib".
	Name, Version string
	// Texts are its license files and notices, in the order of their paths.
	Texts []Text
}

// Text is a file of a component.
type Text struct {
	// Path is relative to the component, with slashes.
	Path    string
	Content []byte
}

// NoticesFile is the name of the file that Notices writes.
const NoticesFile = "THIRD-PARTY-NOTICES.txt"

// minCoverage is the percentage of the words of a license file that known licenses have to match, as on pkg.go.dev. What is below is
// another text, or a license with terms that were added.
const minCoverage = 75

// allowed lists the SPDX identifiers of permissive licenses that components may have.
func allowed() []string {
	return []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}
}

// Identify returns the SPDX identifiers of the licenses in a license file, without duplicates. It is an error if the file is not recognized.
func Identify(text []byte) ([]string, error) {
	found := licensecheck.Scan(text)
	if found.Percent < minCoverage {
		return nil, fmt.Errorf("known licenses match %.0f%% of the text, want %d%%", found.Percent, minCoverage)
	}
	var out []string
	for _, m := range found.Match {
		if !m.IsURL {
			out = append(out, m.ID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// IDs returns the SPDX identifiers of all licenses of a component, in alphabetical order. It is an error, with the name of the
// component, if there is no license file, or one whose license is unknown or not on the allowlist.
func (c Component) IDs() ([]string, error) {
	var out []string
	var problems []error
	for _, t := range c.Texts {
		if !isLicense(t.Path) {
			continue
		}
		ids, err := Identify(t.Content)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %s: unknown license: %w", c.Name, c.Version, t.Path, err))
		}
		for _, id := range ids {
			if !slices.Contains(allowed(), id) {
				problems = append(problems, fmt.Errorf("%s %s: %s: the license %s is not one of %s", c.Name, c.Version, t.Path, id, strings.Join(allowed(), ", ")))
			}
		}
		out = append(out, ids...)
	}
	if len(out) == 0 && len(problems) == 0 {
		problems = append(problems, fmt.Errorf("%s %s: no license file", c.Name, c.Version))
	}
	slices.Sort(out)
	return slices.Compact(out), errors.Join(problems...)
}

// Check reports every component whose license is missing, unknown or not on the allowlist.
func Check(components []Component) error {
	var problems []error
	for _, c := range components {
		if _, err := c.IDs(); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// Notices is the text file that is distributed with a program: every component with its licenses, notices and patent grants, in full.
// Components with the same texts share them.
func Notices(product string, components []Component) []byte {
	var order []string
	names := map[string][]string{}
	for _, c := range components {
		var texts bytes.Buffer
		for _, t := range c.Texts {
			fmt.Fprintf(&texts, "--- %s ---\n\n%s\n\n", t.Path, bytes.Trim(t.Content, "\n"))
		}
		if names[texts.String()] == nil {
			order = append(order, texts.String())
		}
		names[texts.String()] = append(names[texts.String()], c.Name+" "+c.Version)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s contains the software below, under the licenses that follow its names.\n", product)
	for _, texts := range order {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s", strings.Repeat("=", 80), strings.Join(names[texts], "\n"), texts)
	}
	return out.Bytes()
}

// isLicense reports whether a file is a license by its name. isNotice: whether it is a notice or patent grant, which comes with a license.
func isLicense(path string) bool { return hasName(path, "LICENSE", "LICENCE", "COPYING", "UNLICENSE") }
func isNotice(path string) bool  { return hasName(path, "NOTICE", "PATENTS") }

// hasName reports whether the base name of a path is one of those, alone or with something appended, such as LICENSE.txt or LICENSE-MIT.
// Files with programs do not count, nor does LICENSE.docs, which is about documentation that is not linked.
func hasName(path string, names ...string) bool {
	base := strings.ToUpper(path[strings.LastIndex(path, "/")+1:])
	return slices.ContainsFunc(names, func(name string) bool {
		rest, ok := strings.CutPrefix(base, name)
		return ok && (rest == "" || strings.ContainsAny(rest[:1], ".-_")) && !strings.HasSuffix(base, ".GO") && !strings.HasSuffix(base, ".DOCS")
	})
}
