package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestArchitectureShowsTheLayers holds the table of ARCHITECTURE.md against allowedImports. A folder of the table stands for
// what is below it.
func TestArchitectureShowsTheLayers(t *testing.T) {
	page, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{} // layer by folder
	rows := map[string]int{}     // by folder, as it is written
	for _, row := range regexp.MustCompile(`(?m)^\| (\d) \| (.*?) \|`).FindAllStringSubmatch(string(page), -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			folder := strings.TrimSuffix(name[1], "/…")
			if _, err := os.Stat(filepath.Join("..", folder)); err != nil {
				t.Errorf("ARCHITECTURE.md shows %s, which is not there", folder)
			}
			if rows[name[1]]++; rows[name[1]] > 1 {
				t.Errorf("ARCHITECTURE.md shows %s twice", name[1])
			}
			shown[folder] = row[1]
		}
	}
	for pkg, layer := range layerOf() {
		folder := pkg
		for shown[folder] == "" && folder != "." {
			folder = filepath.Dir(folder)
		}
		if shown[folder] != layer {
			t.Errorf("%s is on layer %s, and ARCHITECTURE.md shows it on layer %q", pkg, layer, shown[folder])
		}
	}
}

// TestArchitectureNamesEachChangeOnce holds the first column of all tables of ARCHITECTURE.md but that of the layers, so that no row is left
// beside the one that replaced it.
func TestArchitectureNamesEachChangeOnce(t *testing.T) {
	page, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(page), "\n## ") {
		seen := map[string]bool{}
		for _, row := range regexp.MustCompile(`(?m)^\| ([^|]*[^|\d ]) \|`).FindAllStringSubmatch(section, -1) {
			if title, _, _ := strings.Cut(section, "\n"); seen[row[1]] {
				t.Errorf("ARCHITECTURE.md has two rows %q in its section %s", row[1], title)
			}
			seen[row[1]] = true
		}
	}
}
