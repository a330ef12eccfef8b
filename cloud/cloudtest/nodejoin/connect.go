package nodejoin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// reachTimeout is how long a kubelet waits for the API server.
const reachTimeout = 5 * time.Second

// APIServers checks whether instances reach the API server that they were given. The zero value is ready to use.
type APIServers struct {
	// Reach asks an API server for its version, trusting an authority (PEM); nil for Reach of this package.
	Reach func(ctx context.Context, endpoint string, authority []byte) error

	mu      sync.Mutex
	reached map[string]bool
}

// Connect connects to an endpoint, a URL, with an authority, PEM in base64. It does not check a pair again that worked once.
func (s *APIServers) Connect(ctx context.Context, endpoint, authority string) error {
	pem, err := base64.StdEncoding.DecodeString(authority)
	if err != nil {
		return fmt.Errorf("decoding the authority of the cluster: %w", err)
	}
	key := endpoint + " " + authority
	s.mu.Lock()
	known := s.reached[key]
	s.mu.Unlock()
	if known {
		return nil
	}
	try := s.Reach
	if try == nil {
		try = Reach
	}
	if err := try(ctx, endpoint, pem); err != nil {
		return fmt.Errorf("reaching the API server at %q: %w", endpoint, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reached == nil {
		s.reached = map[string]bool{}
	}
	s.reached[key] = true
	return nil
}

// Reach asks an API server for its version, trusting only the authority, in PEM.
func Reach(ctx context.Context, endpoint string, authority []byte) error {
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
