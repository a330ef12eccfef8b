package chart

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// call is one request as RBAC sees it.
type call struct {
	verb, group, resource, namespace, name string
}

// String is how a grant is written.
func (c call) String() string {
	if c.group == "" {
		return c.verb + " " + c.resource
	}
	return c.verb + " " + c.resource + "." + c.group
}

// recorder is a proxy in front of an API server that records the requests.
type recorder struct {
	server *httptest.Server
	mu     sync.Mutex
	// allowed and forbidden are the calls that were answered, and those that RBAC refused with the message.
	allowed   map[call]bool
	forbidden map[call]bool
}

// record starts a proxy to the API server of config. It adds nothing to requests: clients use their own credentials.
func record(t *testing.T, config *rest.Config) *recorder {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(config.CAData) {
		t.Fatal("the kubeconfig holds no certificates")
	}
	r := &recorder{allowed: map[call]bool{}, forbidden: map[call]bool{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(p *httputil.ProxyRequest) { p.SetURL(target) },
		Transport:      &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}, ForceAttemptHTTP2: true},
		FlushInterval:  -1, // watches are read as they come
		ModifyResponse: r.note,
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	r.server = httptest.NewUnstartedServer(proxy)
	r.server.EnableHTTP2 = true
	r.server.StartTLS() // credentials are only sent over TLS
	t.Cleanup(r.server.Close)
	return r
}

// certificate is the CA certificate of the proxy, in PEM.
func (r *recorder) certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
}

// note records one answer.
func (r *recorder) note(answer *http.Response) error {
	c, ok := callOf(answer.Request)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if answer.StatusCode == http.StatusForbidden {
		r.forbidden[c] = true
	} else {
		r.allowed[c] = true
	}
	return nil
}

// refused lists the calls that RBAC refused.
func (r *recorder) refused() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for c := range r.forbidden {
		out = append(out, fmt.Sprintf("%s %s/%s", c, c.namespace, c.name))
	}
	slices.Sort(out)
	return out
}

// callOf reads a request for objects; false for all others, such as discovery.
func callOf(r *http.Request) (call, bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var c call
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		c.group, parts = parts[1], parts[3:]
	default:
		return call{}, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		c.namespace, parts = parts[1], parts[2:]
	}
	c.resource = parts[0]
	if len(parts) > 1 {
		c.name = parts[1]
	}
	if len(parts) > 2 {
		c.resource += "/" + parts[2]
	}
	c.verb = verbOf(r, c.name)
	return c, true
}

// verbOf is what RBAC calls a request for the object of this name, or for all.
func verbOf(r *http.Request, name string) string {
	switch {
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method == http.MethodPatch:
		return "patch"
	case r.Method == http.MethodDelete && name == "":
		return "deletecollection"
	case r.Method == http.MethodDelete:
		return "delete"
	case r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1":
		return "watch"
	case name == "":
		return "list"
	}
	return "get"
}
