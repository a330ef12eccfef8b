package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/explain"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/internal/snapshot"
)

// explainName is what explainCommand is called on the command line.
const explainName = "explain"

// explainCommand says why one object is as it is.
type explainCommand struct {
	Pod      explainPod      `cmd:"" help:"Is the pod bound, nominated, waiting, or unschedulable? What blocks it, and what would help?"`
	Node     explainNode     `cmd:"" help:"Would the node be disrupted, for which reason, and what blocks it?"`
	NodePool explainNodePool `cmd:"" name:"nodepool" help:"Can it launch nodes? What is its usage, what do budgets allow, which nodes can be disrupted, and what blocks the others?"`

	Kubeconfig string         `name:"kubeconfig" placeholder:"FILE" help:"Kubeconfig file; otherwise $KUBECONFIG, then the in-cluster configuration, then ~/.kube/config."`
	Snapshot   string         `name:"snapshot" placeholder:"FILE" help:"Snapshot of a cluster, from karpenter snapshot, instead of a live cluster; - for standard input."`
	Output     explain.Format `name:"output" short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json (${default})."`

	Settings planSettings `embed:""`

	// missing says that the kinds of Karpenter are not installed in the cluster; nil if they are.
	missing error
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
		if about.missing != nil {
			return nil, about.missing
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

// question gathers the objects of the cluster. Those of a live one take the same way as those of a file.
func (c *explainCommand) question(ctx context.Context, k *kong.Context, s streams) (explain.Question, error) {
	if err := c.Settings.Place.check(); err != nil {
		return explain.Question{}, codedError{err, exitUsage}
	}
	definitions, err := c.Settings.Place.definitions()
	if err != nil {
		return explain.Question{}, err
	}
	reader, err := manifest.NewReader(definitions, schemes()...)
	if err != nil {
		return explain.Question{}, err
	}
	held, why, err := c.cluster(ctx, reader, s)
	if err != nil {
		return explain.Question{}, err
	}
	origin, err := c.Settings.adopt(k, held.Objects)
	if err != nil {
		return explain.Question{}, codedError{err, exitUsage}
	}
	origin.why = why
	opened, err := c.Settings.Place.cloudFor(held.Objects, asTaken)
	if err != nil {
		return explain.Question{}, codedError{origin.failed(err), exitUsage}
	}
	_, _ = fmt.Fprintf(s.err, "karpenter explain: %s\n", origin.line(opened.Source))
	opened.Notes = append(opened.Notes, unlistedNodes(ctx, opened)...)
	if opened.PlanNotes != nil {
		opened.Notes = append(opened.Notes, opened.PlanNotes(nil)...)
	}
	if c.missing != nil {
		opened.Notes = append(opened.Notes, c.missing.Error())
	}
	for _, note := range opened.Notes {
		_, _ = fmt.Fprintf(s.err, "karpenter explain: note: %s\n", note)
	}
	if err := simulation.Unreadable(opened.Objects); err != nil {
		_, _ = fmt.Fprintf(s.err, "karpenter explain: note: ignoring objects that cannot be read: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	policies := c.Settings.simulation()
	policies.Now = time.Now()
	return explain.Question{Objects: opened.Objects, Cloud: opened.Cloud, Options: policies}, nil
}

// cluster reads the objects of the live cluster or the snapshot. why says why there may be no settings of a controller among them.
func (c *explainCommand) cluster(ctx context.Context, reader *manifest.Reader, s streams) (held manifest.Manifest, why string, err error) {
	if c.Snapshot != "" {
		if held, err = snapshot.Read(reader, c.Snapshot, s.in); err != nil {
			return held, "", codedError{err, exitUsage}
		}
		return held, noneInSnapshot, nil
	}
	taken, err := capture(ctx, c.Kubeconfig, c.Settings.ControllerNamespace, "karpenter-explain")
	if err != nil {
		return held, "", err
	}
	c.missing = installed(taken.Absent)
	var text bytes.Buffer
	if err := taken.Write(&text); err != nil {
		return held, "", err
	}
	if len(taken.Forbidden) > 0 {
		why = noPermission
	}
	held, err = reader.Read("cluster", &text)
	return held, why, err
}

// installed returns an error if the kinds that a cluster does not serve include those without which no object of Karpenter can exist: an object
// that is not found would mislead.
func installed(absent []string) error {
	for _, kind := range []string{"NodePool", "NodeClaim"} {
		if slices.Contains(absent, kind) {
			return fmt.Errorf("the cluster does not serve objects of kind %s: apply the CustomResourceDefinitions of the Helm chart karpenter-crd", kind)
		}
	}
	return nil
}
