package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/command/source"
	"github.com/karpenter-anew/karpenter/test/commandtest"
)

const shop = "../../examples/explain/shop.yaml"

// twoClusters is a kubeconfig with the contexts first, which is current, and second. Tokens are sent over TLS only.
func twoClusters(t *testing.T, first, second string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: first\n" +
		"clusters: [{name: c1, cluster: {insecure-skip-tls-verify: true, server: " + first + "}}, {name: c2, cluster: {insecure-skip-tls-verify: true, server: " + second + "}}]\n" +
		"users: [{name: u1, user: {token: token-1}}, {name: u2, user: {token: token-2}}]\n" +
		"contexts: [{name: first, context: {cluster: c1, user: u1}}, {name: second, context: {cluster: c2, user: u2}}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// refuser is an API server that refuses every request, and keeps the headers of the last one.
type refuser struct {
	*httptest.Server

	mu   sync.Mutex
	last http.Header
}

func newRefuser(t *testing.T) *refuser {
	t.Helper()
	r := &refuser{}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.last = request.Header.Clone()
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *refuser) header(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last.Values(name)
}

// commandsOfClusters read a live cluster.
func commandsOfClusters() []string {
	return []string{"snapshot", "explain node n", "diff -f ../../examples/explain/shop.yaml"}
}

func TestFlagsChooseTheCluster(t *testing.T) {
	for _, name := range commandsOfClusters() {
		for _, tc := range []struct {
			flags         string
			second        bool
			token         string
			impersonating []string
		}{
			{"", false, "token-1", nil},
			{"--context=second", true, "token-2", nil},
			{"--cluster=c2", true, "token-1", nil},
			{"--user=u2", false, "token-2", nil},
			{"--context=second --user=u1 --cluster=c1", false, "token-1", nil},
			{"--as=jane --as-group=a,b --as-group=c --request-timeout=60", false, "token-1", []string{"jane", "a,b", "c"}},
		} {
			t.Run(name+" "+tc.flags, func(t *testing.T) {
				first, second := newRefuser(t), newRefuser(t)
				args := append(strings.Fields(name), "--kubeconfig", twoClusters(t, first.URL, second.URL))
				got := invoke("", append(args, strings.Fields(tc.flags)...)...)
				asked, other := first, second
				if tc.second {
					asked, other = second, first
				}
				if got.Exit != "1\n" || !strings.Contains(got.Stderr, "reading the cluster at "+asked.URL) {
					t.Errorf("exit code %s, stderr %s", got.Exit, got.Stderr)
				}
				if other.header("Authorization") != nil {
					t.Errorf("both clusters were asked")
				}
				if got, want := asked.header("Authorization"), []string{"Bearer " + tc.token}; !slices.Equal(got, want) {
					t.Errorf("the user has %q, want %q", got, want)
				}
				if got := append(asked.header("Impersonate-User"), asked.header("Impersonate-Group")...); !slices.Equal(got, tc.impersonating) {
					t.Errorf("%q are impersonated, want %q", got, tc.impersonating)
				}
			})
		}
	}
}

// TestRequestTimeout: the request fails with the timeout, which the HTTP client or the context notices first.
func TestRequestTimeout(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	for _, name := range commandsOfClusters() {
		got := invoke("", append(strings.Fields(name), "--kubeconfig", commandtest.Kubeconfig(t, server.URL), "--request-timeout=20ms")...)
		if got.Exit != "1\n" || !strings.Contains(got.Stderr, "exceeded") {
			t.Errorf("%s: exit code %s, stderr %s", name, got.Exit, got.Stderr)
		}
	}
}

func TestFlagsOfTheClusterThatContradict(t *testing.T) {
	file := twoClusters(t, "http://127.0.0.1:1", "http://127.0.0.1:2")
	for _, tc := range []struct{ args, exit, stderr string }{
		{"explain node n --context=second --snapshot=" + shop, "2\n", "--snapshot replaces a live cluster"},
		{"diff -f " + shop + " --kubeconfig=" + file + " --snapshot=" + shop, "2\n", "--snapshot replaces a live cluster"},
		{"explain node n --as-group=g --kubeconfig=" + file, "2\n", "--as-group needs --as"},
		{"snapshot --as-group=g --kubeconfig=" + file, "2\n", "--as-group needs --as"},
		{"explain node n --context=third --kubeconfig=" + file, "1\n", `context "third" does not exist`},
		{"explain node n --request-timeout=soon", "2\n", `flag --request-timeout="soon": must be a duration such as 30s, or a number of seconds`},
		{"explain node n --request-timeout=-1s", "2\n", `flag --request-timeout="-1s": must be a duration`},
	} {
		got := invoke("", strings.Fields(tc.args)...)
		if got.Exit != tc.exit || !strings.Contains(got.Stderr, tc.stderr) {
			t.Errorf("%s: exit code %s, stderr %s", tc.args, got.Exit, got.Stderr)
		}
	}
}

// TestSettingsThatMayNotBeRead: who may not list ConfigMaps is told so, and gets everything else.
func TestSettingsThatMayNotBeRead(t *testing.T) {
	config := commandtest.Kubeconfig(t, commandtest.Namespaces(t, "configmaps"))
	got := invoke("", "snapshot", "--kubeconfig", config)
	if got.Exit != "0\n" || !strings.HasSuffix(got.Stderr, "; "+source.NoPermission+"\n") {
		t.Errorf("snapshot: %+v", got)
	}
	const want = "karpenter explain: settings: defaults; " + source.NoPermission + "; give its flags, such as --catalog; instance types and prices: catalog generic\n"
	if got := invoke("", "explain", "pod", "none", "--kubeconfig", config); !strings.HasPrefix(got.Stderr, want) {
		t.Errorf("explain: %s", got.Stderr)
	}
}
