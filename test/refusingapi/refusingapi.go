// Package refusingapi is a control plane in memory behind a proxy that counts requests of tests, and refuses some.
package refusingapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/embedded/controlplane"
)

// Cluster is a control plane in memory behind a proxy. Its Client does not go through the proxy.
type Cluster struct {
	client.Client
	// Kubeconfig is a file that leads to the proxy.
	Kubeconfig string
	proxied    *httptest.Server

	mu sync.Mutex
	// lists counts the requests that return all objects of a resource.
	lists map[string]int
	// refused are resources that may not be listed, or, with the prefix watch, not be watched.
	refused map[string]bool
}

// Start starts a cluster that refuses some resources, see Refuse, until the test ends.
func Start(t *testing.T, refused ...string) *Cluster {
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
	c := &Cluster{lists: map[string]int{}, refused: map[string]bool{}}
	for _, r := range refused {
		c.refused[r] = true
	}
	if c.Client, err = client.New(config, client.Options{Scheme: scheme.Scheme}); err != nil {
		t.Fatal(err)
	}
	c.startProxy(t, config)
	c.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	kubeconfig := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}]}`, c.proxied.URL)
	if err := os.WriteFile(c.Kubeconfig, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// startProxy starts the proxy.
func (c *Cluster) startProxy(t *testing.T, config *rest.Config) {
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
func (c *Cluster) allow(r *http.Request) bool {
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

// Refuse refuses a resource, such as nodes or "watch nodes", or allows it again.
func (c *Cluster) Refuse(resource string, refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[resource] = refused
}

// Listed is how often all objects of a resource were requested.
func (c *Cluster) Listed(resource string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists[resource]
}

// Disconnect ends all connections of clients, and with them their watches.
func (c *Cluster) Disconnect() { c.proxied.CloseClientConnections() }

// Node adds a Node.
func (c *Cluster) Node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	return node
}
