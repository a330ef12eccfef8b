package snapshot

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// page is how many objects are requested at a time, so that neither side has a large cluster in memory twice.
const page = 500

// The kinds that roles for the commands may not have: the first two are optional in a cluster, and Settings are the ConfigMaps with the settings of
// the controller.
const (
	Policies = "OperationsPolicy"
	Plans    = "DisruptionPlan"
	Settings = "ConfigMap"
)

// Capture captures a snapshot of a cluster. Kinds are read one after the other, and the cluster changes meanwhile: an object
// may refer to one that was created or deleted in between. The settings of the controller are read in one namespace, or in all if it is
// empty; it is no error if the caller may not list them, OperationsPolicies or DisruptionPlans.
func (f *Format) Capture(ctx context.Context, cluster client.Reader, settingsNamespace string) (Snapshot, error) {
	s := Snapshot{format: f}
	for i, k := range s.format.kinds {
		switch err := s.capture(ctx, cluster, i, settingsNamespace); {
		case absent(err):
			s.Absent = append(s.Absent, k.gvk.Kind)
		case apierrors.IsForbidden(err) && k.optional():
			s.Forbidden = append(s.Forbidden, k.gvk.Kind)
		case err != nil:
			return Snapshot{}, fmt.Errorf("listing objects of kind %s in %s: %w", k.gvk.Kind, k.gvk.GroupVersion(), err)
		}
	}
	s.sort()
	return s, nil
}

// capture adds all objects of a kind. If the continuation token of the list expires, the list is read again without
// paging.
func (s *Snapshot) capture(ctx context.Context, cluster client.Reader, kind int, settingsNamespace string) error {
	before, next, limit := len(s.entries), "", int64(page)
	var only []client.ListOption
	if label := s.format.kinds[kind].label; label != "" {
		only = append(only, client.HasLabels{label}, client.InNamespace(settingsNamespace))
	}
	for {
		list := &unstructured.UnstructuredList{}
		gvk := s.format.kinds[kind].gvk
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		err := cluster.List(ctx, list, append(only, client.Limit(limit), client.Continue(next))...)
		if next != "" && apierrors.IsResourceExpired(err) {
			s.entries, next, limit = s.entries[:before], "", 0
			continue
		}
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := s.add(kind, list.Items[i].Object); err != nil {
				return err
			}
		}
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}

// absent reports whether the cluster does not serve the kind.
func absent(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }
