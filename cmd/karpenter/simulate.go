package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/alecthomas/kong"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/forecast"
	forecastreport "github.com/karpenter-anew/karpenter/internal/forecast/report"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/internal/simulation/report"
	"github.com/karpenter-anew/karpenter/internal/snapshot"
)

// simulateCommand shows what would be done about objects in files.
type simulateCommand struct {
	Files    repeated      `name:"filename" short:"f" placeholder:"FILE_OR_DIR" help:"File or directory with manifests, - for standard input. Can be given several times."`
	More     []pathArg     `arg:"" optional:"" name:"file_or_dir" help:"More of them, so that -f *.yaml works."`
	Snapshot string        `name:"snapshot" placeholder:"FILE" help:"Snapshot of a cluster, from karpenter snapshot; - for standard input. Files are applied to it."`
	Output   report.Format `name:"output" short:"o" enum:"table,json,yaml" default:"table" placeholder:"FORMAT" help:"table, json or yaml (${default})."`

	Disruption bool          `name:"disruption" help:"Forecast what happens to the existing nodes, too: drift and consolidation under disruption budgets."`
	Forecast   forecastFlags `embed:""`

	Settings planSettings `embed:""`
}

// repeated is a flag that can be given several times, each with one value: a comma is part of it.
type repeated []string

// Decode implements kong.MapperValue.
func (p *repeated) Decode(ctx *kong.DecodeContext) error {
	var path string
	if err := ctx.Scan.PopValueInto(ctx.Value.Name, &path); err != nil {
		return err
	}
	*p = append(*p, path)
	return nil
}

// pathArg is one of several paths without a flag. A list of plain strings would be one argument with commas.
type pathArg string

// withArguments are the paths of flags and those of arguments.
func withArguments(flags repeated, args []pathArg) []string {
	out := slices.Clone([]string(flags))
	for _, arg := range args {
		out = append(out, string(arg))
	}
	return out
}

// Help is shown above the flags.
func (*simulateCommand) Help() string {
	return "Reads NodePools, node classes, pods, workloads (Deployment, ReplicaSet, StatefulSet, DaemonSet, Job), nodes and what belongs to them, and prints " +
		"the nodes that would be launched, where the pods go, and why pods do not fit. No cluster, no credentials, no network. " +
		"With --snapshot, they are applied to the snapshot of a cluster, and settings that no flag sets are those that its controller has published.\n\n" +
		"Exit codes: 0 every pod fits; 1 invalid flag, or failure; 2 invalid input, with file, line and field; 3 some pods do not fit."
}

// Run implements the subcommand.
func (c *simulateCommand) Run(k *kong.Context, s streams) error {
	// Mistakes in the flags come before those in the input.
	if err := errors.Join(c.Settings.Place.check(), c.Forecast.check(c.Forecast.start())); err != nil {
		return err
	}
	in, err := c.read(k, s)
	if err != nil {
		return codedError{err, exitUsage}
	}
	// Now stays zero: results that depend on the time cannot be compared.
	result, err := simulation.Run(context.Background(), in.objects, in.cloud, c.Settings.simulation())
	if err != nil {
		return err
	}
	in.extras.DisruptionForecast = c.Disruption
	r := report.Build(result, in.extras)
	if err := c.write(s.out, r, in); err != nil {
		return err
	}
	switch n := r.Unplaced(); n {
	case 0:
		return nil
	case 1:
		return codedError{errors.New("1 pod does not fit"), exitUnplaced}
	default:
		return codedError{fmt.Errorf("%d pods do not fit", n), exitUnplaced}
	}
}

// disruptedReport is a report with a forecast for the existing nodes.
type disruptedReport struct {
	report.Report
	Disruption forecastreport.Forecast `json:"disruption"`
}

// Text is the forecast as text.
func (r disruptedReport) Text() string { return r.Disruption.Text() }

// write writes the report, and the forecast if it is asked for.
func (c *simulateCommand) write(to io.Writer, r report.Report, in input) error {
	if !c.Disruption {
		return r.Write(to, c.Output)
	}
	policies := c.Settings.simulation()
	policies.Now = c.Forecast.start()
	f, err := forecast.Run(context.Background(), in.objects, in.cloud, c.Forecast.options(policies))
	if err != nil {
		return err
	}
	shown := disruptedReport{r, forecastreport.Of(f)}
	if c.Output != report.Table {
		return forecastreport.Write(to, shown, forecastreport.Format(c.Output))
	}
	if err := r.Write(to, c.Output); err != nil {
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
func (c *simulateCommand) read(k *kong.Context, s streams) (input, error) {
	paths := withArguments(c.Files, c.More)
	if len(paths) == 0 && c.Snapshot == "" {
		return input{}, errors.New("nothing to read: name files or directories with -f, or - for standard input, or a snapshot with --snapshot")
	}
	if c.Snapshot == manifest.Stdin && slices.Contains(paths, manifest.Stdin) {
		return input{}, errors.New("standard input can be read once only, as a file or as the snapshot")
	}
	definitions, err := c.Settings.Place.definitions()
	if err != nil {
		return input{}, err
	}
	reader, err := manifest.NewReader(definitions, schemes()...)
	if err != nil {
		return input{}, err
	}
	var held manifest.Manifest
	if c.Snapshot != "" {
		if held, err = snapshot.Read(reader, c.Snapshot, s.in); err != nil {
			return input{}, err
		}
	}
	m, err := reader.ReadPaths(paths, s.in)
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
	var origin *settingsOrigin
	if c.Snapshot != "" {
		objects, complete = simulation.Apply(held.Objects, m.Objects), asTaken
		if origin, err = c.Settings.adopt(k, held.Objects); err != nil {
			return input{}, err
		}
		origin.why = noneInSnapshot
	} else {
		objects = manifest.Expand(objects)
	}
	opened, err := c.Settings.Place.cloudFor(objects, complete)
	if err != nil {
		return input{}, origin.failed(err)
	}
	if origin != nil {
		extras.Settings = origin.line(opened.Source)
		opened.Notes = append(opened.Notes, unlistedNodes(context.Background(), opened)...)
	}
	extras.Notes, extras.PlanNotes = slices.Concat(opened.Notes, c.Settings.unpredictedDevices(opened), uncounted(m.Objects)), opened.PlanNotes
	return input{opened.Objects, opened.Cloud, extras}, nil
}

// uncounted are the workloads that run pods at certain times only.
func uncounted(objects []client.Object) []string {
	var out []string
	for _, o := range objects {
		if job, ok := o.(*batchv1.CronJob); ok {
			out = append(out, fmt.Sprintf("CronJob %q starts Jobs at its times, and no pod of it is counted: describe a Job to see what one needs", job.Name))
		}
	}
	return out
}

// asTaken assumes nothing: an object that a cluster does not have is missing.
func asTaken(objects []client.Object, _ cloud.Cloud) []client.Object { return objects }
