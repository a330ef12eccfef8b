package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestQuantitiesAreReadWithBounds finds code that reads a text as a quantity without api/quantity: with a large exponent or many digits, that
// takes seconds or hours.
func TestQuantitiesAreReadWithBounds(t *testing.T) {
	reads := regexp.MustCompile(`\b\w*resource\.ParseQuantity\(`)
	read := 0
	for _, folder := range []string{"internal", "cloud", "api", "embedded", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "api/quantity/quantity.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			read++
			if found := reads.Find(text); found != nil {
				t.Errorf("%s calls %s: use quantity.Parse", path, found)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 500 {
		t.Errorf("%d files were read", read)
	}
}
