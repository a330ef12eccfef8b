package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/karpenter-anew/karpenter/local/binaries"
)

// createCluster runs `kwokctl create cluster` to its end. kwokctl leaves the components running, in separate sessions.
func createCluster(ctx context.Context, cache binaries.Cache, l layout) error {
	// The link lets a sweep find kwokctl itself when its launcher is killed while it runs.
	link := filepath.Join(l.bin(), binaries.Kwokctl)
	if err := os.Symlink(cache.Path(binaries.Kwokctl), link); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("linking kwokctl: %w", err)
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, link, "create", "cluster", "--name", clusterName, "--config", l.config(),
		"--kubeconfig", filepath.Join(l.kwok(), "kubeconfig"), "--wait", readyPatience.String())
	cmd.Env = append(withoutKwokSettings(os.Environ()), "KWOK_WORKDIR="+l.kwok())
	cmd.Stdout, cmd.Stderr = &output, &output
	// A Ctrl-C at the terminal is for the launcher, which then tears down in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("starting the cluster: %w", context.Cause(ctx))
		}
		return fmt.Errorf("starting the cluster: kwokctl: %w\n%s", err, strings.TrimSpace(output.String()))
	}
	return nil
}

// withoutKwokSettings drops the variables by which a user's environment could change our cluster.
func withoutKwokSettings(environ []string) []string {
	out := make([]string, 0, len(environ))
	for _, setting := range environ {
		if !strings.HasPrefix(setting, "KWOK_") && !strings.HasPrefix(setting, "KUBECONFIG=") {
			out = append(out, setting)
		}
	}
	return out
}
