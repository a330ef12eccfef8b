// Package explain is karpenter explain.
package explain

import (
	"context"
	"errors"
	"time"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/command/source"
	"github.com/karpenter-anew/karpenter/internal/explain"
)

// Name is what the command is called on the command line.
const Name = "explain"

// Command says why objects are as they are.
type Command struct {
	Pod       podCommand       `cmd:"" aliases:"pods,po" help:"Is the pod bound, nominated, waiting, or unschedulable? What blocks it, and what would help?"`
	Node      nodeCommand      `cmd:"" aliases:"nodes,no" help:"Would the node be disrupted, for which reason, and what blocks it?"`
	NodeClaim nodeClaimCommand `cmd:"" name:"nodeclaim" aliases:"nodeclaims,nc" help:"The same for the node of a NodeClaim."`
	NodePool  nodePoolCommand  `cmd:"" name:"nodepool" aliases:"nodepools,np" help:"Can it launch nodes? What is its usage, what do budgets allow, which nodes can be disrupted, and what blocks the others?"`
	Objects   objectsCommand   `cmd:"" name:"objects" default:"withargs" hidden:"" help:"Objects as KIND/NAME."`

	Namespace     string         `name:"namespace" short:"n" placeholder:"NAMESPACE" help:"Namespace of pods and workloads; otherwise that of the context of the kubeconfig, or default."`
	AllNamespaces bool           `name:"all-namespaces" short:"A" help:"Look for pods and workloads of the names in all namespaces."`
	Output        command.Output `name:"output" short:"o" default:"text" complete:"text,table,wide,json,yaml,name" placeholder:"FORMAT" help:"text, table, wide, json, yaml, name, or jsonpath=TEMPLATE (${default})."`
	Watch         bool           `name:"watch" short:"w" help:"Print the answer again whenever it changes, until Ctrl-C."`
	Interval      time.Duration  `name:"interval" default:"10s" placeholder:"DURATION" help:"With --watch, the time between two readings of the cluster (${default})."`

	Cluster source.Cluster `embed:""`
}

// New returns the command with the flags of all providers.
func New(b command.Binary) Command { return Command{Cluster: source.NewCluster(b)} }

// Help is shown above the flags.
func (*Command) Help() string {
	return "Reads a cluster, as karpenter snapshot does, and explains for some objects what karpenter simulate shows for all. Read-only. " +
		"Settings that no flag sets are those that the controller has published in the cluster.\n\n" +
		"Objects are named as for kubectl: pod NAME, pod/NAME, or several of them. Plurals and short names such as po, no, nc, np and deploy are known. The pods of a " +
		"workload, such as deployment/NAME, are grouped by answer.\n\n" +
		"Exit codes: 0 an answer is printed; 1 failure; 2 invalid command line or input; 3 an object does not exist."
}

// podCommand explains pods.
type podCommand struct {
	Names []objectName `arg:"" name:"name" help:"The pods."`
}

// Run implements the subcommand.
func (c *podCommand) Run(about *Command, k *kong.Context, b command.Binary, s command.Streams) error {
	return about.answer(k, b, s, kindPod, c.Names)
}

// nodeCommand explains nodes.
type nodeCommand struct {
	Names []objectName `arg:"" name:"name" help:"The nodes."`
}

// Run implements the subcommand.
func (c *nodeCommand) Run(about *Command, k *kong.Context, b command.Binary, s command.Streams) error {
	return about.answer(k, b, s, kindNode, c.Names)
}

// nodeClaimCommand explains the nodes of NodeClaims.
type nodeClaimCommand struct {
	Names []objectName `arg:"" name:"name" help:"The NodeClaims."`
}

// Run implements the subcommand.
func (c *nodeClaimCommand) Run(about *Command, k *kong.Context, b command.Binary, s command.Streams) error {
	return about.answer(k, b, s, kindNodeClaim, c.Names)
}

// nodePoolCommand explains NodePools.
type nodePoolCommand struct {
	Names []objectName `arg:"" name:"name" help:"The NodePools."`
}

// Run implements the subcommand.
func (c *nodePoolCommand) Run(about *Command, k *kong.Context, b command.Binary, s command.Streams) error {
	return about.answer(k, b, s, kindNodePool, c.Names)
}

// objectsCommand explains objects of any kind, named as KIND/NAME.
type objectsCommand struct {
	Objects []objectName `arg:"" optional:"" name:"kind/name" help:"The objects."`
}

// Run implements the subcommand.
func (c *objectsCommand) Run(about *Command, k *kong.Context, b command.Binary, s command.Streams) error {
	return about.answer(k, b, s, "", c.Objects)
}

// answer prints what there is to say about objects of a kind; of an empty kind, the names say which.
func (c *Command) answer(k *kong.Context, b command.Binary, s command.Streams, kind objectKind, names []objectName) error {
	about, err := objectsNamed(kind, names)
	if err == nil {
		err = errors.Join(c.checkWatch(), c.checkNamespace())
	}
	if err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	ctx, stop := command.UntilSignal(context.Background())
	defer stop()
	if c.Watch {
		w := watcher{interval: c.Interval, binary: b}
		return w.run(ctx, s, func(s command.Streams) error { return c.once(ctx, k, s, about) })
	}
	return c.once(ctx, k, s, about)
}

// once reads the cluster and prints the answers.
func (c *Command) once(ctx context.Context, k *kong.Context, s command.Streams, about []namedObject) error {
	q, err := c.question(ctx, k, s)
	if err != nil {
		return err
	}
	namespace, err := c.namespace()
	if err != nil {
		return err
	}
	about = c.inNamespaces(about, namespace, q.Objects)
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
	if len(answers.Items) > 0 {
		paint := plain
		if s.Color {
			paint = painted
		}
		if err := write(s.Out, c.Output, answers, len(about) == 1, paint); err != nil {
			return err
		}
	}
	if len(absent) > 0 {
		if c.Cluster.Redacted(q.Objects) {
			absent = append(absent, errors.New("the snapshot is redacted, so its names are pseudonyms: karpenter top --snapshot FILE shows them"))
		}
		return command.WithCode(errors.Join(absent...), command.ExitNotFound)
	}
	return nil
}

// ask explains one object.
func (c *Command) ask(ctx context.Context, q explain.Question, object namedObject) (explain.Answer, error) {
	switch object.kind {
	case kindPod:
		return explain.AboutPod(ctx, q, object.namespace, object.name)
	case kindNode:
		return explain.AboutNode(ctx, q, object.name)
	case kindNodeClaim, kindNodePool:
	default:
		return explain.AboutWorkload(ctx, q, object.kind.workload(), object.namespace, object.name)
	}
	if err := c.Cluster.Missing(); err != nil {
		return nil, err
	}
	if object.kind == kindNodeClaim {
		return explain.AboutNodeClaim(ctx, q, object.name)
	}
	return explain.AboutNodePool(ctx, q, object.name)
}

// question gathers the objects of the cluster.
func (c *Command) question(ctx context.Context, k *kong.Context, s command.Streams) (explain.Question, error) {
	held, err := c.Cluster.Read(ctx, k, s, Name)
	if err != nil {
		return explain.Question{}, err
	}
	opened, err := held.Open(ctx, held.Objects)
	if err != nil {
		return explain.Question{}, err
	}
	held.Tell(s.Err, opened)
	return explain.Question{Objects: opened.Objects, Cloud: opened.Cloud, Options: held.Policies()}, nil
}
