package screen

import (
	"os"
	"strings"
	"testing"
)

// TestThePageShowsKeysAndScreen compares docs/top.md with the keys of the help and with a golden frame.
func TestThePageShowsKeysAndScreen(t *testing.T) {
	page, err := os.ReadFile("../../../../../docs/top.md")
	if err != nil {
		t.Fatal(err)
	}
	screen, err := os.ReadFile("testdata/nodes-80x24.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{KeyTable(), string(screen)} {
		if !strings.Contains(string(page), part) {
			t.Errorf("docs/top.md does not show:\n%s", part)
		}
	}
}
