package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/karpenter-anew/karpenter/internal/command"
)

const (
	// probePause is the time between two requests to an endpoint that does not answer as it should.
	probePause = 500 * time.Millisecond
	// probeLimit bounds how much of a response is read, in bytes.
	probeLimit = 64 << 20
)

// probeCommand checks that HTTP endpoints answer. The image has no other program that could, and the test of the chart needs one.
type probeCommand struct {
	URLs    []endpoint    `arg:"" name:"url" help:"Endpoints, such as http://karpenter.kube-system.svc:8080/metrics."`
	Timeout time.Duration `name:"timeout" default:"30s" help:"Time for all endpoints to answer (${default})."`
}

// endpoint is a URL. A list of plain strings is one argument with commas, as for flags.
type endpoint string

// Help is shown above the flags.
func (*probeCommand) Help() string {
	return "Each endpoint has to answer with status 200 and a body, and is asked until it does or the time is over. The Helm chart runs this as its test.\n\n" +
		"Exit codes: 0 all endpoints answer; 1 one does not; 2 invalid command line."
}

// Validate implements the check of the command line.
func (c *probeCommand) Validate() error {
	if c.Timeout <= 0 {
		return fmt.Errorf("--timeout is %s; it must be above 0s", c.Timeout)
	}
	for _, e := range c.URLs {
		if u, err := url.Parse(string(e)); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("%q is not the URL of an endpoint; want one such as http://127.0.0.1:8081/readyz", e)
		}
	}
	return nil
}

// Run implements the subcommand.
func (c *probeCommand) Run(s command.Streams) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	for _, e := range c.URLs {
		size, err := e.awaitAnswer(ctx)
		if err != nil {
			return fmt.Errorf("%s has not answered as it should within %s: %w", e, c.Timeout, err)
		}
		if _, err := fmt.Fprintf(s.Out, "%s: ok, %d bytes\n", e, size); err != nil {
			return err
		}
	}
	return nil
}

// awaitAnswer asks an endpoint until it answers well, and returns the size of the body. Its error is that of the last request that failed by
// itself, or of the first if time ended all of them.
func (e endpoint) awaitAnswer(ctx context.Context) (size int64, err error) {
	for {
		size, failure := e.ask(ctx)
		if failure == nil {
			return size, nil
		}
		if err == nil || !errors.Is(failure, context.DeadlineExceeded) {
			err = failure
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(probePause):
		}
	}
}

// ask sends one request.
func (e endpoint) ask(ctx context.Context) (size int64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, string(e), http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 512))
		return 0, fmt.Errorf("status %s: %s", response.Status, text)
	}
	size, err = io.Copy(io.Discard, io.LimitReader(response.Body, probeLimit))
	if err == nil && size == 0 {
		err = errors.New("the body is empty")
	}
	return size, err
}
