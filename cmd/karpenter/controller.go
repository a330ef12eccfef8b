package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/command"
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
func (c *controllerCommand) check(providers command.Providers) error {
	if provider, err := providers.Named(c.CloudProvider); err == nil && provider.Check != nil {
		return provider.Check(c.Options)
	}
	return nil // a provider that is not known is reported elsewhere
}

// Run implements the subcommand.
func (c *controllerCommand) Run(b command.Binary, s command.Streams) error {
	ctx, stop := command.UntilSignal(context.Background())
	defer stop()
	return c.run(ctx, b, s)
}

// run runs the controllers until the context ends.
func (c *controllerCommand) run(ctx context.Context, b command.Binary, s command.Streams) (err error) {
	provider, err := b.Providers.Named(c.CloudProvider)
	if err != nil {
		return err
	}
	out, closeOut, err := operator.LogOutput(c.Log.OutputPaths, s.Out, s.Err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeOut()) }()
	problems, closeProblems, err := operator.LogOutput(c.Log.ErrorOutputPaths, s.Out, s.Err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeProblems()) }()

	build := observe.ReadBuild(b.Version)
	log := observe.LogConfig{Level: string(c.Log.Level), Output: out, Errors: problems, Commit: build.Commit}.Logger()
	if err := operator.Run(ctx, c.Options, operator.Process{Provider: provider, Build: build, Log: log}); err != nil {
		log.Error("the controller failed", logfield.Error(err))
		return err
	}
	return nil
}

// parseController returns what runs a controller in this process, with the arguments of its command line and no environment. It ends with the
// context.
func parseController(args []string) (func(ctx context.Context, log io.Writer) error, error) {
	b := binary()
	line := newCommandLine(b)
	parser, err := kong.New(line, options.Kong(func(string) (string, bool) { return "", false }, b.Providers.Names()...)...)
	if err != nil {
		return nil, fmt.Errorf("building the command line of the controller: %w", err)
	}
	if _, err := parser.Parse(append([]string{controllerName}, args...)); err != nil {
		return nil, command.WithCode(options.Explain(err), command.ExitUsage)
	}
	return func(ctx context.Context, log io.Writer) error {
		return line.Controller.run(ctx, b, command.Streams{Out: log, Err: log})
	}, nil
}
