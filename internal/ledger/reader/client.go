package reader

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// Client asks a controller for the records in its memory. It implements ledger.Records. It is safe for concurrent use, and must not be copied.
type Client struct {
	// Address is where the controller serves its console, such as http://127.0.0.1:8082.
	Address string
	// TokenFile has the bearer token, which is sent over TLS only; empty for none.
	TokenFile string
	// Authority is a file with the certificate of the authority that signed that of the controller; empty for those that the host trusts.
	Authority string
	// Insecure turns off the verification of the certificate.
	Insecure bool

	once    sync.Once
	client  *http.Client
	failure error
}

// Read implements ledger.Records.
func (c *Client) Read(ctx context.Context, f ledger.Filter) ([]json.RawMessage, ledger.Coverage, error) {
	answer, err := c.Request(ctx, ledger.Query{Filter: f})
	return answer.Records, answer.Coverage, err
}

// Request sends a query to the controller.
func (c *Client) Request(ctx context.Context, query ledger.Query) (ledger.Answer, error) {
	target := strings.TrimSuffix(c.Address, "/") + ledger.Path + "?" + query.Values().Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return ledger.Answer{}, fmt.Errorf("the address %q of the controller: %w", c.Address, err)
	}
	if err := c.authenticate(request); err != nil {
		return ledger.Answer{}, err
	}
	if c.once.Do(c.prepare); c.failure != nil {
		return ledger.Answer{}, c.failure
	}
	response, err := c.client.Do(request)
	if err != nil {
		return ledger.Answer{}, fmt.Errorf("asking the controller: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<12))
		return ledger.Answer{}, fmt.Errorf("the controller answers %s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	var answer ledger.Answer
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return ledger.Answer{}, fmt.Errorf("reading the answer of the controller: %w", err)
	}
	return answer, nil
}

// authenticate adds the token. It is read each time: tokens of service accounts change.
func (c *Client) authenticate(request *http.Request) error {
	if c.TokenFile == "" {
		return nil
	}
	token, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return fmt.Errorf("reading the token file: %w", err)
	}
	if request.URL.Scheme != "https" {
		return fmt.Errorf("the token of %s is sent over TLS only, so that others cannot read it: give an address that begins with https:// instead of %s", c.TokenFile, c.Address)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return nil
}

func (c *Client) prepare() {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.Insecure} //nolint:gosec // a user asks for it
	if c.Authority != "" {
		text, err := os.ReadFile(c.Authority)
		if err != nil {
			c.failure = fmt.Errorf("reading the certificate of the authority: %w", err)
			return
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			c.failure = fmt.Errorf("%s has no certificate", c.Authority)
			return
		}
	}
	c.client = &http.Client{Transport: &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment}}
}
