// Package vendored lists the JavaScript libraries that the console has in the repository, and that the program embeds.
package vendored

import (
	"fmt"
	"strings"

	"github.com/karpenter-anew/karpenter/tools/release/license"
)

// folder is where they are in the repository.
const folder = "web/vendor"

// Package is a package of npm.
type Package struct {
	license.Component

	// SHA256 is the checksum of the archive in the registry of npm, in hexadecimal digits.
	SHA256 string
}

// Read returns the packages that are vendored, in the order of the file PACKAGES; content reads a file of the repository, by the parts
// of its path. It is an error if a package has no license file.
func Read(content func(path ...string) ([]byte, error)) ([]Package, error) {
	packages, err := fields(content, "PACKAGES", 2)
	if err != nil {
		return nil, err
	}
	files, err := fields(content, "FILES", 4)
	if err != nil {
		return nil, err
	}
	var out []Package
	for _, row := range packages {
		at := strings.LastIndex(row[0], "@")
		if at < 1 {
			return nil, fmt.Errorf("%s/PACKAGES: %q is not NAME@VERSION", folder, row[0])
		}
		p := Package{Component: license.Component{Name: row[0][:at], Version: row[0][at+1:]}, SHA256: row[1]}
		for _, file := range files {
			if file[2] != row[0] || file[3] != "LICENSE" {
				continue
			}
			text, err := content(folder, file[1])
			if err != nil {
				return nil, err
			}
			p.Texts = append(p.Texts, license.Text{Path: file[3], Content: text})
		}
		if len(p.Texts) == 0 {
			return nil, fmt.Errorf("%s/FILES: no license file of %s", folder, row[0])
		}
		out = append(out, p)
	}
	return out, nil
}

// fields returns the fields of each line of a file; every line must have n.
func fields(content func(path ...string) ([]byte, error), name string, n int) ([][]string, error) {
	text, err := content(folder, name)
	if err != nil {
		return nil, err
	}
	var out [][]string
	for line := range strings.Lines(string(text)) {
		row := strings.Fields(line)
		if len(row) != n {
			return nil, fmt.Errorf("%s/%s: %q has %d fields, want %d", folder, name, strings.TrimSpace(line), len(row), n)
		}
		out = append(out, row)
	}
	return out, nil
}
