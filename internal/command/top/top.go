// Package top is karpenter top.
package top

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kong"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/command/source"
	"github.com/karpenter-anew/karpenter/internal/command/top/internal/screen"
	"github.com/karpenter-anew/karpenter/internal/command/views"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// name is what the command is called on the command line.
const name = "top"

// Command shows a cluster in a terminal.
type Command struct {
	Once     bool           `name:"once" help:"Print one frame as text, with all rows, and exit. So does a command whose output is not a terminal."`
	Output   command.Output `name:"output" short:"o" default:"text" complete:"text,json,yaml" placeholder:"FORMAT" help:"With --once: text, json, yaml, or jsonpath=TEMPLATE (${default}). All but text have the documents of all views, or that of --view."`
	View     string         `name:"view" enum:"nodes,pending,moves,cost,pools," default:"" placeholder:"VIEW" help:"First view: nodes, pending, moves, cost or pools."`
	Filter   string         `name:"filter" placeholder:"TEXT" help:"Show only rows with all words of this text, and with none that begins with !."`
	Sort     string         `name:"sort" placeholder:"COLUMN" help:"Order by the column whose title begins so; -COLUMN for the reverse order."`
	Interval time.Duration  `name:"interval" default:"2s" placeholder:"DURATION" help:"Least time between two updates of the screen (${default}); at least 1s. A live cluster is watched; kinds that you may list and not watch are listed every 10s, or at each update if these are rarer."`

	Ledger  views.Ledger   `embed:""`
	Cluster source.Cluster `embed:""`
}

// refresh is how old reasons, proposals and the bound may become while a live cluster changes, and kinds that may be listed and not watched.
const refresh = 10 * time.Second

// New returns the command with the flags of all providers.
func New(b command.Binary) Command { return Command{Cluster: source.NewCluster(b)} }

// Help is shown above the flags.
func (*Command) Help() string {
	return "Shows nodes with what fills them, pending pods, disruption, cost and NodePools of a cluster or a snapshot in a terminal; ? lists the keys. Read-only. " +
		"Without a terminal, or on one with TERM=dumb, it prints one frame as --once does.\n\n" +
		"Exit codes: 0 a frame was shown; 1 failure; 2 invalid command line or input."
}

// Run implements the subcommand.
func (c *Command) Run(k *kong.Context, s command.Streams, env options.LookupEnv) error {
	if c.Interval < time.Second {
		return command.WithCode(errors.New("--interval must be at least 1s"), command.ExitUsage)
	}
	if c.Cluster.Snapshot == manifest.Stdin && !c.Once {
		return command.WithCode(errors.New("--snapshot=- needs --once: keys are read from standard input, too"), command.ExitUsage)
	}
	if c.Output != command.OutputText && !c.Once {
		return command.WithCode(fmt.Errorf("-o %s needs --once", c.Output), command.ExitUsage)
	}
	ctx, stop := command.UntilSignal(context.Background())
	defer stop()
	shown := screen.Options{
		In: s.In, Out: s.Out, Env: env, Clock: time.Now, Interval: c.Interval, MaxAge: max(views.MaxAge, c.Interval),
		View: c.View, Filter: c.Filter, Sort: c.Sort,
	}
	from := views.From{Name: name, Cluster: &c.Cluster, Refresh: max(c.Interval, refresh), Clock: clock.RealClock{}}
	from.Watch = !c.Once && shown.Interactive()
	cluster, err := views.Capture(ctx, k, s, from)
	if err != nil {
		return err
	}
	shown.Source = view.New(cluster, c.Ledger.Records(), clock.RealClock{})
	switch {
	case c.Once && c.Output != command.OutputText:
		return screen.PrintDocuments(ctx, shown, c.Output.Document())
	case !from.Watch:
		return screen.Print(ctx, shown)
	}
	return screen.Run(ctx, shown)
}
