package top

import (
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/test/commandtest"
)

func topText(args ...string) commandtest.Outcome {
	var line struct {
		Top Command `cmd:""`
	}
	line.Top = New(commandtest.Binary())
	return commandtest.Run(&line, "", append([]string{"top"}, args...)...)
}

// TestOnceShowsASnapshot prints one frame.
func TestOnceShowsASnapshot(t *testing.T) {
	got := topText("--once", "--snapshot", "../../../examples/explain/shop.yaml")
	for _, want := range []string{"2 nodes", "node-1", "Empty", "Not known or left out"} {
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("the frame lacks %q:\n%s", want, got.Stdout)
		}
	}
	if got.Exit != "0\n" {
		t.Errorf("exit code %s, standard error %q", got.Exit, got.Stderr)
	}
}

// TestMistakesOfTheCommandLine: they are said before anything is read.
func TestMistakesOfTheCommandLine(t *testing.T) {
	for flag, want := range map[string]string{
		"--interval=1ms": "at least 1s", "--output=json": "needs --once", "--snapshot=-": "needs --once", "--view=fleet": "--view",
	} {
		if got := topText(flag); got.Exit != "2\n" || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: exit code %s, standard error %q", flag, got.Exit, got.Stderr)
		}
	}
}
