package registry

import (
	"fmt"
	"math"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
)

func runtimeEqual(a, b map[string]any) bool { return equality.Semantic.DeepEqual(a, b) }

func nested(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

// GetScale returns the subresource scale of an object.
func (r *Registry) GetScale(req *Request) (*autoscalingv1.Scale, error) {
	object, err := r.Get(req)
	if err != nil {
		return nil, err
	}
	return scaleOf(req.Kind, object)
}

func scaleOf(k *kind.Kind, object *unstructured.Unstructured) (*autoscalingv1.Scale, error) {
	replicas, hasReplicas, _ := unstructured.NestedInt64(object.Object, nested(k.Scale.Replicas)...)
	if !hasReplicas && k.New == nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", k.Scale.Replicas))
	}
	current, _, _ := unstructured.NestedInt64(object.Object, nested(k.Scale.StatusReplicas)...)
	out := &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: autoscalingv1.SchemeGroupVersion.String(), Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{
			Name: object.GetName(), Namespace: object.GetNamespace(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
			CreationTimestamp: object.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(min(replicas, math.MaxInt32))},  //nolint:gosec // bounded
		Status: autoscalingv1.ScaleStatus{Replicas: int32(min(current, math.MaxInt32))}, //nolint:gosec // bounded
	}
	if k.Scale.Selector == "" {
		return out, nil
	}
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, nested(k.Scale.Selector)...)
	if text, ok := value.(string); ok {
		out.Status.Selector = text
	} else if value != nil {
		selector, err := kind.SelectorOf(value)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		out.Status.Selector = selector.String()
	}
	return out, nil
}

// UpdateScale sets the number of replicas of an object.
func (r *Registry) UpdateScale(req *Request, content map[string]any) (*autoscalingv1.Scale, error) {
	return r.changeScale(req, func(asked *Request, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		sent, err := asked.decode(content)
		if err != nil {
			return nil, err
		}
		return r.scales.Track(live.DeepCopy(), sent, req.Manager, false, r.options.Now()), nil
	})
}

// PatchScale changes the number of replicas of an object by a patch of its scale.
func (r *Registry) PatchScale(req *Request, patchType types.PatchType, patch []byte) (*autoscalingv1.Scale, error) {
	return r.changeScale(req, func(asked *Request, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if patchType == types.ApplyYAMLPatchType {
			applied, err := readApplied(asked, patch)
			if err != nil {
				return nil, err
			}
			merged, err := r.scales.Apply(live.DeepCopy(), applied, req.Manager, req.Force, false, r.options.Now())
			return merged, applyError(err)
		}
		content, shown, err := patched(asked, live, patchType, patch)
		if err != nil {
			return nil, err
		}
		sent, _, err := r.scales.Decode(content)
		if err != nil {
			return nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), shown, err.Error())})
		}
		return r.scales.Track(live.DeepCopy(), sent, req.Manager, false, r.options.Now()), nil
	})
}

// changeScale changes the scale of an object by a function, and the object with it. What is asked of the scale has the name of the object.
func (r *Registry) changeScale(req *Request, change func(asked *Request, live *unstructured.Unstructured) (*unstructured.Unstructured, error)) (*autoscalingv1.Scale, error) {
	live, err := r.Get(req)
	if err != nil {
		return nil, err
	}
	owners, toParent, err := req.Kind.ScaleOwners(live.GetManagedFields())
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	current, err := scaleOf(req.Kind, live)
	if err != nil {
		return nil, err
	}
	current.ManagedFields = owners
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(current)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	asked := *req
	asked.Kind, asked.Subresource = r.scales, ""
	scale, err := change(&asked, &unstructured.Unstructured{Object: content})
	if err != nil {
		return nil, err
	}
	if scale.GetName() != req.Name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", scale.GetName(), req.Name))
	}
	replicas, _, _ := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if replicas < 0 && req.Kind.New != nil {
		return nil, apierrors.NewInvalid(autoscalingv1.SchemeGroupVersion.WithKind("Scale").GroupKind(), req.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), replicas, "must be greater than or equal to 0"),
		})
	}
	object := live.DeepCopy()
	if err := unstructured.SetNestedField(object.Object, replicas, nested(req.Kind.Scale.Replicas)...); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	fields, err := toParent(scale.GetManagedFields())
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	object.SetManagedFields(fields)
	if version := scale.GetResourceVersion(); version != "" {
		object.SetResourceVersion(version)
	}
	main := *req
	main.Subresource = ""
	out, err := r.replace(&main, live, object, false)
	if err != nil {
		return nil, err
	}
	return scaleOf(req.Kind, out)
}
