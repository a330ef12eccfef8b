package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository.
const root = "../.."

// stub is a program that takes a second to build in place of minutes.
const stub = `package main

import (
	"os"
	"strings"
)

var version string

func main() {
	os.Stdout.WriteString("stub " + version + " " + strings.Join(os.Args[1:], " ") + "\n")
}
`

// newRepository returns a working tree with the stub, and the charts, CRDs and vendored JavaScript of this repository, in one commit.
func newRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"charts", "api"} {
		copyFiles(t, dir, folder)
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "web/vendor"} {
		copyFiles(t, dir, name)
	}
	write(t, filepath.Join(dir, "go.mod"), "module github.com/karpenter-anew/karpenter\n\ngo 1.26.0\n")
	write(t, filepath.Join(dir, "cmd", product, "main.go"), stub)
	write(t, filepath.Join(dir, ".gitignore"), "/dist/\n*.ignored\n")
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "--message=one")
	return dir
}

// copyFiles copies a file or folder of the repository, without programs and tests.
func copyFiles(t *testing.T, to, path string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, path), func(from string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(from) == ".go" || strings.Contains(from, "testdata") {
			return err
		}
		name, err := filepath.Rel(root, from)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(from)
		write(t, filepath.Join(to, name), string(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// git runs a command of git without local settings, at a fixed time.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=it", "-c", "user.email=it@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_DATE=2026-11-25T02:00:00Z", "GIT_COMMITTER_DATE=2026-11-25T02:00:00Z")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, text)
	}
}
