package checksum

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChangedFilesAreFound(t *testing.T) {
	dir := t.TempDir()
	files := map[string][]byte{"b": []byte("two"), "a": nil}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Verify(dir); err == nil || !strings.Contains(err.Error(), "make the release first") {
		t.Errorf("without a list: %v", err)
	}
	list := List(files)
	const want = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n"
	if !strings.HasPrefix(string(list), want) {
		t.Errorf("the list is\n%s", list)
	}
	if err := os.WriteFile(filepath.Join(dir, File), list, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Verify(dir); err != nil || len(got) != 2 || string(got["b"]) != "two" {
		t.Errorf("verified %q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b"), []byte("Two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "b")+" has the digest") {
		t.Errorf("after a change: %v", err)
	}
}
