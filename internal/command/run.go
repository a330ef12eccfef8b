// Package command is what the subcommands of the binary share: the command line and its exit codes, where they read and write, and the cloud
// providers that the binary hands down. The packages below it hold the larger subcommands, each with its flags.
package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// Streams are where a subcommand reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Color is set if Out is a terminal on which text may have colors.
	Color bool
}

// Line is one command line of the program.
type Line struct {
	// Grammar is a pointer to the struct whose fields are the subcommands. The method Run of a subcommand receives what it asks for of: Streams,
	// *kong.Context, Binary, options.LookupEnv.
	Grammar any
	Binary  Binary
	// Args are the arguments without the name of the program.
	Args []string
	Env  options.LookupEnv
	// Mistakes says what else is wrong with a command line of a subcommand that cannot be parsed; it may be nil.
	Mistakes func(subcommand string) error
}

// Parser returns the parser of the command line.
func (l Line) Parser(more ...kong.Option) (*kong.Kong, error) {
	return kong.New(l.Grammar, append(options.Kong(l.Env, l.Binary.Providers.Names()...), append(more,
		kong.Name("karpenter"),
		kong.Description("Karpenter launches nodes for pending pods and removes nodes that are not needed."),
		kong.Bind(l.Binary, l.Env),
	)...)...)
}

// Run executes the command line and returns the exit code.
func (l Line) Run(std Streams) int {
	args, helped := l.Args, false
	parser, err := l.Parser(kong.Writers(std.Out, std.Err), kong.Exit(func(int) { helped = true }), kong.Bind(std))
	if err != nil {
		_, _ = fmt.Fprintf(std.Err, "karpenter: building the command line: %v\n", err)
		return ExitFailed
	}
	if len(args) > 0 && args[0] == "--version" {
		args = append([]string{"version"}, args[1:]...)
	}
	if code, done := noCommand(parser, args, std); done {
		return code
	}
	command, err := parser.Parse(args)
	if helped {
		return ExitOK
	}
	if err != nil {
		err = readable(err, args[0])
		if l.Mistakes != nil {
			err = errors.Join(err, l.Mistakes(args[0])) // all mistakes at once; the rest is found at the start otherwise
		}
		complain(std.Err, args[0], err)
		return ExitUsage
	}
	if err := command.Run(); err != nil {
		complain(std.Err, args[0], err)
		if coded := (codedError{}); errors.As(err, &coded) {
			return coded.code
		}
		return ExitFailed
	}
	return ExitOK
}

// noCommand deals with a command line that does not begin with a subcommand.
func noCommand(parser *kong.Kong, args []string, std Streams) (code int, done bool) {
	if len(args) > 0 {
		if slices.ContainsFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == args[0] }) {
			return ExitOK, false
		}
		if slices.Contains([]string{"help", "-h", "--help"}, args[0]) {
			_ = printHelp(parser, std.Out)
			return ExitOK, true
		}
		_, _ = fmt.Fprintf(std.Err, "karpenter: unknown command %q%s\n\n", args[0], didYouMean(parser, args[0]))
	}
	_ = printHelp(parser, std.Err)
	return ExitUsage, true
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
