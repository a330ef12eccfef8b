package main

import (
	"time"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/command/console"
	"github.com/karpenter-anew/karpenter/internal/command/convert"
	"github.com/karpenter-anew/karpenter/internal/command/diff"
	"github.com/karpenter-anew/karpenter/internal/command/explain"
	"github.com/karpenter-anew/karpenter/internal/command/ledger"
	"github.com/karpenter-anew/karpenter/internal/command/plan"
	"github.com/karpenter-anew/karpenter/internal/command/shadow"
	"github.com/karpenter-anew/karpenter/internal/command/simulate"
	"github.com/karpenter-anew/karpenter/internal/command/snapshot"
	"github.com/karpenter-anew/karpenter/internal/command/top"
	"github.com/karpenter-anew/karpenter/internal/completion"
	"github.com/karpenter-anew/karpenter/internal/options"

	"github.com/alecthomas/kong"
)

// commandLine is the grammar of the command line.
type commandLine struct {
	Controller controllerCommand `cmd:"" help:"Run the controllers against a cluster. This is what a cluster runs."`
	Demo       demoCommand       `cmd:"" help:"Show the controller at work in a cluster in memory, with simulated nodes. Needs no cluster."`
	Simulate   simulate.Command  `cmd:"" help:"Show what Karpenter would do for the objects in files. Needs no cluster."`
	Snapshot   snapshot.Command  `cmd:"" help:"Capture a snapshot of a cluster, for simulations elsewhere."`
	Explain    explain.Command   `cmd:"" help:"Explain the state of pods, nodes or NodePools, and what would change it. Read-only."`
	Diff       diff.Command      `cmd:"" help:"Forecast what an edit of objects does to the nodes of a cluster, before it is applied. Read-only."`
	Console    console.Command   `cmd:"" help:"Serve a web page that shows the nodes of a cluster or of a snapshot, and why they are as they are. Read-only."`
	Top        top.Command       `cmd:"" help:"Show nodes, pending pods, disruption, cost and NodePools of a cluster in a terminal. Read-only."`
	Shadow     shadow.Command    `cmd:"" help:"Compare this controller with the one that runs in a cluster, in a mirror of the cluster in memory. Read-only."`
	Ledger     ledger.Command    `cmd:"" help:"Print what the controller has decided, and why: its passes, the life of nodes, savings. Read-only."`
	Plan       plan.Command      `cmd:"" help:"List, show, approve and reject disruption that waits for approval."`
	Convert    convert.Command   `cmd:"" help:"Convert objects of earlier APIs (v1alpha5, v1beta1) to the current ones. Needs no cluster."`
	Probe      probeCommand      `cmd:"" help:"Check that HTTP endpoints of the controller answer, as the test of the Helm chart does."`
	Completion completionCommand `cmd:"" help:"Print a completion script for a shell."`
	Version    versionCommand    `cmd:"" help:"Print the version, commit, date, Go and Kubernetes; also as karpenter --version."`
}

// binary is what commands know of this program.
func binary() command.Binary {
	return command.Binary{Version: version, Providers: providers(), Now: time.Now, After: time.After}
}

// newCommandLine returns the grammar with the flags of the cloud providers.
func newCommandLine(b command.Binary) *commandLine {
	return &commandLine{
		Controller: controllerCommand{options.WithProviders(b.Providers.Settings()...)},
		Simulate:   simulate.New(b),
		Explain:    explain.New(b),
		Diff:       diff.New(b),
		Console:    console.New(b),
		Top:        top.New(b),
		Shadow:     shadow.New(b, shadow.Simulation{Controller: parseController, Encode: encodeTypes}),
	}
}

// run executes one command line and returns the exit code: 0 or one of the constants of package command.
func run(args []string, env options.LookupEnv, std command.Streams) int {
	b := binary()
	line := newCommandLine(b)
	mistakes := func(subcommand string) error {
		if subcommand != controllerName {
			return nil
		}
		return line.Controller.check(b.Providers)
	}
	return command.Line{Grammar: line, Binary: b, Args: args, Env: env, Mistakes: mistakes}.Run(std)
}

// completionCommand prints a completion script.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run implements the subcommand.
func (c completionCommand) Run(k *kong.Context, s command.Streams) error {
	return completion.Write(s.Out, c.Shell, k.Model)
}
