package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestLinesOfPagesRender renders every "helm upgrade --install" that the documentation shows.
func TestLinesOfPagesRender(t *testing.T) {
	const root = "../../"
	lines := 0
	for _, pattern := range []string{"README.md", "docs/*.md", "charts/*/README.md"} {
		found, err := filepath.Glob(root + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(found), err)
		}
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			// Lines that end in a backslash go on.
			for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
				if line = strings.TrimSpace(line); strings.HasPrefix(line, "helm upgrade --install ") {
					lines++
					checkLine(t, path, root, line)
				}
			}
		}
	}
	if lines < 6 {
		t.Errorf("%d lines were found", lines)
	}
}

// valuesOfPages is the file that pages let a script write.
func valuesOfPages(t *testing.T, name string) string {
	t.Helper()
	if name != "karpenter-values.yaml" {
		t.Errorf("which values are in %s?", name)
	}
	return "../../deploy/azure/testdata/values.yaml"
}

func checkLine(t *testing.T, path, root, line string) {
	t.Helper()
	// Placeholders for values of the user.
	words := shellWords(strings.NewReplacer("ROLE-ARN", "arn:aws:iam::012345678901:role/a", "YOUR/REPOSITORY", "example.com/karpenter").Replace(line))
	r := release{chart: root + words[4], name: words[3]}
	for i := 5; i < len(words); i++ {
		switch words[i] {
		case "--set":
			i++
			r.set = append(r.set, words[i])
		case "--namespace":
			i++
			r.namespace = words[i]
		case "--values":
			i++
			r.files = append(r.files, valuesOfPages(t, words[i]))
		case "--create-namespace", "--wait", "--skip-crds":
		default:
			t.Errorf("%s: %s: what is %s?", path, line, words[i])
		}
	}
	objects := r.objects(t)
	if len(objects) == 0 {
		t.Errorf("%s: %s gives nothing", path, line)
	}
	for _, set := range r.set {
		repository, ok := strings.CutPrefix(set, "controller.image.repository=")
		if !ok {
			continue
		}
		if image := the[*appsv1.Deployment](t, objects, "karpenter").Spec.Template.Spec.Containers[0].Image; !strings.HasPrefix(image, repository+":") {
			t.Errorf("%s: %s runs %s", path, line, image)
		}
	}
}
