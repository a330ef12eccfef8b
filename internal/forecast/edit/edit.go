// Package edit compares what happens to a cluster with and without an edit of its objects.
package edit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/drift"
	"github.com/karpenter-anew/karpenter/internal/forecast"
	"github.com/karpenter-anew/karpenter/internal/forecast/report"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// Input is what is compared.
type Input struct {
	// Objects are those of the cluster, Edited the manifests that would be applied to it. They are not changed.
	Objects []client.Object
	Edited  manifest.Manifest
	// Open finds the cloud for objects: those of the cluster, or those of the cluster with the edit.
	Open func(context.Context, []client.Object) (plugin.Opened, error)
	// Options are those of both forecasts, but for DriftedNodeClasses, which concern the edit only.
	Options forecast.Options
}

// Compare forecasts what happens to the nodes of a cluster with and without an edit. opened is the cloud of the cluster, with the notes of both.
func Compare(ctx context.Context, in Input) (d report.Diff, opened plugin.Opened, err error) {
	edited := simulation.WithStatus(in.Objects, in.Edited.Objects)
	changes := changesOf(in.Objects, edited)
	opts := in.Options
	opts.DriftedNodeClasses = nil
	without, opened, err := in.run(ctx, in.Objects, opts)
	if err != nil {
		return d, opened, err
	}
	applied, budgets := withBudgets(simulation.Apply(in.Objects, edited), edited, in.Edited.Objects, changes)
	with, after, err := in.run(ctx, applied, in.Options)
	if err != nil {
		return d, opened, err
	}
	opened.Notes = slices.Concat(opened.Notes, after.Notes)
	slices.Sort(opened.Notes)
	opened.Notes = slices.Compact(opened.Notes)
	return report.Diff{
		Version: report.Version, Kind: "Diff", Edited: changes, Without: report.Of(without), With: report.Of(with),
		Notes: append([]string{}, slices.Concat(in.Edited.Skipped, Uncounted(edited), budgets, unforecast(changes, edited), in.unknownDrift(changes, after.Cloud), in.withoutHash(edited))...),
	}, opened, nil
}

func (in Input) run(ctx context.Context, objects []client.Object, opts forecast.Options) (forecast.Forecast, plugin.Opened, error) {
	opened, err := in.Open(ctx, objects)
	if err != nil {
		return forecast.Forecast{}, opened, err
	}
	out, err := forecast.Run(ctx, opened.Objects, opened.Cloud, opts)
	return out, opened, err
}

// unknownDrift says for which node classes of an edit it is not known whether their nodes drift.
func (in Input) unknownDrift(changes []report.Edit, c cloud.Cloud) []string {
	var out []string
	for _, e := range changes {
		isClass := slices.ContainsFunc(c.NodeClasses, func(class cloud.NodeClass) bool { return class.GVK.Kind == e.Kind })
		if isClass && e.Change == report.Changed && !slices.Contains(in.Options.DriftedNodeClasses, e.Name) {
			out = append(out, fmt.Sprintf("%s %q is edited: whether that makes its nodes drift is not known here, and the forecast assumes that it does not; "+
				"--drift-nodeclass=%s forecasts that it does", e.Kind, e.Name, e.Name))
		}
	}
	return out
}

// withoutHash says which NodeClaims do not tell which template they were launched from, where the edit changes that of their NodePool.
func (in Input) withoutHash(edited []client.Object) []string {
	pools, claims := map[string]*v1.NodePool{}, map[string][]*v1.NodeClaim{}
	for _, o := range in.Objects {
		switch o := o.(type) {
		case *v1.NodePool:
			pools[o.Name] = o
		case *v1.NodeClaim:
			if o.DeletionTimestamp == nil && o.Status.ProviderID != "" {
				claims[o.Labels[v1.NodePoolLabelKey]] = append(claims[o.Labels[v1.NodePoolLabelKey]], o)
			}
		}
	}
	var out []string
	for _, o := range edited {
		pool, before := hashOf(o), hashOf(pools[o.GetName()])
		if pool == nil || before == nil || maps.Equal(before, pool) {
			continue
		}
		without := 0
		for _, claim := range claims[o.GetName()] {
			if !drift.HashesCompare(pool, claim.Annotations) {
				without++
			}
		}
		if without > 0 {
			out = append(out, fmt.Sprintf("NodeClaims of NodePool %q without the annotation %s of version %s: %d of %d; whether the edit of the template makes them drift "+
				"is not known here, and the forecast assumes that it does not", o.GetName(), v1.NodePoolHashAnnotationKey, v1.NodePoolHashVersion,
				without, len(claims[o.GetName()])))
		}
	}
	return out
}

// hashOf are the annotations with the hash of a NodePool; nil for other objects.
func hashOf(o client.Object) map[string]string {
	if pool, ok := o.(*v1.NodePool); ok && pool != nil {
		return simulation.PoolHash(pool)
	}
	return nil
}

// unforecast says what controllers of the cluster would do because of an edit, and the forecast does not: changes are the edits of objects, in
// the same order.
func unforecast(changes []report.Edit, objects []client.Object) []string {
	var out []string
	for i, e := range changes {
		if e.Change == report.Unchanged {
			continue
		}
		switch objects[i].(type) {
		case *appsv1.Deployment, *appsv1.ReplicaSet, *appsv1.StatefulSet, *appsv1.DaemonSet, *corev1.ReplicationController, *batchv1.Job:
			if e.Change != report.Created {
				out = append(out, fmt.Sprintf("%s \"%s/%s\" is applied: existing pods are neither removed nor replaced in the forecast", e.Kind, e.Namespace, e.Name))
			}
		}
	}
	return out
}

// Uncounted are the workloads that run pods at certain times only.
func Uncounted(objects []client.Object) []string {
	var out []string
	for _, o := range objects {
		if job, ok := o.(*batchv1.CronJob); ok {
			out = append(out, fmt.Sprintf("CronJob %q starts Jobs at its times, and no pod of it is counted: describe a Job to see what one needs", job.Name))
		}
	}
	return out
}

// changesOf says which objects of an edit differ from those of the cluster.
func changesOf(cluster, edited []client.Object) []report.Edit {
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
	out.SetResourceVersion(before.GetResourceVersion())
	out.SetManagedFields(before.GetManagedFields())
	out.SetFinalizers(before.GetFinalizers())
	out.SetOwnerReferences(before.GetOwnerReferences())
	out.SetDeletionTimestamp(before.GetDeletionTimestamp())
	out.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	annotations := maps.Clone(before.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, o.GetAnnotations())
	out.SetAnnotations(annotations)
	return out
}
