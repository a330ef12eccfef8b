package legacy

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/convert"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// apply creates and updates the objects that a legacy object converts to. why is the first reason why that is refused.
func (c *Controller) apply(ctx context.Context, old legacyObject, served convert.Desired) (why string, err error) {
	if served.Why != "" {
		return served.Why, nil
	}
	for _, k := range served.Objects {
		if why, err := c.applyOne(ctx, old, k); why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

func (c *Controller) applyOne(ctx context.Context, old legacyObject, k convert.DesiredObject) (why string, err error) {
	if !c.Cloud.Manages(&v1.NodeClassReference{Group: k.Class.Group, Kind: k.Class.Kind}) {
		return fmt.Sprintf("it needs a NodeClass of kind %s, which the cloud provider of this installation does not have", k.Class.Kind), nil
	}
	wanted, err := c.object(k)
	if err != nil {
		return "", err
	}
	if err := controllerutil.SetControllerReference(old, wanted, c.Client.Scheme()); err != nil {
		return "", fmt.Errorf("making %s own %s %s: %w", describe(old), k.Kind, k.Name, err)
	}
	stored := wanted.DeepCopyObject().(client.Object)
	err = c.Client.Get(ctx, client.ObjectKeyFromObject(wanted), stored)
	switch {
	case apierrors.IsNotFound(err):
		return c.create(ctx, old, k, wanted)
	case err != nil:
		return "", fmt.Errorf("reading %s %s: %w", k.Kind, k.Name, err)
	case !metav1.IsControlledBy(stored, old):
		return fmt.Sprintf("%s %s exists already and does not belong to %s: delete or rename it", k.Kind, k.Name, describe(old)), nil
	case stored.GetDeletionTimestamp() != nil:
		return fmt.Sprintf("%s %s is being deleted and is created again when it is gone", k.Kind, k.Name), nil
	}
	return c.update(ctx, old, k, stored, wanted)
}

// object is the desired object, typed.
func (c *Controller) object(k convert.DesiredObject) (client.Object, error) {
	gv, err := schema.ParseGroupVersion(k.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", k.Kind, k.Name, err)
	}
	return c.decode(gv.WithKind(k.Kind), k.Content)
}

// decode converts content to a typed object.
func (c *Controller) decode(gvk schema.GroupVersionKind, content map[string]any) (client.Object, error) {
	made, err := c.Client.Scheme().New(gvk)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, made)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding a %s: %w", gvk.Kind, err)
	}
	o, ok := made.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no object", made)
	}
	return o, nil
}

// create creates a desired object.
func (c *Controller) create(ctx context.Context, old legacyObject, k convert.DesiredObject, wanted client.Object) (why string, err error) {
	switch err := c.Client.Create(ctx, wanted); {
	case apierrors.IsInvalid(err):
		return err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("creating %s %s: %w", k.Kind, k.Name, err)
	}
	observe.Log(ctx).Info("created an object for an object of an earlier API", logfield.LegacyObject(describe(old)), logfield.Target(k.Kind+" "+k.Name))
	return "", nil
}

// update sets the spec, labels and annotations of a stored object to the desired ones. Labels and annotations that other clients have
// added stay.
func (c *Controller) update(ctx context.Context, old legacyObject, k convert.DesiredObject, stored, wanted client.Object) (why string, err error) {
	current, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
	if err != nil {
		return "", fmt.Errorf("reading %s %s: %w", k.Kind, k.Name, err)
	}
	desired, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return "", fmt.Errorf("reading %s %s: %w", k.Kind, k.Name, err)
	}
	changed := stored.DeepCopyObject().(client.Object)
	if !equality.Semantic.DeepEqual(current["spec"], desired["spec"]) {
		current["spec"] = desired["spec"]
		if changed, err = c.decode(wanted.GetObjectKind().GroupVersionKind(), current); err != nil {
			return "", err
		}
		changed.GetObjectKind().SetGroupVersionKind(stored.GetObjectKind().GroupVersionKind())
	}
	changed.SetLabels(with(stored.GetLabels(), wanted.GetLabels()))
	changed.SetAnnotations(with(stored.GetAnnotations(), wanted.GetAnnotations()))
	if equality.Semantic.DeepEqual(stored, changed) {
		return "", nil
	}
	err = c.Client.Patch(ctx, changed, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsInvalid(err):
		return err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("changing %s %s: %w", k.Kind, k.Name, err)
	}
	observe.Log(ctx).Info("updated an object for an object of an earlier API", logfield.LegacyObject(describe(old)), logfield.Target(k.Kind+" "+k.Name))
	return "", nil
}

// with adds entries to a copy of a map.
func with(all, more map[string]string) map[string]string {
	out := maps.Clone(all)
	if out == nil && len(more) > 0 {
		out = map[string]string{}
	}
	maps.Copy(out, more)
	return out
}

// prune deletes objects that their legacy object no longer converts to. Objects of a deleted legacy object are garbage collected by
// Kubernetes; those of one that cannot be converted stay.
func (c *Controller) prune(ctx context.Context, olds []legacyObject, served []convert.Desired) error {
	desired := map[types.UID]map[string]bool{}
	for i, old := range olds {
		if served[i].Why != "" {
			continue
		}
		desired[old.GetUID()] = map[string]bool{}
		for _, k := range served[i].Objects {
			desired[old.GetUID()][k.Kind+" "+k.Name] = true
		}
	}
	owned, err := c.owned(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range owned {
		owner := metav1.GetControllerOf(o)
		if owner == nil || desired[owner.UID] == nil || o.GetDeletionTimestamp() != nil {
			continue
		}
		gvk, err := c.Client.GroupVersionKindFor(o)
		if err != nil || desired[owner.UID][gvk.Kind+" "+o.GetName()] {
			errs = append(errs, err)
			continue
		}
		uid := o.GetUID()
		if err := c.Client.Delete(ctx, o, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("deleting %s %s: %w", gvk.Kind, o.GetName(), err))
			continue
		}
		observe.Log(ctx).Info("deleted an object that its object of an earlier API no longer needs", logfield.LegacyObject(owner.Kind+" "+owner.Name), logfield.Target(gvk.Kind+" "+o.GetName()))
	}
	return errors.Join(errs...)
}

// owned returns all objects with the label of this controller.
func (c *Controller) owned(ctx context.Context) ([]client.Object, error) {
	var out []client.Object
	lists := []client.ObjectList{&v1.NodePoolList{}}
	for _, class := range c.Cloud.NodeClasses {
		list, err := c.Client.Scheme().New(class.GVK.GroupVersion().WithKind(class.GVK.Kind + "List"))
		if err != nil {
			return nil, err
		}
		lists = append(lists, list.(client.ObjectList))
	}
	for _, list := range lists {
		if err := c.Client.List(ctx, list, client.HasLabels{convert.KeptForLabelKey}); err != nil {
			return nil, fmt.Errorf("listing objects of legacy objects: %w", err)
		}
		objects, err := meta.ExtractList(list)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			out = append(out, o.(client.Object))
		}
	}
	return out, nil
}
