package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the repository.
const root = "../.."

// page is one page.
type page struct {
	name, text string
}

// pages are all handwritten pages; generated ones follow the code.
func pages(t *testing.T) []page {
	t.Helper()
	names := []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "test/scenario/README.md"}
	for _, pattern := range []string{"docs/*.md", "charts/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(found), err)
		}
		for _, path := range found {
			names = append(names, strings.TrimPrefix(filepath.ToSlash(path), root+"/"))
		}
	}
	var out []page
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page{name, string(text)})
	}
	return out
}

// block is a fenced block: its language, what else stands beside that, and its lines.
type block struct {
	language, note, text string
}

// blocks are the fenced blocks of a page, those in lists too.
func (p page) blocks() []block {
	var out []block
	var open *block
	indent := ""
	for line := range strings.Lines(p.text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case open == nil && strings.HasPrefix(trimmed, "```"):
			language, note, _ := strings.Cut(strings.TrimPrefix(trimmed, "```"), " ")
			open, indent = &block{language: language, note: note}, line[:strings.Index(line, "`")]
		case open != nil && trimmed == "```":
			out, open = append(out, *open), nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent)
		}
	}
	return out
}

// prose is the page without its blocks.
func (p page) prose() string {
	var out strings.Builder
	inside := false
	for line := range strings.Lines(p.text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inside = !inside
		} else if !inside {
			out.WriteString(line)
		}
	}
	return out.String()
}

// codes are the pieces of text in code.
func (p page) codes() []string {
	var out []string
	for _, match := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(p.prose(), -1) {
		out = append(out, match[1])
	}
	return out
}

// sources is all code that users see the names of: ours, without tests, and the definitions.
var sources = sync.OnceValue(func() string {
	var out strings.Builder
	for _, folder := range []string{"api", "charts", "cloud", "cmd", "deploy", "internal", "local", "tools/release"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || d.Name() == "awstest" || d.Name() == "catalogs"):
				return fs.SkipDir
			case d.IsDir() || strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{".go", ".yaml", ".tpl", ".json"}, filepath.Ext(path)):
				return nil
			}
			text, err := os.ReadFile(path)
			out.Write(text)
			return err
		})
		if err != nil {
			panic(err)
		}
	}
	return out.String()
})

// words are all identifiers of the sources.
var words = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, word := range regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*`).FindAllString(sources(), -1) {
		out[word] = true
	}
	return out
})

func TestTheIndexNamesEveryPage(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root, "docs/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages(t) {
		name, inDocs := strings.CutPrefix(p.name, "docs/")
		if inDocs && name != "README.md" && !strings.Contains(string(index), "("+name) {
			t.Errorf("docs/README.md does not name %s", name)
		}
	}
}
