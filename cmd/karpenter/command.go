package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// commandLine is the grammar of the command line.
type commandLine struct {
	Controller controllerCommand `cmd:"" help:"Run the controllers against a cluster. This is what a cluster runs."`
	Version    versionCommand    `cmd:"" help:"Print the version and exit."`
}

// streams are where a subcommand writes.
type streams struct{ out, err io.Writer }

// run executes one command line and returns the exit code: 0, 1 when the command failed or was given a bad value, 2 when there is no
// such command.
func run(args []string, env options.LookupEnv, stdout, stderr io.Writer) int {
	var line commandLine
	helped := false
	parser, err := kong.New(&line, append(options.Kong(env),
		kong.Name("karpenter"),
		kong.Description("Karpenter adds nodes for pods that have no place and removes nodes that are not needed."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { helped = true }),
		kong.Bind(streams{stdout, stderr}),
	)...)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "karpenter: building the command line: %v\n", err)
		return exitFailed
	}
	if code, done := noCommand(parser, args, stdout, stderr); done {
		return code
	}
	command, err := parser.Parse(args)
	if helped {
		return exitOK
	}
	if err != nil {
		complain(stderr, args[0], options.Explain(err))
		return exitFailed
	}
	if err := command.Run(); err != nil {
		complain(stderr, args[0], err)
		return exitFailed
	}
	return exitOK
}

// noCommand deals with a command line that does not begin with a subcommand.
func noCommand(parser *kong.Kong, args []string, stdout, stderr io.Writer) (code int, done bool) {
	if len(args) > 0 {
		if slices.ContainsFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == args[0] }) {
			return exitOK, false
		}
		if slices.Contains([]string{"help", "-h", "--help"}, args[0]) {
			_ = printHelp(parser, stdout)
			return exitOK, true
		}
		_, _ = fmt.Fprintf(stderr, "karpenter: unknown command %q\n\n", args[0])
	}
	_ = printHelp(parser, stderr)
	return exitUsage, true
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

// complain prints each line of an error as a line of its own.
func complain(to io.Writer, command string, err error) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, one := range joined.Unwrap() {
			_, _ = fmt.Fprintf(to, "karpenter %s: %v\n", command, one)
		}
		return
	}
	_, _ = fmt.Fprintf(to, "karpenter %s: %v\n", command, err)
}

// versionCommand prints what is running.
type versionCommand struct{}

// Run implements the subcommand.
func (versionCommand) Run(s streams) error {
	b := observe.ReadBuild(version)
	_, err := fmt.Fprintf(s.out, "karpenter %s", b.Version)
	if b.Commit != "" {
		_, err = fmt.Fprintf(s.out, " (commit %s)", b.Commit)
	}
	if err == nil {
		_, err = fmt.Fprintf(s.out, " %s %s\n", b.GoVersion, b.GoArch)
	}
	return err
}
