package controlplane

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script writes a stand-in for the launcher.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "launcher")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStartAndStop(t *testing.T) {
	c, err := Start(t.Context(), script(t, "echo KUBECONFIG=/some/where/kubeconfig\ncat >/dev/null\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Kubeconfig != "/some/where/kubeconfig" {
		t.Errorf("kubeconfig %q", c.Kubeconfig)
	}
	if err := c.Err(); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	for range 2 {
		if err := c.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
}

func TestLauncherFails(t *testing.T) {
	_, err := Start(t.Context(), script(t, "echo 'etcd died' >&2\nexit 1\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "etcd died") {
		t.Errorf("error: %v", err)
	}
}

func TestLauncherEndsByItself(t *testing.T) {
	c, err := Start(t.Context(), script(t, "echo KUBECONFIG=/k\nread line\necho 'etcd died' >&2\nexit 1\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err == nil || !strings.Contains(err.Error(), "etcd died") {
		t.Errorf("error: %v", err)
	}
	<-c.Done()
}

func TestStartIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, script(t, "cat >/dev/null\n"), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error: %v", err)
	}
}

func TestNoLauncher(t *testing.T) {
	t.Setenv(LauncherEnv, "")
	if _, err := Start(t.Context(), "", nil); err == nil || !strings.Contains(err.Error(), "make test") {
		t.Errorf("error: %v", err)
	}
	if _, err := Start(t.Context(), "/does/not/exist", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error: %v", err)
	}
}
