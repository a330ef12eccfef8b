package shadow

import (
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/test/commandtest"
)

func shadowText(args ...string) commandtest.Outcome {
	var line struct {
		Shadow Command `cmd:""`
	}
	line.Shadow = New(commandtest.Binary(), Simulation{})
	return commandtest.Run(&line, "", append([]string{"shadow"}, args...)...)
}

// TestMistakesOfTheCommandLine: what cannot be compared is said before anything is read.
func TestMistakesOfTheCommandLine(t *testing.T) {
	for _, c := range []struct{ name, flag, want string }{
		{"a snapshot", "--snapshot=cluster.yaml", "watches a live one"},
		{"no interval", "--interval=0s", "has to be positive"},
		{"a negative time", "--for=-1h", "must not be negative"},
		{"no address", "--listen=nowhere", "--listen"},
	} {
		got := shadowText(c.flag)
		if got.Exit != "2\n" || !strings.Contains(got.Stderr, c.want) {
			t.Errorf("%s: exit code %s, standard error %q", c.name, got.Exit, got.Stderr)
		}
	}
}

// TestAClusterWithoutKarpenterIsAnError: there is nothing to compare with.
func TestAClusterWithoutKarpenterIsAnError(t *testing.T) {
	got := shadowText("--kubeconfig=" + commandtest.Kubeconfig(t, commandtest.Namespaces(t)))
	if got.Exit != "2\n" || !strings.Contains(got.Stderr, "karpenter-crd") {
		t.Errorf("exit code %s, standard error %q", got.Exit, got.Stderr)
	}
}
