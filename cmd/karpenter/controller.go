package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/operator"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// controllerName is what controllerCommand is called on the command line.
const controllerName = "controller"

// controllerCommand runs the controllers until it receives a signal.
type controllerCommand struct {
	options.Options `embed:""`
}

// Help is shown above the flags.
func (*controllerCommand) Help() string {
	return "Every flag can also be set by the environment variable in brackets; the flag takes precedence. " +
		"SIGTERM and SIGINT stop it in order: no new work, up to 30 s for work in hand, then the lease is released. A second signal ends it at once."
}

// check reports the mistakes in the environment of the cloud provider.
func (c *controllerCommand) check() error {
	if provider, err := providerNamed(c.CloudProvider); err == nil && provider.Check != nil {
		return provider.Check(c.Options)
	}
	return nil // a provider that is not known is reported elsewhere
}

// Run implements the subcommand.
func (c *controllerCommand) Run(s streams) error {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	return c.run(ctx, s)
}

// run runs the controllers until the context ends.
func (c *controllerCommand) run(ctx context.Context, s streams) (err error) {
	provider, err := providerNamed(c.CloudProvider)
	if err != nil {
		return err
	}
	out, closeOut, err := operator.LogOutput(c.Log.OutputPaths, s.out, s.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeOut()) }()
	problems, closeProblems, err := operator.LogOutput(c.Log.ErrorOutputPaths, s.out, s.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeProblems()) }()

	build := observe.ReadBuild(version)
	log := observe.LogConfig{Level: string(c.Log.Level), Output: out, Errors: problems, Commit: build.Commit}.Logger()
	if err := operator.Run(ctx, c.Options, operator.Process{Provider: provider, Build: build, Log: log}); err != nil {
		log.Error("the controller failed", logfield.Error(err))
		return err
	}
	return nil
}

// untilSignal returns a context that ends with the first SIGTERM or SIGINT. The second one ends the process.
func untilSignal(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitFailed)
	}()
	return ctx, cancel
}
