package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestVersionsAreThoseOfTheTests compares the versions on pages with what the tests are built with, and the versions of hashes with the
// code.
func TestVersionsAreThoseOfTheTests(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	found := func(name, pattern string) string {
		match := regexp.MustCompile(pattern).FindStringSubmatch(read(name))
		if match == nil {
			t.Fatalf("%s has no %s", name, pattern)
		}
		return match[1]
	}
	minor := func(version string) string { return version[:strings.LastIndex(version, ".")] }
	kubernetes := found("local/go.mod", `k8s\.io/kubernetes v(\S+)`)
	for page, texts := range map[string][]string{
		"docs/compatibility.md": {
			"| " + kubernetes + " | The tests run",
			"| kubectl | " + minor(kubernetes) + " |",
			"| kwok, to keep simulated nodes ready | " + found("local/binaries/versions.go", `kwokVersion = "v(\S+)"`) + " |",
			"| Helm | " + minor(found("test/chart/go.mod", `helm\.sh/helm/v4 v(\S+)`)) + " |",
			"| Go, to build | " + minor(found("go.mod", `(?m)^go (\S+)$`)) + " |",
			"with the engine of " + found("bench/go.mod", `sigs\.k8s\.io/karpenter v(\S+)`) + ",",
			"| `" + v1.NodePoolHashVersionAnnotationKey + "` | `" + v1.NodePoolHashVersion + "` |",
			"| `" + awsv1.AnnotationHashVersion + "` | `" + awsv1.HashVersion + "` |",
			"| 1.38 and later | Not tried. On AWS,", // the range that the controller accepts is checked below
		},
		"docs/faq.md": {"a control plane of " + kubernetes + "."},
	} {
		for _, text := range texts {
			if !strings.Contains(read(page), text) {
				t.Errorf("%s does not say %q", page, text)
			}
		}
	}
	if newest := found("internal/observe/build.go", `NewestKubernetes = "(\S+)"`); newest != minor(kubernetes) {
		t.Errorf("karpenter version names Kubernetes %s as the newest, and the tests run against %s", newest, kubernetes)
	}
	if last := "firstMinor, lastMinor = 26, 37"; !strings.Contains(read("cloud/aws/controlplane/discover.go"), last) {
		t.Errorf("the controller no longer has %q: correct docs/compatibility.md", last)
	}
}
