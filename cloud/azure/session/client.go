package session

import (
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Limits of connections.
const (
	dialTimeout      = 30 * time.Second
	handshakeTimeout = 10 * time.Second
	idleConnections  = 100
	idleTimeout      = 90 * time.Second
	pingAfter        = 30 * time.Second
	pingTimeout      = 10 * time.Second
)

// HTTPClient returns the client that all calls share. Connections of HTTP/2 are checked with pings when they are idle: else calls would use
// one that a firewall has forgotten until the operating system gives it up, minutes later.
func HTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: dialTimeout}).DialContext,
			ForceAttemptHTTP2:   true,
			TLSHandshakeTimeout: handshakeTimeout,
			MaxIdleConns:        idleConnections,
			MaxIdleConnsPerHost: idleConnections,
			IdleConnTimeout:     idleTimeout,
			HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		},
		CheckRedirect: func(r *http.Request, before []*http.Request) error {
			// net/http does this for Authorization only.
			if r.URL.Host != before[0].URL.Host {
				r.Header.Del(auxiliaryHeader)
			}
			if len(before) >= 10 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// applicationID begins the user agent of all calls. The SDK cuts it at 24 characters.
func applicationID(version string) string {
	return "karpenter-aks/v" + strings.TrimPrefix(version, "v")
}

// clientOptions are the options of all clients of the resource manager.
func clientOptions(o *Options) *arm.ClientOptions {
	out := &arm.ClientOptions{
		ClientOptions: policy.ClientOptions{
			Cloud: o.Environment.Configuration,
			Retry: policy.RetryOptions{
				MaxRetries: 3, RetryDelay: 800 * time.Millisecond, MaxRetryDelay: time.Minute,
				StatusCodes: []int{
					http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
					http.StatusServiceUnavailable, http.StatusGatewayTimeout,
				},
			},
			Telemetry: policy.TelemetryOptions{ApplicationID: applicationID(o.Version)},
			Transport: o.Transport,
		},
		// Else the first call of a client would register a resource provider with the subscription, for which the controller has no role.
		DisableRPRegistration: true,
	}
	if o.Settings.EnableAzureSDKLogging {
		out.PerRetryPolicies = append(out.PerRetryPolicies, requestLog{o.Clock})
	}
	return out
}
