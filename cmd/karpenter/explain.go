package main

import (
	"context"
	"errors"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/explain"
)

// explainName is what explainCommand is called on the command line.
const explainName = "explain"

// explainCommand says why one object is as it is.
type explainCommand struct {
	Pod      explainPod      `cmd:"" help:"Is the pod bound, nominated, waiting, or unschedulable? What blocks it, and what would help?"`
	Node     explainNode     `cmd:"" help:"Would the node be disrupted, for which reason, and what blocks it?"`
	NodePool explainNodePool `cmd:"" name:"nodepool" help:"Can it launch nodes? What is its usage, what do budgets allow, which nodes can be disrupted, and what blocks the others?"`

	Output explain.Format `name:"output" short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json (${default})."`

	Cluster clusterSource `embed:""`
}

// Help is shown above the flags.
func (*explainCommand) Help() string {
	return "Reads a cluster, as karpenter snapshot does, and explains for one object what karpenter simulate shows for all. Read-only. " +
		"Settings that no flag sets are those that the controller has published in the cluster.\n\n" +
		"Exit codes: 0 an answer is printed; 1 failure; 2 invalid command line or input; 3 the object does not exist."
}

// explainPod explains a pod.
type explainPod struct {
	Name      string `arg:"" help:"The pod."`
	Namespace string `name:"namespace" short:"n" default:"default" help:"Its namespace (${default})."`
}

// Run implements the subcommand.
func (c *explainPod) Run(about *explainCommand, k *kong.Context, s streams) error {
	return about.answer(k, s, func(ctx context.Context, q explain.Question) (explain.Answer, error) {
		return explain.AboutPod(ctx, q, c.Namespace, c.Name)
	})
}

// explainNode explains a node.
type explainNode struct {
	Name string `arg:"" help:"The node."`
}

// Run implements the subcommand.
func (c *explainNode) Run(about *explainCommand, k *kong.Context, s streams) error {
	return about.answer(k, s, func(ctx context.Context, q explain.Question) (explain.Answer, error) {
		return explain.AboutNode(ctx, q, c.Name)
	})
}

// explainNodePool explains a NodePool.
type explainNodePool struct {
	Name string `arg:"" help:"The NodePool."`
}

// Run implements the subcommand.
func (c *explainNodePool) Run(about *explainCommand, k *kong.Context, s streams) error {
	return about.answer(k, s, func(ctx context.Context, q explain.Question) (explain.Answer, error) {
		if about.Cluster.missing != nil {
			return nil, about.Cluster.missing
		}
		return explain.AboutNodePool(ctx, q, c.Name)
	})
}

// answer prints what ask has to say about the cluster.
func (c *explainCommand) answer(k *kong.Context, s streams, ask func(context.Context, explain.Question) (explain.Answer, error)) error {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	q, err := c.question(ctx, k, s)
	if err != nil {
		return err
	}
	a, err := ask(ctx, q)
	if errors.Is(err, explain.ErrNotFound) {
		return codedError{err, exitNotFound}
	}
	if err != nil {
		return err
	}
	return explain.Write(s.out, a, c.Output)
}

// question gathers the objects of the cluster.
func (c *explainCommand) question(ctx context.Context, k *kong.Context, s streams) (explain.Question, error) {
	held, err := c.Cluster.read(ctx, k, s, explainName)
	if err != nil {
		return explain.Question{}, err
	}
	opened, err := held.open(ctx, held.objects)
	if err != nil {
		return explain.Question{}, err
	}
	held.tell(s.err, opened)
	return explain.Question{Objects: opened.Objects, Cloud: opened.Cloud, Options: held.policies()}, nil
}
