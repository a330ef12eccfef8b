// Package commandtest runs subcommands in tests as the binary does, without the environment of the host.
package commandtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/aws"
	"github.com/karpenter-anew/karpenter/cloud/azure"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/command"
)

// Binary has the cloud providers of the binary.
func Binary() command.Binary {
	return command.Binary{Providers: command.Providers{kwok.Provider(), aws.Provider(), azure.Provider()}, Now: time.Now, After: time.After}
}

// Outcome is what one run leaves behind.
type Outcome struct {
	// Exit is the exit code in a line, such as "0\n".
	Exit, Stdout, Stderr string
}

// NoEnv is an environment without variables.
func NoEnv(string) (string, bool) { return "", false }

// Run runs one command line. grammar is a pointer to a struct whose field is the subcommand, as command.Line has it.
func Run(grammar any, stdin string, args ...string) Outcome {
	var stdout, stderr bytes.Buffer
	code := Code(grammar, command.Streams{In: strings.NewReader(stdin), Out: &stdout, Err: &stderr}, args...)
	return Outcome{fmt.Sprintln(code), stdout.String(), stderr.String()}
}

// Code runs one command line and returns the exit code.
func Code(grammar any, std command.Streams, args ...string) int {
	return command.Line{Grammar: grammar, Binary: Binary(), Args: args, Env: NoEnv}.Run(std)
}

// Kubeconfig is a file that leads to an API server at url.
func Kubeconfig(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: " + url + "}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Namespaces is an API server that serves only namespaces. Kinds that are named, in the plural, may not be listed.
func Namespaces(t *testing.T, forbidden ...string) string {
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
