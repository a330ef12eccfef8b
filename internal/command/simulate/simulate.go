// Package simulate is karpenter simulate.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/alecthomas/kong"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/command/source"
	"github.com/karpenter-anew/karpenter/internal/forecast"
	"github.com/karpenter-anew/karpenter/internal/forecast/edit"
	forecastreport "github.com/karpenter-anew/karpenter/internal/forecast/report"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/internal/simulation/report"
	"github.com/karpenter-anew/karpenter/internal/snapshot"
)

// Command shows what would be done about objects in files.
type Command struct {
	Files    command.Repeated  `name:"filename" short:"f" placeholder:"FILE_OR_DIR" help:"File or directory with manifests, - for standard input. Can be given several times."`
	More     []command.PathArg `arg:"" optional:"" name:"file_or_dir" help:"More of them, so that -f *.yaml works."`
	Snapshot string            `name:"snapshot" placeholder:"FILE" help:"Snapshot of a cluster, from karpenter snapshot; - for standard input. Files are applied to it."`
	Output   command.Output    `name:"output" short:"o" default:"table" complete:"table,json,yaml" placeholder:"FORMAT" help:"table, json, yaml, or jsonpath=TEMPLATE (${default})."`

	Disruption bool            `name:"disruption" help:"Forecast what happens to the existing nodes, too: drift and consolidation under disruption budgets."`
	Forecast   source.Forecast `embed:""`

	Settings source.Settings `embed:""`
}

// New returns the command with the flags of all providers.
func New(b command.Binary) Command { return Command{Settings: source.NewSettings(b)} }

// Help is shown above the flags.
func (*Command) Help() string {
	return "Reads NodePools, node classes, pods, workloads (Deployment, ReplicaSet, StatefulSet, DaemonSet, Job), nodes and what belongs to them, and prints " +
		"the nodes that would be launched, where the pods go, and why pods do not fit. No cluster, no credentials, no network. " +
		"With --snapshot, they are applied to the snapshot of a cluster, and settings that no flag sets are those that its controller has published.\n\n" +
		"Exit codes: 0 every pod fits; 1 failure; 2 invalid command line or input, with file, line and field; 3 some pods do not fit."
}

// Run implements the subcommand.
func (c *Command) Run(k *kong.Context, b command.Binary, s command.Streams) error {
	// Mistakes in the flags come before those in the input.
	start := c.Forecast.Start(b.Now())
	if err := errors.Join(c.Settings.Place.Check(), c.Forecast.Check(start)); err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	in, err := c.read(k, s)
	if err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	// Now stays zero: results that depend on the time cannot be compared.
	result, err := simulation.Run(context.Background(), in.objects, in.cloud, c.Settings.Simulation())
	if err != nil {
		return err
	}
	in.extras.DisruptionForecast = c.Disruption
	r := report.Build(result, in.extras)
	if err := c.write(s.Out, r, in, start); err != nil {
		return err
	}
	switch n := r.Unplaced(); n {
	case 0:
		return nil
	case 1:
		return command.WithCode(errors.New("1 pod does not fit"), command.ExitUnplaced)
	default:
		return command.WithCode(fmt.Errorf("%d pods do not fit", n), command.ExitUnplaced)
	}
}

// disruptedReport is a report with a forecast for the existing nodes.
type disruptedReport struct {
	report.Report
	Disruption forecastreport.Forecast `json:"disruption"`
}

// Text is the forecast as text.
func (r disruptedReport) Text() string { return r.Disruption.Text() }

// write writes the report, and the forecast from start if it is asked for.
func (c *Command) write(to io.Writer, r report.Report, in input, start time.Time) error {
	if !c.Disruption {
		return r.Write(to, report.Format(c.Output))
	}
	policies := c.Settings.Simulation()
	policies.Now = start
	f, err := forecast.Run(context.Background(), in.objects, in.cloud, c.Forecast.Options(policies))
	if err != nil {
		return err
	}
	shown := disruptedReport{r, forecastreport.Of(f)}
	if c.Output != command.OutputTable {
		return forecastreport.Write(to, shown, forecastreport.Format(c.Output))
	}
	if err := r.Write(to, report.Format(c.Output)); err != nil {
		return err
	}
	_, err = io.WriteString(to, "\n"+shown.Text())
	return err
}

