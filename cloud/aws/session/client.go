package session

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// timeout limits a call with its retries. It is long, because calls about new resources are retried until EC2 finds them.
const timeout = 4 * time.Minute

// newClient is the SDK's client with a limit on time.
func newClient() *awshttp.BuildableClient { return awshttp.NewBuildableClient().WithTimeout(timeout) }

// HTTPClient is the client for all calls.
func HTTPClient() aws.HTTPClient { return &buffered{newClient()} }

// buffered reads the body of a request before it is sent. The SDK closes the body as soon as a response begins, when net/http may not have
// read its end yet; net/http would then close the connection and lose the response. Endpoints nearby respond that fast.
type buffered struct{ next aws.HTTPClient }

// Do implements aws.HTTPClient.
func (w *buffered) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return w.next.Do(r)
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = r.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the body of a request: %w", err)
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return w.next.Do(r)
}
