package command_test

import (
	"os"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/command"
)

// TestColorsAreForTerminals: a file or a pipe has none, whatever the environment says. /dev/ptmx is a terminal.
func TestColorsAreForTerminals(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, tc := range []struct {
		name string
		file *os.File
		env  map[string]string
		want bool
	}{
		{"a terminal", terminal, nil, true},
		{"a terminal without colors", terminal, map[string]string{"TERM": "dumb"}, false},
		{"NO_COLOR", terminal, map[string]string{"NO_COLOR": "1"}, false},
		{"an empty NO_COLOR", terminal, map[string]string{"NO_COLOR": ""}, true},
		{"a file", file, nil, false},
	} {
		if got := command.Colors(tc.file, func(name string) (string, bool) { v, ok := tc.env[name]; return v, ok }); got != tc.want {
			t.Errorf("%s: %t", tc.name, got)
		}
	}
}
