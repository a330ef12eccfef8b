package console

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/embedded/controlplane"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/test/commandtest"
	"github.com/karpenter-anew/karpenter/test/poll"
)

// watchedCluster is a control plane in memory behind a proxy that counts requests and refuses some.
type watchedCluster struct {
	client.Client
	kubeconfig string
	proxied    *httptest.Server

	mu sync.Mutex
	// lists counts the requests that return all objects of a resource.
	lists map[string]int
	// refused are resources that may not be listed, or, with the prefix watch, not be watched.
	refused map[string]bool
}

func newWatchedCluster(t *testing.T, refused ...string) *watchedCluster {
	t.Helper()
	plane, err := controlplane.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plane.Stop() })
	text, err := plane.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	c := &watchedCluster{lists: map[string]int{}, refused: map[string]bool{}}
	for _, r := range refused {
		c.refused[r] = true
	}
	if c.Client, err = client.New(config, client.Options{Scheme: scheme.Scheme}); err != nil {
		t.Fatal(err)
	}
	c.startProxy(t, config)
	c.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	kubeconfig := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}]}`, c.proxied.URL)
	if err := os.WriteFile(c.kubeconfig, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// startProxy starts the proxy.
func (c *watchedCluster) startProxy(t *testing.T, config *rest.Config) {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1}
	c.proxied = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.allow(r) {
			status := apierrors.NewForbidden(schema.GroupResource{Resource: filepath.Base(r.URL.Path)}, "", errors.New("no rights")).Status()
			status.Kind, status.APIVersion = "Status", "v1"
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(status)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(c.proxied.CloseClientConnections)
}

// allow counts a request, and reports whether it is allowed.
func (c *watchedCluster) allow(r *http.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	resource, query := filepath.Base(r.URL.Path), r.URL.Query()
	watches := query.Get("watch") != ""
	if c.refused[resource] || watches && c.refused["watch "+resource] {
		return false
	}
	if (!watches || query.Get("sendInitialEvents") == "true") && query.Get("continue") == "" {
		c.lists[resource]++
	}
	return true
}

// set refuses a resource, or allows it again.
func (c *watchedCluster) set(resource string, refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[resource] = refused
}

func (c *watchedCluster) listed(resource string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists[resource]
}

// node adds a Node.
func (c *watchedCluster) node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	return node
}

// served is a console of the command.
type served struct {
	t   *testing.T
	url string
}

// serve runs the command until the test ends.
func serve(t *testing.T, args ...string) served {
	t.Helper()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- commandtest.Code(newLine(), command.Streams{Out: in, Err: io.Discard}, append([]string{"console", "--listen=127.0.0.1:0"}, args...)...)
		_ = in.Close()
	}()
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the command ends with %d", <-ended)
	}
	t.Cleanup(func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return served{t, strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(first, "karpenter console: serving ")), "/")}
}

// fleetOf is what the tests read of the fleet.
type fleetOf struct {
	Failure string
	Unknown []string
	Nodes   []struct {
		Name   string
		Labels map[string]string
	}
}

func (s served) fleet() fleetOf {
	s.t.Helper()
	var out fleetOf
	response, err := http.Get(s.url + "/api/v1/fleet") //nolint:noctx // ends with the server
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s served) until(what string, holds func(fleetOf) bool) {
	s.t.Helper()
	poll.Until(s.t, what, func() bool { return holds(s.fleet()) })
}

// TestFollowsTheCluster: nodes that are added, changed and deleted are shown, although the refresh is an hour away, and kinds are listed once.
func TestFollowsTheCluster(t *testing.T) {
	cluster := newWatchedCluster(t)
	first := cluster.node(t, "first")
	console := serve(t, "--kubeconfig="+cluster.kubeconfig, "--refresh=1h")
	console.until("the first node is shown", func(f fleetOf) bool { return len(f.Nodes) == 1 && f.Nodes[0].Name == "first" })
	cluster.node(t, "second")
	console.until("the second is", func(f fleetOf) bool { return len(f.Nodes) == 2 })
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"web"}}}`))
	if err := cluster.Patch(t.Context(), first, patch); err != nil {
		t.Fatal(err)
	}
	console.until("the label is", func(f fleetOf) bool { return len(f.Nodes) == 2 && f.Nodes[0].Labels["tier"] == "web" })
	if err := cluster.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	console.until("the first node is gone", func(f fleetOf) bool { return len(f.Nodes) == 1 && f.Nodes[0].Name == "second" && f.Failure == "" })
	for _, resource := range []string{"nodes", "pods"} {
		if n := cluster.listed(resource); n != 1 {
			t.Errorf("%s were listed %d times", resource, n)
		}
	}
}

// TestEventsFollowTheCluster: the stream of changes says that there is something new.
func TestEventsFollowTheCluster(t *testing.T) {
	cluster := newWatchedCluster(t)
	console := serve(t, "--kubeconfig="+cluster.kubeconfig, "--refresh=1h")
	response, err := http.Get(console.url + "/api/v1/changes") //nolint:noctx // ends with the server
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	cluster.node(t, "new")
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") && len(console.fleet().Nodes) == 1 {
			return
		}
	}
	t.Error("the stream ended before the node was shown")
}

// TestListsWhatMayNotBeWatched at the refresh, and says so.
func TestListsWhatMayNotBeWatched(t *testing.T) {
	cluster := newWatchedCluster(t, "watch nodes")
	console := serve(t, "--kubeconfig="+cluster.kubeconfig, "--refresh=10ms")
	cluster.node(t, "new")
	console.until("the node is shown, and what is not watched is said", func(f fleetOf) bool {
		return len(f.Nodes) == 1 && strings.Contains(strings.Join(f.Unknown, "\n"), "what you may list and not watch: Node") && f.Failure == ""
	})
}

// TestRefusedLists: without the settings of the controller the rest is shown; without nodes nothing is.
func TestRefusedLists(t *testing.T) {
	cluster := newWatchedCluster(t, "configmaps")
	cluster.node(t, "only")
	console := serve(t, "--kubeconfig="+cluster.kubeconfig)
	console.until("the node is shown", func(f fleetOf) bool { return len(f.Nodes) == 1 && f.Failure == "" })

	cluster = newWatchedCluster(t, "nodes")
	got := commandtest.Run(newLine(), "", "console", "--listen=127.0.0.1:0", "--kubeconfig="+cluster.kubeconfig)
	if got.Exit != "1\n" || !strings.Contains(got.Stderr, "listing objects of kind Node in v1") || !strings.Contains(got.Stderr, "forbidden") {
		t.Errorf("exit code %s%s", got.Exit, got.Stderr)
	}
}

// TestLosesTheCluster: what was read is shown with why it may be old, until the API server answers again.
func TestLosesTheCluster(t *testing.T) {
	cluster := newWatchedCluster(t)
	cluster.node(t, "first")
	console := serve(t, "--kubeconfig="+cluster.kubeconfig)
	console.until("the node is shown", func(f fleetOf) bool { return len(f.Nodes) == 1 && f.Failure == "" })
	cluster.set("nodes", true)
	cluster.proxied.CloseClientConnections()
	cluster.node(t, "second")
	console.until("the failure is shown with the node", func(f fleetOf) bool {
		return len(f.Nodes) == 1 && strings.Contains(f.Failure, "objects of kind Node")
	})
	cluster.set("nodes", false)
	console.until("the second node is shown", func(f fleetOf) bool { return len(f.Nodes) == 2 && f.Failure == "" })
}
