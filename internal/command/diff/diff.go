// Package diff is karpenter diff.
package diff

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
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/command/source"
	"github.com/karpenter-anew/karpenter/internal/forecast"
	"github.com/karpenter-anew/karpenter/internal/forecast/report"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// name is what the command is called on the command line.
const name = "diff"

// Command says what an edit does to the nodes of a cluster.
type Command struct {
	Files  command.Repeated  `name:"filename" short:"f" placeholder:"FILE_OR_DIR" help:"File or directory with the edited manifests, - for standard input. Can be given several times."`
	More   []command.PathArg `arg:"" optional:"" name:"file_or_dir" help:"More of them, so that -f *.yaml works."`
	Output report.Format     `name:"output" short:"o" enum:"text,json,yaml" default:"text" placeholder:"FORMAT" help:"text, json or yaml (${default})."`

	Forecast source.Forecast `embed:""`

	Cluster source.Cluster `embed:""`
}

// New returns the command with the flags of all providers.
func New(b command.Binary) Command { return Command{Cluster: source.NewCluster(b)} }

// unknownDrift says for which node classes of an edit it is not known whether their nodes drift.
func unknownDrift(f source.Forecast, changes []report.Edit, c cloud.Cloud) []string {
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

// Help is shown above the flags.
func (*Command) Help() string {
	return "Reads a cluster, as karpenter snapshot does, and forecasts what happens to its nodes with and without the edited manifests: which nodes drift " +
		"or are consolidated, which are launched, which pods move, how long that takes under disruption budgets, what blocks it, and what the nodes cost. " +
		"Nothing is written.\n\n" +
		"Exit codes: 0 an answer is printed; 1 failure; 2 invalid command line or input."
}

// Run implements the subcommand.
func (c *Command) Run(k *kong.Context, b command.Binary, s command.Streams) error {
	ctx, stop := command.UntilSignal(context.Background())
	defer stop()
	paths := command.Paths(c.Files, c.More)
	switch {
	case len(paths) == 0:
		return command.WithCode(errors.New("nothing to compare: name files or directories with the edited manifests with -f, or - for standard input"), command.ExitUsage)
	case c.Cluster.Snapshot == manifest.Stdin && slices.Contains(paths, manifest.Stdin):
		return command.WithCode(errors.New("standard input can be read once only, as a file or as the snapshot"), command.ExitUsage)
	}
	start := c.Forecast.Start(b.Now())
	if err := c.Forecast.Check(start); err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	held, err := c.Cluster.Read(ctx, k, s, name)
	if err != nil {
		return err
	}
	edited, err := held.Reader.ReadPaths(paths, s.In)
	if err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	if len(edited.Objects) == 0 {
		return command.WithCode(errors.New("nothing to compare: the files hold no objects that have a bearing on nodes"), command.ExitUsage)
	}
	edited.Objects = simulation.WithStatus(held.Objects, edited.Objects)
	changes := edits(held.Objects, edited.Objects)
	flags := c.Forecast
	flags.Drifted = nil
	without, opened, err := forecastOf(ctx, flags, held, held.Objects, start)
	if err != nil {
		return err
	}
	with, after, err := forecastOf(ctx, c.Forecast, held, simulation.Apply(held.Objects, edited.Objects), start)
	if err != nil {
		return err
	}
	opened.Notes = append(opened.Notes, after.Notes...)
	slices.Sort(opened.Notes)
	opened.Notes = slices.Compact(opened.Notes)
	held.Tell(s.Err, opened)
	d := report.Diff{
		Version: report.Version, Kind: "Diff", Edited: changes, Without: report.Of(without), With: report.Of(with),
		Notes: append([]string{}, slices.Concat(edited.Skipped, source.Uncounted(edited.Objects), unforecast(changes, edited.Objects), unknownDrift(c.Forecast, changes, after.Cloud))...),
	}
	return report.Write(s.Out, d, c.Output)
}

// forecastOf forecasts from start what happens to the nodes of the cluster with these objects.
func forecastOf(ctx context.Context, f source.Forecast, held *source.State, objects []client.Object, start time.Time) (forecast.Forecast, plugin.Opened, error) {
	opened, err := held.Open(ctx, objects)
	if err != nil {
		return forecast.Forecast{}, opened, err
	}
	policies := held.Policies()
	policies.Now = start
	out, err := forecast.Run(ctx, opened.Objects, opened.Cloud, f.Options(policies))
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
