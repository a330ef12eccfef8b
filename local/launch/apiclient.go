package launch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/template"
	"time"
)

// apiClient calls the cluster's API server as its administrator, with the standard library alone.
type apiClient struct {
	server string
	http   *http.Client
}

func newAPIClient(l layout, server string) (*apiClient, error) {
	pair, err := tls.LoadX509KeyPair(l.pki("admin.crt"), l.pki("admin.key"))
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's certificate: %w", err)
	}
	ca, err := os.ReadFile(l.pki("ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("reading the cluster's authority: no certificate in ca.crt")
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
	return &apiClient{server: server, http: &http.Client{Transport: transport, Timeout: 5 * time.Second}}, nil
}

// get returns nil when the server answers path with 200.
func (c *apiClient) get(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 500))
		return fmt.Errorf("GET %s: %s: %s", path, response.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

// await polls each path in turn until the answer is 200, or ctx ends; then it returns the last answer.
func (c *apiClient) await(ctx context.Context, paths ...string) error {
	for _, path := range paths {
		for {
			err := c.get(ctx, path)
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("waiting for %s: %w (last answer: %w)", path, context.Cause(ctx), err)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return nil
}

// kubeconfigTemplate holds its certificates itself, so that the file can be copied anywhere.
const kubeconfigTemplate = `apiVersion: v1
kind: Config
current-context: karpenter-local
contexts:
- name: karpenter-local
  context: {cluster: karpenter-local, user: admin}
clusters:
- name: karpenter-local
  cluster:
    server: {{.Server}}
    certificate-authority-data: {{.CA}}
users:
- name: admin
  user:
    client-certificate-data: {{.Cert}}
    client-key-data: {{.Key}}
`

// writeKubeconfig writes the administrator's kubeconfig to path, complete or not at all.
func writeKubeconfig(l layout, server, path string) error {
	values := map[string]string{"Server": server}
	for field, file := range map[string]string{"CA": "ca.crt", "Cert": "admin.crt", "Key": "admin.key"} {
		pem, err := os.ReadFile(l.pki(file))
		if err != nil {
			return fmt.Errorf("writing the kubeconfig: %w", err)
		}
		values[field] = base64.StdEncoding.EncodeToString(pem)
	}
	var text strings.Builder
	if err := template.Must(template.New("kubeconfig").Parse(kubeconfigTemplate)).Execute(&text, values); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	temporary := path + ".tmp"
	if err := os.WriteFile(temporary, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}