// input is what a simulation is about.
type input struct {
	objects []client.Object
	cloud   cloud.Cloud
	extras  report.Extras
}

// read collects the objects of all files, and of the cluster to which they are applied. Missing objects are assumed, unless
// there is a cluster to read.
func (c *Command) read(k *kong.Context, s command.Streams) (input, error) {
	paths := command.Paths(c.Files, c.More)
	if len(paths) == 0 && c.Snapshot == "" {
		return input{}, errors.New("nothing to read: name files or directories with -f, or - for standard input, or a snapshot with --snapshot")
	}
	if c.Snapshot == manifest.Stdin && slices.Contains(paths, manifest.Stdin) {
		return input{}, errors.New("standard input can be read once only, as a file or as the snapshot")
	}
	reader, err := c.Settings.Place.Reader()
	if err != nil {
		return input{}, err
	}
	var held snapshot.Content
	if c.Snapshot != "" {
		if held, err = source.ReadSnapshot(reader, c.Snapshot, s.In); err != nil {
			return input{}, err
		}
	}
	m, err := reader.Updating(held.Objects).ReadPaths(paths, s.In)
	if err != nil {
		return input{}, err
	}
	skipped := slices.Concat(held.Skipped, m.Skipped)
	if len(held.Objects)+len(m.Objects) == 0 {
		if len(skipped) > 0 {
			return input{}, fmt.Errorf("the input holds nothing that has a bearing on scheduling; it begins with %s", skipped[0])
		}
		return input{}, errors.New("the input holds no objects")
	}
	extras := report.Extras{SkippedObjects: skipped}
	complete := func(objects []client.Object, vendor cloud.Cloud) []client.Object {
		objects, classes := simulation.AssumeNodeClasses(objects, vendor)
		objects, storage := simulation.AssumeStorageClasses(objects)
		extras.Assumed = append(classes, storage...)
		return objects
	}
	objects := m.Objects
	var origin *source.Origin
	if c.Snapshot != "" {
		objects, complete = simulation.Apply(held.Objects, m.Objects), source.AsTaken
		if origin, err = c.Settings.Adopt(k, objects, source.NoneInSnapshot); err != nil {
			return input{}, err
		}
	} else {
		objects = manifest.Expand(objects)
	}
	opened, err := c.Settings.Place.CloudFor(objects, complete)
	if err != nil {
		return input{}, origin.Failed(err)
	}
	if origin != nil {
		extras.Settings = origin.Line(opened.Source)
		opened.Notes = append(opened.Notes, source.UnlistedNodes(context.Background(), opened)...)
		if slices.Contains(held.Forbidden, snapshot.Policies) || c.Settings.Simulation().OperationsPolicies { // the result names those that are not considered
			opened.Notes = append(opened.Notes, c.Settings.PolicyNotes(objects, true, held.Forbidden)...)
		}
		opened.Notes = append(opened.Notes, held.Notes()...)
	}
	extras.Notes, extras.PlanNotes = slices.Concat(c.assumptions(objects, origin), opened.Notes, c.Settings.UnpredictedDevices(opened), edit.Uncounted(m.Objects), simulation.Unadmitted(m.Objects, opened.Objects)), opened.PlanNotes
	return input{opened.Objects, opened.Cloud, extras}, nil
}

// assumptions are what is assumed about the controller where no settings are known, and what the plan leaves out.
func (c *Command) assumptions(objects []client.Object, origin *source.Origin) []string {
	var out []string
	if assumed := c.Settings.AssumedGates(objects); assumed != "" && origin == nil { // the line of an origin says it
		out = append(out, assumed)
	}
	if !c.Disruption {
		out = append(out, simulation.UnplannedReplicas(objects)...)
	}
	return out
}
