// Package diff is karpenter diff.
package diff

import (
	"context"
	"errors"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/command/source"
	"github.com/karpenter-anew/karpenter/internal/forecast/edit"
	"github.com/karpenter-anew/karpenter/internal/forecast/report"
	"github.com/karpenter-anew/karpenter/internal/manifest"
)

// name is what the command is called on the command line.
const name = "diff"

// Command says what an edit does to the nodes of a cluster.
type Command struct {
	Files  command.Repeated  `name:"filename" short:"f" placeholder:"FILE_OR_DIR" help:"File or directory with the edited manifests, - for standard input. Can be given several times."`
	More   []command.PathArg `arg:"" optional:"" name:"file_or_dir" help:"More of them, so that -f *.yaml works."`
	Output command.Output    `name:"output" short:"o" default:"text" complete:"text,json,yaml" placeholder:"FORMAT" help:"text, json, yaml, or jsonpath=TEMPLATE (${default})."`

	Forecast source.Forecast `embed:""`

	Cluster source.Cluster `embed:""`
}

// New returns the command with the flags of all providers.
func New(b command.Binary) Command { return Command{Cluster: source.NewCluster(b)} }

// Help is shown above the flags.
func (*Command) Help() string {
	return "Reads a cluster, as karpenter snapshot does, and forecasts what happens to its nodes with and without the edited manifests: which nodes drift " +
		"or are consolidated, which are launched, which pods move, how long that takes under disruption budgets, what blocks it, and what the nodes cost. " +
		"Nothing is written.\n\n" +
		"Exit codes: 0 an answer is printed; 1 failure; 2 invalid command line or input."
}

// Run implements the subcommand.
func (c *Command) Run(k *kong.Context, b command.Binary, s command.Streams) error {
	ctx, stop := command.UntilSignal(context.Background())
	defer stop()
	paths := command.Paths(c.Files, c.More)
	switch {
	case len(paths) == 0:
		return command.WithCode(errors.New("nothing to compare: name files or directories with the edited manifests with -f, or - for standard input"), command.ExitUsage)
	case c.Cluster.Snapshot == manifest.Stdin && slices.Contains(paths, manifest.Stdin):
		return command.WithCode(errors.New("standard input can be read once only, as a file or as the snapshot"), command.ExitUsage)
	}
	start := c.Forecast.Start(b.Now())
	if err := c.Forecast.Check(start); err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	held, err := c.Cluster.Read(ctx, k, s, name)
	if err != nil {
		return err
	}
	edited, err := held.Reader.Updating(held.Objects).ReadPaths(paths, s.In)
	if err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	if len(edited.Objects) == 0 {
		return command.WithCode(errors.New("nothing to compare: the files hold no objects that have a bearing on nodes"), command.ExitUsage)
	}
	policies := held.Policies()
	policies.Now = start
	d, opened, err := edit.Compare(ctx, edit.Input{Objects: held.Objects, Edited: edited, Open: held.Open, Options: c.Forecast.Options(policies)})
	if err != nil {
		return err
	}
	held.Tell(s.Err, opened)
	return report.Write(s.Out, d, report.Format(c.Output))
}
