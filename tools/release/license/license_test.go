package license

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/tools/release/program"
)

// root is the repository.
const root = "../../.."

// TestLicensesOfLinkedModules checks every module that karpenter links on a platform of the releases.
func TestLicensesOfLinkedModules(t *testing.T) {
	components, err := Linked(t.Context(), root, "./cmd/karpenter", program.Platform{OS: "linux", Architecture: "amd64"},
		program.Platform{OS: "linux", Architecture: "arm64"}, program.Platform{OS: "darwin", Architecture: "amd64"}, program.Platform{OS: "darwin", Architecture: "arm64"})
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(components); err != nil {
		t.Error(err)
	}
	texts := map[string][]string{}
	for _, c := range components {
		for _, text := range c.Texts {
			texts[c.Name] = append(texts[c.Name], text.Path)
		}
	}
	for name, want := range map[string]string{
		StandardLibrary: "LICENSE", "github.com/alecthomas/kong": "COPYING", "github.com/prometheus/client_golang": "NOTICE",
		"golang.org/x/sys": "PATENTS", "k8s.io/apimachinery": "third_party/forked/golang/LICENSE",
	} {
		if !slices.Contains(texts[name], want) {
			t.Errorf("%s lacks %s: %q", name, want, texts[name])
		}
	}
}

// module writes a module with a main package that links example.com/dependency, which has a license file.
func module(t *testing.T, license string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":              "module example.com/it\n\ngo 1.26.0\n\nrequire example.com/dependency v1.0.0\n\nreplace example.com/dependency => ./dependency\n",
		"main.go":             "package main\n\nimport _ \"example.com/dependency/a/b\"\n\nfunc main() {}\n",
		"dependency/go.mod":   "module example.com/dependency\n\ngo 1.26.0\n",
		"dependency/a/b/b.go": "package b\n", "dependency/a/LICENSE": license, "dependency/c/LICENSE": "of a package that is not linked",
		"dependency/a/license.go": "package a\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// gpl is the notice of a file under version 3 of the GPL.
const gpl = `This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License as
published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.

This program is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied warranty of
MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU General Public License for more details.

You should have received a copy of the GNU General Public License along with this program.  If not, see <https://www.gnu.org/licenses/>.
`

// mit is the MIT license.
func mit(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "web", "vendor", "preact.LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestOtherLicensesFailWithTheModule(t *testing.T) {
	for name, c := range map[string]struct{ license, want string }{
		"permissive":              {mit(t), ""},
		"copyleft":                {gpl, "a/LICENSE: the license GPL-3.0"},
		"permissive and copyleft": {mit(t) + "\n" + gpl, "a/LICENSE: the license GPL-3.0"},
		"unknown":                 {"Ask the author before you use this.", "a/LICENSE: unknown license"},
		"with terms added":        {mit(t) + strings.Repeat("It is forbidden to use the software on Mondays. ", 20), "a/LICENSE: unknown license"},
		"empty":                   {"", "a/LICENSE: unknown license"},
	} {
		components, err := Linked(t.Context(), module(t, c.license), ".", program.Platform{OS: "linux", Architecture: "amd64"})
		if err != nil {
			t.Fatal(err)
		}
		if len(components) != 2 || len(components[1].Texts) != 1 {
			t.Fatalf("%s: %d components, want the standard library and the module with one text: %+v", name, len(components), components[1:])
		}
		err = Check(components)
		if c.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), "./dependency") || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want one with the module and %q", name, err, c.want)
		}
	}
	if err := Check([]Component{{Name: "example.com/m", Version: "v1.0.0", Texts: []Text{{Path: "NOTICE", Content: []byte("x")}}}}); err == nil || err.Error() != "example.com/m v1.0.0: no license file" {
		t.Errorf("error %v, want that there is no license file", err)
	}
}

func TestNoticesHaveEveryTextOnce(t *testing.T) {
	same := []Text{{Path: "LICENSE", Content: []byte("first terms\n")}}
	got := string(Notices("it", []Component{
		{Name: "a", Version: "1", Texts: same},
		{Name: "b", Version: "2", Texts: []Text{{Path: "LICENSE", Content: []byte("other terms")}, {Path: "NOTICE", Content: []byte("by b")}}},
		{Name: "c", Version: "3", Texts: same},
	}))
	rule := strings.Repeat("=", 80)
	want := "it contains the software below, under the licenses that follow its names.\n\n" + rule + "\na 1\nc 3\n\n--- LICENSE ---\n\nfirst terms\n\n\n" +
		rule + "\nb 2\n\n--- LICENSE ---\n\nother terms\n\n--- NOTICE ---\n\nby b\n\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
