package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, p := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(p.prose(), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			path, heading, _ := strings.Cut(match[1], "#")
			target := filepath.Join(root, p.name)
			if path != "" {
				target = filepath.Join(root, filepath.Dir(p.name), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s leads nowhere", p.name, match[1])
				continue
			}
			if heading == "" {
				continue
			}
			text, err := os.ReadFile(target)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(headings(page{text: string(text)}), heading) {
				t.Errorf("%s: %s has no heading #%s", p.name, target, heading)
			}
		}
	}
}

// headings are the names by which the headings of a page can be linked.
func headings(p page) []string {
	var out []string
	for line := range strings.Lines(p.prose()) {
		if text, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			text = regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(text)), "")
			out = append(out, strings.ReplaceAll(text, " ", "-"))
		}
	}
	return out
}

// TestFilesExist checks the names of files in the text and in commands.
func TestFilesExist(t *testing.T) {
	file := regexp.MustCompile(`(?:^|[\s=(]|\.\./)((?:api|charts|cloud|cmd|deploy|docs|examples|internal|local|test|tools)/[A-Za-z0-9_./*-]+)`)
	for _, p := range pages(t) {
		texts := p.codes()
		for _, b := range p.blocks() {
			if b.language == "sh" || b.language == "console" {
				texts = append(texts, b.text)
			}
		}
		for _, text := range texts {
			if strings.Contains(text, "://") || strings.Contains(text, ":test/") || strings.Contains(text, "oci-archive:") {
				continue
			}
			for _, match := range file.FindAllStringSubmatch(text, -1) {
				name := strings.TrimSuffix(strings.TrimRight(match[1], "."), "/")
				found, err := filepath.Glob(filepath.Join(root, strings.TrimSuffix(name, "/...")))
				if err != nil || len(found) == 0 {
					t.Errorf("%s: there is no %s", p.name, name)
				}
			}
		}
	}
}

func TestMakeTargetsExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile(`(?m)(?:^|[\s])make ([a-z]+)(?:\s|$)`)
	for _, p := range pages(t) {
		texts := p.codes()
		for _, b := range p.blocks() {
			if b.language == "sh" {
				texts = append(texts, b.text)
			}
		}
		for _, text := range texts {
			for _, match := range call.FindAllStringSubmatch(text, -1) {
				if !strings.Contains(string(makefile), "\n"+match[1]+":") {
					t.Errorf("%s: make %s does not exist", p.name, match[1])
				}
			}
		}
	}
}
