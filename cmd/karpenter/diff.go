package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/forecast"
	"github.com/karpenter-anew/karpenter/internal/forecast/report"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// diffName is what diffCommand is called on the command line.
const diffName = "diff"

// diffCommand says what an edit does to the nodes of a cluster.
type diffCommand struct {
	Files  repeated      `name:"filename" short:"f" placeholder:"FILE_OR_DIR" help:"File or directory with the edited manifests, - for standard input. Can be given several times."`
	More   []pathArg     `arg:"" optional:"" name:"file_or_dir" help:"More of them, so that -f *.yaml works."`
	Output report.Format `name:"output" short:"o" enum:"text,json,yaml" default:"text" placeholder:"FORMAT" help:"text, json or yaml (${default})."`

	Forecast forecastFlags `embed:""`

	Cluster clusterSource `embed:""`
}

// forecastFlags are the flags of commands that forecast.
type forecastFlags struct {
	At      time.Time     `name:"at" placeholder:"TIME" help:"When the forecast starts, as in 2026-01-02T15:04:05Z; otherwise now."`
	Horizon time.Duration `name:"horizon" default:"168h" placeholder:"DURATION" help:"How far the forecast looks ahead (${default})."`
	Drifted repeated      `name:"drift-nodeclass" placeholder:"NAME" help:"Let the nodes of this node class drift, as after a new image or another change of the class. Can be given several times."`
	Launch  time.Duration `name:"launch-time" placeholder:"DURATION" help:"How long a node takes from the creation of its NodeClaim until it is initialized; otherwise the median of the NodeClaims of the cluster."`
}

// Forecasts begin and end in these years: the nanoseconds of later times exceed 64 bits, and those of NodeClaims do not begin earlier.
const minYear, maxYear = 1970, 2200

func (f forecastFlags) check(start time.Time) error {
	switch {
	case f.Horizon <= 0 || f.Launch < 0:
		return errors.New("--horizon has to be positive, and --launch-time must not be negative")
	case start.Year() < minYear || start.Add(f.Horizon).Year() > maxYear || start.Add(f.Launch).Year() > maxYear:
		return fmt.Errorf("--at, --horizon and --launch-time have to describe a time from %d to %d", minYear, maxYear)
	}
	return nil
}

// unknownDrift says for which node classes of an edit it is not known whether their nodes drift.
func (f forecastFlags) unknownDrift(changes []report.Edit, c cloud.Cloud) []string {
	var out []string
	for _, e := range changes {
		isClass := slices.ContainsFunc(c.NodeClasses, func(class cloud.NodeClass) bool { return class.GVK.Kind == e.Kind })
		if isClass && e.Change == report.Changed && !slices.Contains(f.Drifted, e.Name) {
			out = append(out, fmt.Sprintf("%s %q is edited: whether that makes its nodes drift is not known here, and the forecast assumes that it does not; "+
				"--drift-nodeclass=%s forecasts that it does", e.Kind, e.Name, e.Name))
		}
	}
	return out
}

// unforecast says what controllers of the cluster would do because of an edit, and the forecast does not: changes are the edits of objects, in
// the same order.
func unforecast(changes []report.Edit, objects []client.Object) []string {
	var out []string
	for i, e := range changes {
		if e.Change == report.Unchanged {
			continue
		}
		switch o := objects[i].(type) {
		case *policyv1.PodDisruptionBudget:
			out = append(out, fmt.Sprintf("PodDisruptionBudget \"%s/%s\" is %s: the evictions that it allows are those of its status, %d, and are not computed from its spec",
				e.Namespace, e.Name, e.Change, o.Status.DisruptionsAllowed))
		case *appsv1.Deployment, *appsv1.ReplicaSet, *appsv1.StatefulSet, *appsv1.DaemonSet, *corev1.ReplicationController, *batchv1.Job:
			if e.Change != report.Created {
				out = append(out, fmt.Sprintf("%s \"%s/%s\" is applied: existing pods are neither removed nor replaced in the forecast", e.Kind, e.Namespace, e.Name))
			}
		}
	}
	return out
}

// start is when the forecast starts.
func (f forecastFlags) start() time.Time {
	if f.At.IsZero() {
		return time.Now()
	}
	return f.At
}

func (f forecastFlags) options(policies simulation.Options) forecast.Options {
	return forecast.Options{Options: policies, Horizon: f.Horizon, Launch: f.Launch, DriftedNodeClasses: f.Drifted}
}

func newClusterSource() clusterSource {
	return clusterSource{Settings: planSettings{Place: newPlace()}}
}

