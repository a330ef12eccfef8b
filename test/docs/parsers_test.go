package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEachParserHasAFuzzerOrAReason compares the tables of inputs with the fuzzers of the repository: each row names fuzzers that exist, or says why there
// is none, and each fuzzer is in a row.
func TestEachParserHasAFuzzerOrAReason(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/reference/parsers.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows, listed := inputs(string(text))
	for _, row := range rows {
		for _, problem := range uncovered(t, row) {
			t.Errorf("%s: %s", row[0], problem)
		}
	}
	fuzzers := fuzzers(t)
	for _, fuzzer := range fuzzers {
		if !slices.Contains(listed, fuzzer) {
			t.Errorf("no row names the fuzzer %s", fuzzer)
		}
	}
	if len(rows) < 40 || len(fuzzers) < 45 {
		t.Errorf("%d inputs, %d fuzzers", len(rows), len(fuzzers))
	}
}

var quotedFuzzer = regexp.MustCompile("`([a-z0-9/]+:Fuzz[A-Za-z]+)`")

// inputs are the rows of the tables of inputs, and the fuzzers that they name.
func inputs(text string) (rows [][]string, named []string) {
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			inside = false
		case strings.HasPrefix(line, "| Input | Written by | Parsed in | Bound on size | Fuzzer |"):
			inside = true
		case inside && !strings.HasPrefix(line, "|---"):
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			rows = append(rows, cells)
			for _, match := range quotedFuzzer.FindAllStringSubmatch(cells[len(cells)-1], -1) {
				named = append(named, match[1])
			}
		}
	}
	return rows, named
}

// uncovered is what is wrong with a row.
func uncovered(t *testing.T, row []string) []string {
	t.Helper()
	if len(row) != 5 {
		return []string{"the row does not have five columns"}
	}
	var problems []string
	for _, folder := range strings.Split(row[2], ", ") {
		if _, err := os.Stat(filepath.Join(root, strings.Trim(folder, "`"))); err != nil {
			problems = append(problems, "there is no folder "+folder)
		}
	}
	if reason, none := strings.CutPrefix(row[4], "– "); none && len(reason) > 20 {
		return problems
	}
	for _, name := range strings.Split(row[4], ", ") {
		match := quotedFuzzer.FindStringSubmatch(name)
		if match == nil || match[0] != name {
			problems = append(problems, name+" is neither a fuzzer nor a reason")
			continue
		}
		if folder, fuzzer, _ := strings.Cut(match[1], ":"); !hasTest(t, folder, fuzzer) {
			problems = append(problems, "there is no fuzzer "+name)
		}
	}
	return problems
}

// fuzzers are those of the repository, as folder:name.
func fuzzers(t *testing.T) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", "grep", "--untracked", "-E", `^func Fuzz[A-Za-z]+\(f \*testing\.F\)`, "--", "*_test.go", ":!test/checklist")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		t.Fatalf("looking for fuzzers: %v", err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		file, declaration, _ := strings.Cut(line, ":")
		name, _, _ := strings.Cut(strings.TrimPrefix(declaration, "func "), "(")
		found = append(found, filepath.ToSlash(filepath.Dir(file))+":"+name)
	}
	return found
}

// TestInputsWithoutAFuzzerAreNoticed: a row with neither fuzzer nor reason, or with one that was renamed, is a problem.
func TestInputsWithoutAFuzzerAreNoticed(t *testing.T) {
	for cell, want := range map[string]int{
		"–": 1, "– because": 1, "– a library reads it, with a limit": 0, "`api/quantity:FuzzParse`": 0, "`api/quantity:FuzzGone`": 1, "api/quantity:FuzzParse": 1,
		"`api/quantity:FuzzParse`, `api/v1:FuzzGone`": 1,
	} {
		if got := uncovered(t, []string{"a", "b", "`api/quantity`", "c", cell}); len(got) != want {
			t.Errorf("%q: %q", cell, got)
		}
	}
	if got := uncovered(t, []string{"a", "b", "`api/gone`", "c", "`api/quantity:FuzzParse`"}); len(got) != 1 {
		t.Errorf("a folder that is gone: %q", got)
	}
	rows, named := inputs("| Input | Written by | Parsed in | Bound on size | Fuzzer |\n|---|---|---|---|---|\n| a | b | c | d | `api/v1:FuzzA`, `api/v1:FuzzB` |\n\n| x |\n")
	if len(rows) != 1 || len(rows[0]) != 5 || !slices.Equal(named, []string{"api/v1:FuzzA", "api/v1:FuzzB"}) {
		t.Errorf("%q %q", rows, named)
	}
}
