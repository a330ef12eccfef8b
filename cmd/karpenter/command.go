package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/completion"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// The exit codes.
const (
	exitOK = 0
	// exitFailed: the command failed, or was given a bad value.
	exitFailed = 1
	// exitUsage: there is no such command, or its input cannot be used.
	exitUsage = 2
	// exitUnplaced: some pods of the simulation do not fit.
	exitUnplaced = 3
	// exitNotFound: no object of that name exists.
	exitNotFound = 3
)

// codedError is an error that chooses the exit code.
type codedError struct {
	error
	code int
}

// Unwrap returns the error without the code.
func (e codedError) Unwrap() error { return e.error }

// commandLine is the grammar of the command line.
type commandLine struct {
	Controller controllerCommand `cmd:"" help:"Run the controllers against a cluster. This is what a cluster runs."`
	Demo       demoCommand       `cmd:"" help:"Show the controller at work in a cluster in memory, with simulated nodes. Needs no cluster."`
	Simulate   simulateCommand   `cmd:"" help:"Show what Karpenter would do for the objects in files. Needs no cluster."`
	Snapshot   snapshotCommand   `cmd:"" help:"Capture a snapshot of a cluster, for simulations elsewhere."`
	Explain    explainCommand    `cmd:"" help:"Explain the state of pods, nodes or NodePools, and what would change it. Read-only."`
	Diff       diffCommand       `cmd:"" help:"Forecast what an edit of objects does to the nodes of a cluster, before it is applied. Read-only."`
	Ledger     ledgerCommand     `cmd:"" help:"Print what the controller has decided, and why: its passes, the life of nodes, savings. Read-only."`
	Convert    convertCommand    `cmd:"" help:"Convert objects of earlier APIs (v1alpha5, v1beta1) to the current ones. Needs no cluster."`
	Probe      probeCommand      `cmd:"" help:"Check that HTTP endpoints of the controller answer, as the test of the Helm chart does."`
	Completion completionCommand `cmd:"" help:"Print a completion script for a shell."`
	Version    versionCommand    `cmd:"" help:"Print the version, commit, date, Go and Kubernetes; also as karpenter --version."`
}

// newCommandLine returns the grammar with the flags of the cloud providers.
func newCommandLine() commandLine {
	return commandLine{
		Controller: controllerCommand{options.WithProviders(providerSettings()...)},
		Simulate:   simulateCommand{Settings: planSettings{Place: newPlace()}},
		Explain:    explainCommand{Cluster: newClusterSource()},
		Diff:       diffCommand{Cluster: newClusterSource()},
	}
}

// streams are where a subcommand reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run executes one command line and returns the exit code: 0 or one of the constants above.
func run(args []string, env options.LookupEnv, std streams) int {
	line := newCommandLine()
	helped := false
	parser, err := kong.New(&line, append(options.Kong(env, providerNames()...),
		kong.Name("karpenter"),
		kong.Description("Karpenter launches nodes for pending pods and removes nodes that are not needed."),
		kong.Writers(std.out, std.err),
		kong.Exit(func(int) { helped = true }),
		kong.Bind(std),
	)...)
	if err != nil {
		_, _ = fmt.Fprintf(std.err, "karpenter: building the command line: %v\n", err)
		return exitFailed
	}
	if len(args) > 0 && args[0] == "--version" {
		args = append([]string{"version"}, args[1:]...)
	}
	if code, done := noCommand(parser, args, std); done {
		return code
	}
	command, err := parser.Parse(args)
	if helped {
		return exitOK
	}
	if err != nil {
		err = options.Explain(err)
		if args[0] == controllerName {
			err = errors.Join(err, line.Controller.check()) // all mistakes at once; the rest is found at the start otherwise
		}
		complain(std.err, args[0], err)
		if args[0] == explainName {
			return exitUsage
		}
		return exitFailed
	}
	if err := command.Run(); err != nil {
		complain(std.err, args[0], err)
		if coded := (codedError{}); errors.As(err, &coded) {
			return coded.code
		}
		return exitFailed
	}
	return exitOK
}

// noCommand deals with a command line that does not begin with a subcommand.
func noCommand(parser *kong.Kong, args []string, std streams) (code int, done bool) {
	if len(args) > 0 {
		if slices.ContainsFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == args[0] }) {
			return exitOK, false
		}
		if slices.Contains([]string{"help", "-h", "--help"}, args[0]) {
			_ = printHelp(parser, std.out)
			return exitOK, true
		}
		_, _ = fmt.Fprintf(std.err, "karpenter: unknown command %q%s\n\n", args[0], didYouMean(parser, args[0]))
	}
	_ = printHelp(parser, std.err)
	return exitUsage, true
}

// didYouMean is the suggestion of the parser for a command that does not exist; empty if it has none.
func didYouMean(parser *kong.Kong, command string) string {
	if _, err := parser.Parse([]string{command}); err != nil {
		if _, suggestion, ok := strings.Cut(err.Error(), ", did you mean "); ok {
			return ", did you mean " + suggestion
		}
	}
	return ""
}

// printHelp lists the subcommands.
func printHelp(parser *kong.Kong, to io.Writer) error {
	context, err := kong.Trace(parser, nil)
	if err != nil {
		return err
	}
	parser.Stdout = to
	return context.PrintUsage(false)
}

// complain prints each joined error on a separate line.
func complain(to io.Writer, command string, err error) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, one := range joined.Unwrap() {
			complain(to, command, one)
		}
		return
	}
	_, _ = fmt.Fprintf(to, "karpenter %s: %v\n", command, err)
}

// completionCommand prints a completion script.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run implements the subcommand.
func (c completionCommand) Run(k *kong.Context, s streams) error {
	return completion.Write(s.out, c.Shell, k.Model)
}