// Help is shown above the flags.
func (*diffCommand) Help() string {
	return "Reads a cluster, as karpenter snapshot does, and forecasts what happens to its nodes with and without the edited manifests: which nodes drift " +
		"or are consolidated, which are launched, which pods move, how long that takes under disruption budgets, what blocks it, and what the nodes cost. " +
		"Nothing is written.\n\n" +
		"Exit codes: 0 an answer is printed; 1 invalid flag, or failure; 2 invalid input."
}

// Run implements the subcommand.
func (c *diffCommand) Run(k *kong.Context, s streams) error {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	paths := withArguments(c.Files, c.More)
	switch {
	case len(paths) == 0:
		return codedError{errors.New("nothing to compare: name files or directories with the edited manifests with -f, or - for standard input"), exitUsage}
	case c.Cluster.Snapshot == manifest.Stdin && slices.Contains(paths, manifest.Stdin):
		return codedError{errors.New("standard input can be read once only, as a file or as the snapshot"), exitUsage}
	}
	start := c.Forecast.start()
	if err := c.Forecast.check(start); err != nil {
		return codedError{err, exitUsage}
	}
	held, err := c.Cluster.read(ctx, k, s, diffName)
	if err != nil {
		return err
	}
	edited, err := held.reader.ReadPaths(paths, s.in)
	if err != nil {
		return codedError{err, exitUsage}
	}
	if len(edited.Objects) == 0 {
		return codedError{errors.New("nothing to compare: the files hold no objects that have a bearing on nodes"), exitUsage}
	}
	edited.Objects = simulation.WithStatus(held.objects, edited.Objects)
	changes := edits(held.objects, edited.Objects)
	flags := c.Forecast
	flags.Drifted = nil
	without, opened, err := flags.run(ctx, held, held.objects, start)
	if err != nil {
		return err
	}
	with, after, err := c.Forecast.run(ctx, held, simulation.Apply(held.objects, edited.Objects), start)
	if err != nil {
		return err
	}
	opened.Notes = append(opened.Notes, after.Notes...)
	slices.Sort(opened.Notes)
	opened.Notes = slices.Compact(opened.Notes)
	held.tell(s.err, opened)
	d := report.Diff{
		Version: report.Version, Kind: "Diff", Edited: changes, Without: report.Of(without), With: report.Of(with),
		Notes: append([]string{}, slices.Concat(edited.Skipped, uncounted(edited.Objects), unforecast(changes, edited.Objects), c.Forecast.unknownDrift(changes, after.Cloud))...),
	}
	return report.Write(s.out, d, c.Output)
}

// run forecasts from start what happens to the nodes of the cluster with these objects.
func (f forecastFlags) run(ctx context.Context, held *clusterState, objects []client.Object, start time.Time) (forecast.Forecast, plugin.Opened, error) {
	opened, err := held.open(ctx, objects)
	if err != nil {
		return forecast.Forecast{}, opened, err
	}
	policies := held.policies()
	policies.Now = start
	out, err := forecast.Run(ctx, opened.Objects, opened.Cloud, f.options(policies))
	return out, opened, err
}

// edits says which objects of an edit differ from those of the cluster.
func edits(cluster, edited []client.Object) []report.Edit {
	key := func(o client.Object) string {
		return o.GetObjectKind().GroupVersionKind().GroupKind().String() + " " + o.GetNamespace() + " " + o.GetName()
	}
	there := map[string]client.Object{}
	for _, o := range cluster {
		there[key(o)] = o
	}
	out := []report.Edit{}
	for _, o := range edited {
		e := report.Edit{Kind: o.GetObjectKind().GroupVersionKind().Kind, Namespace: o.GetNamespace(), Name: o.GetName(), Change: report.Changed}
		switch before, ok := there[key(o)]; {
		case !ok:
			e.Change = report.Created
		case equality.Semantic.DeepEqual(before, stored(o, before)):
			e.Change = report.Unchanged
		case !strings.Contains(o.GetObjectKind().GroupVersionKind().Group, "karpenter"):
			e.Change = report.Applied
		}
		out = append(out, e)
	}
	return out
}

// stored is a manifest with what the API server adds to it, and with the annotations of others.
func stored(o, before client.Object) client.Object {
	out := o.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of the object
	out.SetUID(before.GetUID())
	out.SetGeneration(before.GetGeneration())
	out.SetCreationTimestamp(before.GetCreationTimestamp())
	annotations := maps.Clone(before.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, o.GetAnnotations())
	out.SetAnnotations(annotations)
	return out
}
