package snapshot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/test/commandtest"
)

// takeSnapshot runs "karpenter snapshot" without the environment of the host.
func takeSnapshot(args ...string) commandtest.Outcome {
	var line struct {
		Snapshot Command `cmd:""`
	}
	out := commandtest.Run(&line, "", append([]string{"snapshot"}, args...)...)
	out.Exit = map[string]string{"0\n": "ok", "1\n": "failed", "2\n": "invalid"}[out.Exit]
	return out
}

func TestSnapshotCommand(t *testing.T) {
	config := commandtest.Kubeconfig(t, commandtest.Namespaces(t))
	plain := takeSnapshot("--kubeconfig", config)
	if plain.Exit != "ok" || !strings.Contains(plain.Stdout, "\nkind: Namespace\nmetadata:\n  name: confidential\n") {
		t.Errorf("%+v", plain)
	}
	if want := "karpenter snapshot: 1 Namespace; the cluster does not serve NodePool, "; !strings.HasPrefix(plain.Stderr, want) {
		t.Errorf("the summary is %q, want it to begin with %q", plain.Stderr, want)
	}
	first, second := takeSnapshot("--kubeconfig", config, "--redact"), takeSnapshot("--kubeconfig", config, "--redact")
	if first.Exit != "ok" || strings.Contains(first.Stdout, "confidential") || first.Stdout == second.Stdout {
		t.Errorf("redacted:\n%s\nand again, with another salt:\n%s", first.Stdout, second.Stdout)
	}
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	if got := takeSnapshot("--kubeconfig", config, "-o", file); got.Exit != "ok" || got.Stdout != "" {
		t.Errorf("%+v", got)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != plain.Stdout {
		t.Errorf("the file holds %q, %v, want what is printed otherwise", text, err)
	}
}

func TestSnapshotCommandFails(t *testing.T) {
	config := commandtest.Kubeconfig(t, "http://127.0.0.1:1")
	for name, c := range map[string]struct {
		args       []string
		exit, want string
	}{
		"no such kubeconfig":   {[]string{"--kubeconfig", filepath.Join(t.TempDir(), "none")}, "failed", "kubeconfig"},
		"no server answers":    {[]string{"--kubeconfig", config}, "failed", "reading the cluster at http://127.0.0.1:1: listing objects of kind NodePool"},
		"an unknown cloud":     {[]string{"--cloud-provider", "paper", "--kubeconfig", config}, "invalid", "paper"},
		"nowhere to write to":  {[]string{"--kubeconfig", commandtest.Kubeconfig(t, commandtest.Namespaces(t)), "-o", filepath.Join(t.TempDir(), "none", "file")}, "failed", "writing the snapshot: "},
		"an argument too many": {[]string{"file"}, "invalid", `unexpected argument "file"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := takeSnapshot(c.args...); got.Exit != c.exit || got.Stdout != "" || !strings.Contains(got.Stderr, c.want) {
				t.Errorf("%+v, want a failure with %q", got, c.want)
			}
		})
	}
}
