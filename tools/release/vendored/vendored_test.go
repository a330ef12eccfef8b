package vendored

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVendoredPackages checks every package of the console, with its license.
func TestVendoredPackages(t *testing.T) {
	content := func(path ...string) ([]byte, error) {
		return os.ReadFile(filepath.Join(append([]string{"../../.."}, path...)...))
	}
	packages, err := Read(content)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, p := range packages {
		ids, err := p.IDs()
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintln(&got, p.Name+"@"+p.Version, p.SHA256)
		if want := map[string]string{"htm": "[Apache-2.0]"}[p.Name]; want != "" && fmt.Sprint(ids) != want || want == "" && fmt.Sprint(ids) != "[MIT]" {
			t.Errorf("%s has licenses %q", p.Name, ids)
		}
	}
	want, err := content(folder, "PACKAGES")
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) == 0 || strings.TrimSpace(got.String()) != strings.TrimSpace(string(want)) {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
}

func TestWrongListsAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ packages, files, want string }{
		"no checksum": {"a@1\n", "", `web/vendor/PACKAGES: "a@1" has 1 fields, want 2`},
		"no version":  {"@a 00\n", "", `web/vendor/PACKAGES: "@a" is not NAME@VERSION`},
		"no license":  {"a@1 00\n", "00 a.mjs a@1 dist/a.mjs\n00 b.LICENSE b@1 LICENSE\n", "web/vendor/FILES: no license file of a@1"},
	} {
		_, err := Read(func(path ...string) ([]byte, error) {
			return []byte(map[string]string{"PACKAGES": c.packages, "FILES": c.files}[path[1]]), nil
		})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
