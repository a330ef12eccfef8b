package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMakeFuzzFindsAllFuzzers checks that each fuzzer has a name that make fuzz looks for, and is in the main module, which it runs.
func TestMakeFuzzFindsAllFuzzers(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	const searched = `^func Fuzz[A-Za-z]+`
	if !strings.Contains(string(makefile), "git grep --untracked -hoE '"+searched+"' -- '*_test.go'") {
		t.Fatal("make fuzz looks for other names than this test")
	}
	fuzzer, name := regexp.MustCompile(`(?m)^func (Fuzz\w*)\(f \*testing\.F\)`), regexp.MustCompile(`^Fuzz[A-Za-z]+$`)
	found := 0
	err = filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2 || entry.Name() == "bin" || path == "../test/checklist"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range fuzzer.FindAllStringSubmatch(string(text), -1) {
			found++
			if !name.MatchString(match[1]) {
				t.Errorf("%s: make fuzz does not find %s: its name has to be of letters", path, match[1])
			}
			for dir := filepath.Dir(path); dir != ".."; dir = filepath.Dir(dir) {
				if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
					t.Errorf("%s: make fuzz does not run %s, which is in the module %s", path, match[1], dir)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 47 {
		t.Errorf("only %d fuzzers are found", found)
	}
}
