package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// takeSnapshot runs "karpenter snapshot" without the environment of the host.
func takeSnapshot(args ...string) outcome {
	var stdout, stderr bytes.Buffer
	none := func(string) (string, bool) { return "", false }
	code := run(append([]string{"snapshot"}, args...), none, streams{strings.NewReader(""), &stdout, &stderr})
	return outcome{Exit: map[int]string{exitOK: "ok", exitFailed: "failed"}[code], Stdout: stdout.String(), Stderr: stderr.String()}
}

// kubeconfig is a file that leads to an API server at url.
func kubeconfig(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: " + url + "}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// namespaces is an API server that serves only namespaces. Kinds that are named, in the plural, may not be listed.
func namespaces(t *testing.T, forbidden ...string) string {
	t.Helper()
	answers := map[string]any{
		"/api":  map[string]any{"kind": "APIVersions", "versions": []string{"v1"}},
		"/apis": map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}},
		"/api/v1/namespaces": map[string]any{"kind": "NamespaceList", "apiVersion": "v1", "items": []any{
			map[string]any{"metadata": map[string]any{"name": "confidential"}},
		}},
	}
	served := []any{map[string]any{"name": "namespaces", "kind": "Namespace", "namespaced": false, "verbs": []string{"list"}}}
	if len(forbidden) > 0 {
		served = append(served, map[string]any{"name": "configmaps", "kind": "ConfigMap", "namespaced": true, "verbs": []string{"list"}})
	}
	answers["/api/v1"] = map[string]any{"kind": "APIResourceList", "groupVersion": "v1", "resources": served}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if slices.Contains(forbidden, path.Base(r.URL.Path)) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			ok, answer = true, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": http.StatusForbidden}
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestSnapshotCommand(t *testing.T) {
	config := kubeconfig(t, namespaces(t))
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

// TestSettingsThatMayNotBeRead: who may not list ConfigMaps is told so, and gets everything else.
func TestSettingsThatMayNotBeRead(t *testing.T) {
	config := kubeconfig(t, namespaces(t, "configmaps"))
	got := takeSnapshot("--kubeconfig", config)
	if got.Exit != "ok" || !strings.HasSuffix(got.Stderr, "; "+noPermission+"\n") {
		t.Errorf("snapshot: %+v", got)
	}
	const want = "karpenter explain: settings: defaults; " + noPermission + "; give its flags, such as --catalog; instance types and prices: catalog generic\n"
	if _, _, stderr := explained("", "pod", "none", "--kubeconfig", config); !strings.HasPrefix(stderr, want) {
		t.Errorf("explain: %s", stderr)
	}
}

func TestSnapshotCommandFails(t *testing.T) {
	config := kubeconfig(t, "http://127.0.0.1:1")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no such kubeconfig":   {[]string{"--kubeconfig", filepath.Join(t.TempDir(), "none")}, "kubeconfig"},
		"no server answers":    {[]string{"--kubeconfig", config}, "reading the cluster at http://127.0.0.1:1: listing objects of kind NodePool"},
		"an unknown cloud":     {[]string{"--cloud-provider", "paper", "--kubeconfig", config}, "paper"},
		"nowhere to write to":  {[]string{"--kubeconfig", kubeconfig(t, namespaces(t)), "-o", filepath.Join(t.TempDir(), "none", "file")}, "writing the snapshot: "},
		"an argument too many": {[]string{"file"}, "unexpected argument file"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := takeSnapshot(c.args...); got.Exit != "failed" || got.Stdout != "" || !strings.Contains(got.Stderr, c.want) {
				t.Errorf("%+v, want a failure with %q", got, c.want)
			}
		})
	}
}
