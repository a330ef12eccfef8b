package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/internal/explain"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/options"
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

	PreferencePolicy  options.PreferencePolicy `name:"preference-policy" envvar:"PREFERENCE_POLICY" default:"Respect" help:"Whether soft affinities count: Respect or Ignore."`
	MinValuesPolicy   options.MinValuesPolicy  `name:"min-values-policy" envvar:"MIN_VALUES_POLICY" default:"Strict" help:"When minValues cannot be met, fail (Strict) or relax (BestEffort)."`
	SchedulerConfig   options.SchedulerConfig  `name:"scheduler-config" envvar:"SCHEDULER_CONFIG" placeholder:"YAML" help:"Scheduler configuration as YAML or JSON text: podTopologySpread.defaultConstraints."`
	IgnoreDRARequests bool                     `name:"ignore-dra-requests" envvar:"IGNORE_DRA_REQUESTS" default:"true" help:"Reject pods with resource claims (${default}); =false allocates devices to them."`
	FeatureGates      options.FeatureGates     `name:"feature-gates" envvar:"FEATURE_GATES" default:"ReservedCapacity=true" placeholder:"GATE=BOOL,..." help:"Feature gates of the controller; only ReservedCapacity and SpotToSpotConsolidation matter."`

	Place place `embed:""`
}

// Help is shown above the flags.
func (*explainCommand) Help() string {
	return "Reads a cluster, as karpenter snapshot does, and explains for one object what karpenter simulate shows for all. Read-only. " +
		"The settings of the controller are not part of a cluster: give the flags that the controller has.\n\n" +
		"Exit codes: 0 an answer is printed; 1 failure; 2 invalid command line or input; 3 the object does not exist."
}

// explainPod explains a pod.
type explainPod struct {
	Name      string `arg:"" help:"The pod."`
	Namespace string `name:"namespace" short:"n" default:"default" help:"Its namespace (${default})."`
}

// Run implements the subcommand.
func (c *explainPod) Run(about *explainCommand, s streams) error {
	return about.answer(s, func(ctx context.Context, q explain.Question) (explain.Answer, error) {
		return explain.AboutPod(ctx, q, c.Namespace, c.Name)
	})
}

// explainNode explains a node.
type explainNode struct {
	Name string `arg:"" help:"The node."`
}

// Run implements the subcommand.
func (c *explainNode) Run(about *explainCommand, s streams) error {
	return about.answer(s, func(ctx context.Context, q explain.Question) (explain.Answer, error) {
		return explain.AboutNode(ctx, q, c.Name)
	})
}

// explainNodePool explains a NodePool.
type explainNodePool struct {
	Name string `arg:"" help:"The NodePool."`
}

// Run implements the subcommand.
func (c *explainNodePool) Run(about *explainCommand, s streams) error {
	return about.answer(s, func(ctx context.Context, q explain.Question) (explain.Answer, error) {
		return explain.AboutNodePool(ctx, q, c.Name)
	})
}

// answer prints what ask has to say about the cluster.
func (c *explainCommand) answer(s streams, ask func(context.Context, explain.Question) (explain.Answer, error)) error {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	q, err := c.question(ctx, s)
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
func (c *explainCommand) question(ctx context.Context, s streams) (explain.Question, error) {
	if err := c.Place.check(); err != nil {
		return explain.Question{}, codedError{err, exitUsage}
	}
	definitions, err := c.Place.definitions()
	if err != nil {
		return explain.Question{}, err
	}
	reader, err := manifest.NewReader(definitions, schemes()...)
	if err != nil {
		return explain.Question{}, err
	}
	var held manifest.Manifest
	if c.Snapshot != "" {
		held, err = snapshot.Read(reader, c.Snapshot, s.in)
		if err != nil {
			return explain.Question{}, codedError{err, exitUsage}
		}
	} else {
		taken, err := capture(ctx, c.Kubeconfig, "karpenter-explain")
		if err != nil {
			return explain.Question{}, err
		}
		var text bytes.Buffer
		if err := taken.Write(&text); err != nil {
			return explain.Question{}, err
		}
		if held, err = reader.Read("cluster", &text); err != nil {
			return explain.Question{}, err
		}
	}
	opened, err := c.Place.cloudFor(held.Objects, asTaken)
	if err != nil {
		return explain.Question{}, codedError{err, exitUsage}
	}
	for _, note := range opened.Notes {
		_, _ = fmt.Fprintf(s.err, "karpenter explain: note: %s\n", note)
	}
	if err := simulation.Unreadable(opened.Objects); err != nil {
		_, _ = fmt.Fprintf(s.err, "karpenter explain: note: ignoring objects that cannot be read: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return explain.Question{
		Objects: opened.Objects,
		Cloud:   opened.Cloud,
		Options: simulation.Options{
			IgnorePreferences:   c.PreferencePolicy == options.PreferenceIgnore,
			BestEffortMinValues: c.MinValuesPolicy == options.MinValuesBestEffort,
			AllocateDevices:     !c.IgnoreDRARequests,
			DefaultSpread:       c.SchedulerConfig.DefaultConstraints(),
			SpotToSpot:          c.FeatureGates.SpotToSpotConsolidation,
			IgnoreReservations:  !c.FeatureGates.ReservedCapacity,
			Now:                 time.Now(),
		},
	}, nil
}
