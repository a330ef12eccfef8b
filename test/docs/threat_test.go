package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThreatsAreShownByTests checks the tables of the threat model: each row names tests or attacks, which exist, or has a dash.
func TestThreatsAreShownByTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	attacks, err := os.ReadFile(filepath.Join(root, "test/attacks/attack.go"))
	if err != nil {
		t.Fatal(err)
	}
	rows, inside := 0, false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") {
			inside = inside && line != ""
			continue
		}
		if strings.HasPrefix(line, "| Attempt |") {
			inside = true
			if line != "| Attempt | Mitigation | Shown by |" {
				t.Errorf("a table has the columns %s", line)
			}
			continue
		}
		if !inside {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 3 {
			t.Errorf("%d columns: %s", len(cells), line)
			continue
		}
		for _, problem := range unshown(t, cells[2], string(attacks)) {
			t.Errorf("%s: %s", cells[0], problem)
		}
	}
	if rows < 30 {
		t.Errorf("the threat model has %d rows", rows)
	}
}

// unshown is what is wrong with the last column of a row.
func unshown(t *testing.T, cell, attacks string) []string {
	t.Helper()
	if cell == "–" {
		return nil
	}
	var problems []string
	for _, name := range strings.Split(cell, ", ") {
		name, quoted := strings.CutPrefix(strings.TrimSuffix(name, "`"), "`")
		folder, test, isTest := strings.Cut(name, ":")
		attack, isAttack := strings.CutPrefix(name, "ATTACK=")
		switch {
		case quoted && isAttack:
			if !strings.Contains(attacks, `name: "`+attack+`"`) {
				problems = append(problems, "there is no attack "+attack)
			}
		case quoted && isTest:
			if !hasTest(t, folder, test) {
				problems = append(problems, folder+" has no test "+test)
			}
		default:
			problems = append(problems, name+" is neither a test nor an attack")
		}
	}
	return problems
}

// hasTest reports whether a folder has a test or fuzzer of this name.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\([a-z]+ \*testing\.[TF]\) \{`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if declared.Match(text) {
			return true
		}
	}
	return false
}

// TestWrongProofsAreNoticed: a test that was renamed is missed.
func TestWrongProofsAreNoticed(t *testing.T) {
	for cell, want := range map[string]int{
		"–": 0, "`test/docs:TestWrongProofsAreNoticed`": 0, "`test/docs:TestWrongProofs`": 1, "`nowhere:TestWrongProofsAreNoticed`": 1, "": 1,
		"`ATTACK=one`, `ATTACK=two`": 1, "by reading": 1, "test/docs:TestWrongProofsAreNoticed": 1,
	} {
		if got := unshown(t, cell, `{name: "one", what: ""}`); len(got) != want {
			t.Errorf("%q: %q", cell, got)
		}
	}
}
