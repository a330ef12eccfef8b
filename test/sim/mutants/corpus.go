package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// variable is the environment variable that has the name of the mutant that is on.
const variable = "KARPENTER_MUTANT"

// mutant is a change to one file.
type mutant struct {
	name, about, file, set, before, after string
	// scene is the one whose schedules show it; empty for seeds.
	scene string
}

// read reads all mutants of a folder, by file and name.
func read(folder string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(fmt.Errorf("no mutants in %s", folder), err)
	}
	var out []mutant
	for _, path := range files {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		for _, part := range archive.Files {
			m, err := parse(part.Name, string(part.Data))
			if err != nil {
				return nil, fmt.Errorf("%s: mutant %s: %w", path, part.Name, err)
			}
			out = append(out, m)
		}
	}
	return out, nil
}

// parse reads a mutant: a line of what it is about, "file: ", "set: " and "exhaust: " lines, and the texts before and after between marks.
func parse(name, text string) (mutant, error) {
	head, change, found := strings.Cut(text, "<<<<\n")
	before, after, changed := strings.Cut(change, "\n====\n")
	after, _, closed := strings.Cut(after, "\n>>>>")
	if !found || !changed || !closed {
		return mutant{}, errors.New("want <<<<, ==== and >>>>")
	}
	m := mutant{name: name, before: before, after: after}
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		if file, ok := strings.CutPrefix(line, "file: "); ok {
			m.file = file
		} else if set, ok := strings.CutPrefix(line, "set: "); ok {
			m.set = set
		} else if scene, ok := strings.CutPrefix(line, "exhaust: "); ok {
			m.scene = scene
		} else {
			m.about = line
		}
	}
	if m.about == "" || m.file == "" || !strings.Contains(after, "MUTANT") {
		return mutant{}, errors.New("want what it is about, a file, and MUTANT in the text after")
	}
	return m, nil
}

// applied returns the changed files, and for each changed package a file with what MUTANT calls, by path below root.
func applied(root string, all []mutant) (map[string]string, error) {
	out := map[string]string{}
	for _, m := range all {
		original, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			return nil, fmt.Errorf("mutant %s: %w", m.name, err)
		}
		text, known := out[m.file]
		if !known {
			text = string(original)
		}
		if n, left := strings.Count(string(original), m.before), strings.Count(text, m.before); n != 1 || left != 1 {
			return nil, fmt.Errorf("mutant %s: %s has the text before %d times, and %d times with the mutants before it; want once: change the mutant with the code", m.name, m.file, n, left)
		}
		out[m.file] = strings.Replace(text, m.before, strings.ReplaceAll(m.after, "MUTANT", fmt.Sprintf("mutantIs(%q)", m.name)), 1)
	}
	for file := range maps.Clone(out) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, out[file], parser.PackageClauseOnly)
		if err != nil {
			return nil, fmt.Errorf("the package of %s: %w", file, err)
		}
		out[filepath.Join(filepath.Dir(file), "zz_mutants.go")] = fmt.Sprintf(
			"package %s\n\nimport \"os\"\n\nvar mutantOn = os.Getenv(%q)\n\nfunc mutantIs(name string) bool { return name == mutantOn }\n", parsed.Name.Name, variable)
	}
	return out, nil
}

// build runs a command of go with all mutants applied. The folder gets the changed files.
func build(root, folder string, all []mutant, command string, args ...string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return fmt.Errorf("finding the repository: %w", err)
	}
	files, err := applied(root, all)
	if err != nil {
		return err
	}
	replace := map[string]string{}
	for i, file := range slices.Sorted(maps.Keys(files)) {
		at := filepath.Join(folder, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(at, []byte(files[file]), 0o600); err != nil {
			return fmt.Errorf("writing mutants: %w", err)
		}
		replace[filepath.Join(root, file)] = at
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return fmt.Errorf("writing the overlay: %w", err)
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return fmt.Errorf("writing the overlay: %w", err)
	}
	c := exec.Command("go", append([]string{command, "-overlay", overlay}, args...)...) //nolint:gosec // arguments of this command
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling the mutants: %w\n%s", err, out)
	}
	return nil
}
