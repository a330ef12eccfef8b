package awstest

import (
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/karpenter-anew/karpenter/cloud/aws/session"
)

// Connect serves the account on loopback until the test ends, and returns a configuration for clients. They do not retry, so that a
// failure needs to be injected only once.
func Connect(t testing.TB, a *Account) aws.Config {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return aws.Config{
		Region: a.region, BaseEndpoint: aws.String(server.URL), HTTPClient: session.HTTPClient(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}
}
