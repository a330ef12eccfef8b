package main

import (
	"context"
	"errors"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/explain"
)

// explainName is what explainCommand is called on the command line.
const explainName = "explain"

// explainCommand says why objects are as they are.
type explainCommand struct {
	Pod       explainPod       `cmd:"" aliases:"pods,po" help:"Is the pod bound, nominated, waiting, or unschedulable? What blocks it, and what would help?"`
	Node      explainNode      `cmd:"" aliases:"nodes,no" help:"Would the node be disrupted, for which reason, and what blocks it?"`
	NodeClaim explainNodeClaim `cmd:"" name:"nodeclaim" aliases:"nodeclaims,nc" help:"The same for the node of a NodeClaim."`
	NodePool  explainNodePool  `cmd:"" name:"nodepool" aliases:"nodepools,np" help:"Can it launch nodes? What is its usage, what do budgets allow, which nodes can be disrupted, and what blocks the others?"`
	Objects   explainObjects   `cmd:"" name:"objects" default:"withargs" hidden:"" help:"Objects as KIND/NAME."`

	Namespace string         `name:"namespace" short:"n" default:"default" help:"Namespace of pods (${default})."`
	Output    explain.Format `name:"output" short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json (${default})."`

	Cluster clusterSource `embed:""`
}

// Help is shown above the flags.
func (*explainCommand) Help() string {
	return "Reads a cluster, as karpenter snapshot does, and explains for some objects what karpenter simulate shows for all. Read-only. " +
		"Settings that no flag sets are those that the controller has published in the cluster.\n\n" +
		"Objects are named as for kubectl: pod NAME, pod/NAME, or several of them. Plurals and the short names po, no, nc and np are known.\n\n" +
		"Exit codes: 0 an answer is printed; 1 failure; 2 invalid command line or input; 3 an object does not exist."
}

// explainPod explains pods.
type explainPod struct {
	Names []objectName `arg:"" name:"name" help:"The pods."`
}

// Run implements the subcommand.
func (c *explainPod) Run(about *explainCommand, k *kong.Context, s streams) error {
	return about.answer(k, s, kindPod, c.Names)
}

// explainNode explains nodes.
type explainNode struct {
	Names []objectName `arg:"" name:"name" help:"The nodes."`
}

// Run implements the subcommand.
func (c *explainNode) Run(about *explainCommand, k *kong.Context, s streams) error {
	return about.answer(k, s, kindNode, c.Names)
}

// explainNodeClaim explains the nodes of NodeClaims.
type explainNodeClaim struct {
	Names []objectName `arg:"" name:"name" help:"The NodeClaims."`
}

// Run implements the subcommand.
func (c *explainNodeClaim) Run(about *explainCommand, k *kong.Context, s streams) error {
	return about.answer(k, s, kindNodeClaim, c.Names)
}

// explainNodePool explains NodePools.
type explainNodePool struct {
	Names []objectName `arg:"" name:"name" help:"The NodePools."`
}

// Run implements the subcommand.
func (c *explainNodePool) Run(about *explainCommand, k *kong.Context, s streams) error {
	return about.answer(k, s, kindNodePool, c.Names)
}

// explainObjects explains objects of any kind, named as KIND/NAME.
type explainObjects struct {
	Objects []objectName `arg:"" optional:"" name:"kind/name" help:"The objects."`
}

// Run implements the subcommand.
func (c *explainObjects) Run(about *explainCommand, k *kong.Context, s streams) error {
	return about.answer(k, s, "", c.Objects)
}

// answer prints what there is to say about objects of a kind; of an empty kind, the names say which.
func (c *explainCommand) answer(k *kong.Context, s streams, kind objectKind, names []objectName) error {
	about, err := objectsNamed(kind, names)
	if err != nil {
		return codedError{err, exitUsage}
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	q, err := c.question(ctx, k, s)
	if err != nil {
		return err
	}
	var absent []error
	answers := explain.List{Version: explain.Version, Kind: "List", Items: []explain.Answer{}}
	for _, object := range about {
		a, err := c.ask(ctx, q, object)
		switch {
		case errors.Is(err, explain.ErrNotFound):
			absent = append(absent, err)
		case err != nil:
			return err
		default:
			answers.Items = append(answers.Items, a)
		}
	}
	var shown explain.Answer = answers
	if len(about) == 1 && len(answers.Items) == 1 {
		shown = answers.Items[0]
	}
	if len(answers.Items) > 0 {
		if err := explain.Write(s.out, shown, c.Output); err != nil {
			return err
		}
	}
	if len(absent) > 0 {
		return codedError{errors.Join(absent...), exitNotFound}
	}
	return nil
}

// ask explains one object.
func (c *explainCommand) ask(ctx context.Context, q explain.Question, object namedObject) (explain.Answer, error) {
	switch object.kind {
	case kindPod:
		return explain.AboutPod(ctx, q, c.Namespace, object.name)
	case kindNode:
		return explain.AboutNode(ctx, q, object.name)
	}
	if c.Cluster.missing != nil {
		return nil, c.Cluster.missing
	}
	if object.kind == kindNodeClaim {
		return explain.AboutNodeClaim(ctx, q, object.name)
	}
	return explain.AboutNodePool(ctx, q, object.name)
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
