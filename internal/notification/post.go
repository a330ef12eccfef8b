package notification

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	// attemptTimeout bounds an attempt from the connection to the end of the answer.
	attemptTimeout = 10 * time.Second
	// maxAnswer is the most that is read of an answer, whose content does not matter.
	maxAnswer = 4 << 10
)

// failure is why an attempt failed.
type failure struct {
	// reason is the value of the label of the metric.
	reason string
	err    error
	// final is set if another attempt would fail as well.
	final bool
	// after is how long the webhook asks to wait; 0 if it does not.
	after time.Duration
}

// newClient returns a client that follows no redirect: the URL of the webhook may be a secret, and its message is for its host.
func newClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: attemptTimeout, ResponseHeaderTimeout: attemptTimeout, IdleConnTimeout: 90 * time.Second,
			MaxIdleConns: 1, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
		}
	}
	return &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// post makes one attempt; nil if the webhook accepted the message.
func (n *Notifier) post(ctx context.Context, m message) *failure {
	t, err := readTarget(n.options)
	if err != nil {
		return &failure{reason: "configuration", err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url.String(), bytes.NewReader(m.body))
	if err != nil {
		return &failure{reason: "configuration", err: errors.New("the request cannot be built")} // the error may quote the URL
	}
	at := n.clock.Now()
	signature, err := t.sign(m.id, at, m.body)
	if err != nil {
		return &failure{reason: "configuration", err: err}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", n.userAgent)
	request.Header.Set(standardwebhooks.HeaderWebhookID, m.id)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	if signature != "" {
		request.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	}
	answer, err := n.client.Do(request)
	if err != nil {
		return failureOf(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)) // so that the connection can be used again
	return n.judge(answer)
}

// judge says what the status of an answer means.
func (n *Notifier) judge(answer *http.Response) *failure {
	code := answer.StatusCode
	if code >= 200 && code < 300 {
		return nil
	}
	f := &failure{reason: "status", err: fmt.Errorf("the webhook answered with status %d", code)}
	switch {
	case code >= 300 && code < 400:
		f.err, f.final = fmt.Errorf("the webhook answered with status %d: redirects are not followed", code), true
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		f.after = n.retryAfter(answer.Header.Get("Retry-After"))
	default:
		f.final = true
	}
	return f
}

// retryAfter reads a header: seconds, or a date.
func (n *Notifier) retryAfter(text string) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 16); err == nil {
		return time.Duration(seconds) * time.Second //nolint:gosec // 16 bits
	}
	if at, err := http.ParseTime(text); err == nil {
		return at.Sub(n.clock.Now())
	}
	return 0
}

// failureOf is an error of the client without the URL, which the client adds to it.
func failureOf(ctx context.Context, err error) *failure {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var network net.Error
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() {
		return &failure{reason: "timeout", err: fmt.Errorf("the webhook did not answer within %s", attemptTimeout)}
	}
	return &failure{reason: "connection", err: err}
}
