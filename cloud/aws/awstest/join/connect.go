package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// reachTimeout is how long a kubelet waits for the API server.
const reachTimeout = 5 * time.Second

// connect connects to the API server that an instance was given. It does not check an endpoint again that worked once.
func (j *Joiner) connect(ctx context.Context, endpoint, authority string) error {
	pem, err := base64.StdEncoding.DecodeString(authority)
	if err != nil {
		return fmt.Errorf("decoding the authority of the cluster: %w", err)
	}
	key := endpoint + " " + authority
	j.mu.Lock()
	known := j.reached[key]
	j.mu.Unlock()
	if known {
		return nil
	}
	if err := j.o.Reach(ctx, endpoint, pem); err != nil {
		return fmt.Errorf("reaching the API server at %q: %w", endpoint, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reached[key] = true
	return nil
}

// reach asks an API server for its version, trusting only the authority.
func reach(ctx context.Context, endpoint string, authority []byte) error {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return errors.New("the authority of the cluster holds no certificate")
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/version", http.NoBody)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
