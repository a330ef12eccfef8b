package workloads

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/embedded/view"
)

// Templates of StatefulSets and DaemonSets are kept as ControllerRevisions: kubectl rollout finds the earlier ones there. What undo does is to
// apply the patch that a revision holds.

// history is the templates that a StatefulSet or DaemonSet has had.
type history struct {
	owner    client.Object
	kind     schema.GroupVersionKind
	template *corev1.PodTemplateSpec
	// hashLabel is the label of revisions with the hash of their template.
	hashLabel string
	// limit is how many revisions are kept that no pod has.
	limit *int32
}

// record keeps the current template as the latest revision, and drops the earliest revisions that no pod has and that are more than the limit.
// inUse reports whether a revision, by name and hash, is that of a pod or is current. It returns the name of the revision.
func (h history) record(v *view.View, hash string, inUse func(name, hash string) bool) (string, error) {
	revisions, err := h.list(v)
	if err != nil {
		return "", err
	}
	name, latest := h.owner.GetName()+"-"+hash, int64(0)
	var present *appsv1.ControllerRevision
	for _, r := range revisions {
		latest = max(latest, r.Revision)
		if r.Name == name {
			present = r
		}
	}
	switch {
	case present == nil:
		err = h.create(v, name, hash, latest+1)
	case present.Revision < latest:
		changed := present.DeepCopy()
		changed.Revision = latest + 1
		err = v.Update(changed)
	}
	if err != nil {
		return "", err
	}
	return name, h.drop(v, slices.DeleteFunc(revisions, func(r *appsv1.ControllerRevision) bool {
		return r.Name == name || inUse(r.Name, r.Labels[h.hashLabel])
	}))
}

// list returns the revisions from the earliest to the latest.
func (h history) list(v *view.View) ([]*appsv1.ControllerRevision, error) {
	all, err := view.List[appsv1.ControllerRevision](v)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r *appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(r, h.owner) })
	slices.SortStableFunc(all, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	return all, nil
}

func (h history) create(v *view.View, name, hash string, revision int64) error {
	data, err := templatePatch(h.template)
	if err != nil {
		return err
	}
	return v.Create(&appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: h.owner.GetNamespace(), Name: name, Labels: with(h.template.Labels, h.hashLabel, hash), Annotations: h.owner.GetAnnotations(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(h.owner, h.kind)},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: revision,
	})
}

// drop deletes the earliest of revisions that nothing uses.
func (h history) drop(v *view.View, unused []*appsv1.ControllerRevision) error {
	for _, r := range unused[:max(0, len(unused)-int(ptr.Deref(h.limit, 10)))] {
		if err := v.Delete(r, nil); err != nil {
			return err
		}
	}
	return nil
}

// templatePatch is a strategic merge patch that puts a template in place of any other.
func templatePatch(template *corev1.PodTemplateSpec) ([]byte, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(template)
	if err != nil {
		return nil, fmt.Errorf("encoding a pod template: %w", err)
	}
	content["$patch"] = "replace"
	return json.Marshal(map[string]any{"spec": map[string]any{"template": content}})
}
