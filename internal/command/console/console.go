// Package console is karpenter console.
package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/alecthomas/kong"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/command/source"
	"github.com/karpenter-anew/karpenter/internal/command/views"
	"github.com/karpenter-anew/karpenter/internal/console"
	"github.com/karpenter-anew/karpenter/internal/view"
	"github.com/karpenter-anew/karpenter/web"
)

// name is what the command is called on the command line.
const name = "console"

// Command serves the console on this host.
type Command struct {
	Listen   string        `name:"listen" default:"127.0.0.1:8090" placeholder:"HOST:PORT" help:"Address to serve on (${default}); port 0 chooses a free one."`
	Insecure bool          `name:"insecure-listen" help:"Allow an address that other hosts can reach: anyone who can connect can read everything, without authentication."`
	Refresh  time.Duration `name:"refresh" default:"10s" placeholder:"DURATION" help:"How old reasons, proposals and the bound may become while a live cluster changes, and kinds that you may list and not watch (${default})."`

	Ledger  views.Ledger   `embed:""`
	Cluster source.Cluster `embed:""`
}

// pause is the time between two looks for changes: what changes is to be on the page within a second.
const pause = 250 * time.Millisecond

// New returns the command with the flags of all providers.
func New(b command.Binary) Command { return Command{Cluster: source.NewCluster(b)} }

// Help is shown above the flags.
func (*Command) Help() string {
	return "Serves a web page, and JSON below /api/v1/, that show the nodes of a cluster or of a snapshot: the fleet, why each node is there and is not removed, " +
		"pending pods, disruption, cost, NodePools, and what an edit would do. Read-only: nothing is written to the cluster. " +
		"Settings that no flag sets are those that the controller has published in the cluster.\n\n" +
		"Exit codes: 0 interrupted; 1 failure; 2 invalid command line or input."
}

// Run implements the subcommand.
func (c *Command) Run(k *kong.Context, s command.Streams) error {
	if err := c.check(); err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	ctx, stop := command.UntilSignal(context.Background())
	defer stop()
	cluster, err := views.Capture(ctx, k, s, views.From{Name: name, Cluster: &c.Cluster, Refresh: c.Refresh, Watch: true, Clock: clock.RealClock{}})
	if err != nil {
		return err
	}
	cluster.Tell()
	records := c.Ledger.Records()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("serving the console: %w; choose another address with --listen", err)
	}
	shown := view.New(cluster, records, clock.RealClock{}).CompareEdits(compare(cluster)).LookEvery(pause)
	handler := console.Handler(console.Sources{
		Views: view.DocumentsOf(shown), NotFound: view.ErrNotFound, Invalid: view.ErrInvalid,
		Records: records, Clock: clock.RealClock{}, Closing: ctx.Done(), Files: web.Files(),
		Failed: func(err error) { _, _ = fmt.Fprintf(s.Err, "karpenter console: %v\n", err) },
	})
	if console.OnLoopback(c.Listen) {
		handler = console.LocalOnly(handler)
	}
	_, _ = fmt.Fprintf(s.Out, "karpenter console: serving http://%s/\n", listener.Addr())
	return serveUntil(ctx, listener, handler)
}

func (c *Command) check() error {
	switch {
	case !console.OnLoopback(c.Listen) && !c.Insecure:
		return fmt.Errorf("--listen=%s can be reached by other hosts, and the console has no authentication: use 127.0.0.1:PORT, or add --insecure-listen", c.Listen)
	case c.Refresh <= 0:
		return errors.New("--refresh has to be positive")
	}
	return nil
}

// serveUntil serves until ctx ends.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving the console: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}
