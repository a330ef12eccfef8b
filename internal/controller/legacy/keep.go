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
)

// keep makes what an old object needs what it has to be. why says why that is refused; it ends with the first refusal.
func (c *Controller) keep(ctx context.Context, old past, served convert.Desired) (why string, err error) {
	if served.Why != "" {
		return served.Why, nil
	}
	for _, k := range served.Objects {
		if why, err := c.keepOne(ctx, old, k); why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

func (c *Controller) keepOne(ctx context.Context, old past, k convert.DesiredObject) (why string, err error) {
	if !c.Cloud.Manages(&v1.NodeClassReference{Group: k.Class.Group, Kind: k.Class.Kind}) {
		return fmt.Sprintf("it needs a node class of kind %s, which this installation does not work with", k.Class.Kind), nil
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
		return fmt.Sprintf("a %s %s is there already that is not kept for %s", k.Kind, k.Name, describe(old)), nil
	case stored.GetDeletionTimestamp() != nil:
		return fmt.Sprintf("the %s %s is being deleted; it is made anew when it is gone", k.Kind, k.Name), nil
	}
	return c.putBack(ctx, old, k, stored, wanted)
}

// object is what has to be there, as a typed object.
func (c *Controller) object(k convert.DesiredObject) (client.Object, error) {
	gv, err := schema.ParseGroupVersion(k.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", k.Kind, k.Name, err)
	}
	return c.decode(gv.WithKind(k.Kind), k.Content)
}

// decode makes a typed object of its content.
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

// create makes an object for the first time, or again.
func (c *Controller) create(ctx context.Context, old past, k convert.DesiredObject, wanted client.Object) (why string, err error) {
	switch err := c.Client.Create(ctx, wanted); {
	case apierrors.IsInvalid(err):
		return err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("creating %s %s: %w", k.Kind, k.Name, err)
	}
	observe.Log(ctx).Info("created what an object of an earlier API needs", "object", describe(old), "kind", k.Kind, "name", k.Name)
	return "", nil
}

// putBack makes a stored object what it has to be again. Labels and annotations that others have added stay.
func (c *Controller) putBack(ctx context.Context, old past, k convert.DesiredObject, stored, wanted client.Object) (why string, err error) {
	is, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
	if err != nil {
		return "", fmt.Errorf("reading %s %s: %w", k.Kind, k.Name, err)
	}
	should, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return "", fmt.Errorf("reading %s %s: %w", k.Kind, k.Name, err)
	}
	changed := stored.DeepCopyObject().(client.Object)
	if !equality.Semantic.DeepEqual(is["spec"], should["spec"]) {
		is["spec"] = should["spec"]
		if changed, err = c.decode(wanted.GetObjectKind().GroupVersionKind(), is); err != nil {
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
	observe.Log(ctx).Info("made an object what an object of an earlier API wants it to be", "object", describe(old), "kind", k.Kind, "name", k.Name)
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

// sweep deletes what is kept for an old object that no longer wants it. What belongs to an old object that is gone goes with
// it, and for one that cannot be converted at the moment things stay as they are.
func (c *Controller) sweep(ctx context.Context, olds []past, served []convert.Desired) error {
	wants := map[types.UID]map[string]bool{}
	for i, old := range olds {
		if served[i].Why != "" {
			continue
		}
		wants[old.GetUID()] = map[string]bool{}
		for _, k := range served[i].Objects {
			wants[old.GetUID()][k.Kind+" "+k.Name] = true
		}
	}
	kept, err := c.kept(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range kept {
		owner := metav1.GetControllerOf(o)
		if owner == nil || wants[owner.UID] == nil || o.GetDeletionTimestamp() != nil {
			continue
		}
		gvk, err := c.Client.GroupVersionKindFor(o)
		if err != nil || wants[owner.UID][gvk.Kind+" "+o.GetName()] {
			errs = append(errs, err)
			continue
		}
		uid := o.GetUID()
		if err := c.Client.Delete(ctx, o, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("deleting %s %s: %w", gvk.Kind, o.GetName(), err))
			continue
		}
		observe.Log(ctx).Info("deleted what an object of an earlier API no longer needs", "object", owner.Kind+" "+owner.Name, "kind", gvk.Kind, "name", o.GetName())
	}
	return errors.Join(errs...)
}

// kept are all objects with the mark.
func (c *Controller) kept(ctx context.Context) ([]client.Object, error) {
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
			return nil, fmt.Errorf("listing what is kept: %w", err)
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
