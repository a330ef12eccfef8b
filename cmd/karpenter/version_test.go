package main

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/observe"
)

func TestVersionLine(t *testing.T) {
	b := observe.Build{
		Version: "1.2.3", Commit: "0123456", Date: "2026-11-25T02:00:00Z", GoVersion: "go1.26.8", GoOS: "linux", GoArch: "arm64",
		KubernetesLibrary: "v0.37.2",
	}
	newest := ", Kubernetes up to " + observe.NewestKubernetes
	if got, want := versionLine(b), "karpenter 1.2.3 (commit 0123456 of 2026-11-25T02:00:00Z) go1.26.8 linux/arm64"+newest+" (client-go v0.37.2)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.Commit, b.Date, b.KubernetesLibrary = "", "", ""
	if got, want := versionLine(b), "karpenter 1.2.3 go1.26.8 linux/arm64"+newest; got != want {
		t.Errorf("without a repository: got %q, want %q", got, want)
	}
}

func TestVersionAsJSON(t *testing.T) {
	got := invoke("", "version", "-o", "json")
	var fields map[string]string
	if err := json.Unmarshal([]byte(got.Stdout), &fields); err != nil || got.Exit != "0\n" {
		t.Fatalf("%v: %+v", err, got)
	}
	for key, want := range map[string]string{
		"goVersion": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH, "kubernetesNewest": observe.NewestKubernetes,
	} {
		if fields[key] != want {
			t.Errorf("%s is %q, want %q", key, fields[key], want)
		}
	}
	for _, key := range []string{"version", "commit", "date", "kubernetesLibrary"} {
		if _, ok := fields[key]; !ok {
			t.Errorf("%s is missing: %s", key, got.Stdout)
		}
	}
}
