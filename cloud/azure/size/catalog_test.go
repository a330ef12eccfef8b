package size_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/azure/size"
)

// TestNamesOfCatalogs parses the names of all sizes of the embedded catalogs.
func TestNamesOfCatalogs(t *testing.T) {
	files, err := filepath.Glob("../../kwok/catalogs/azure-*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no catalogs: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var catalog struct{ Types []struct{ Name string } }
		if err := json.Unmarshal(data, &catalog); err != nil {
			t.Fatal(err)
		}
		for _, entry := range catalog.Types {
			if _, err := size.Parse(strings.TrimPrefix(entry.Name, "Standard_")); err != nil {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
		}
	}
}
