package registry

import (
	"fmt"
	"math"
	"net/http"
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
func (r *Registry) UpdateScale(req *Request, scale *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	live, err := r.Get(req)
	if err != nil {
		return nil, err
	}
	if scale.Name != req.Name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", scale.Name, req.Name))
	}
	if scale.Spec.Replicas < 0 {
		return nil, apierrors.NewInvalid(autoscalingv1.SchemeGroupVersion.WithKind("Scale").GroupKind(), req.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas, "must be greater than or equal to 0"),
		})
	}
	if scale.ResourceVersion != "" && scale.ResourceVersion != live.GetResourceVersion() {
		return nil, conflict(req.Kind.Resource(), req.Name)
	}
	object := live.DeepCopy()
	if err := unstructured.SetNestedField(object.Object, int64(scale.Spec.Replicas), nested(req.Kind.Scale.Replicas)...); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	main := *req
	main.Subresource = ""
	out, err := r.replace(&main, live, object, true)
	if err != nil {
		return nil, err
	}
	return scaleOf(req.Kind, out)
}

// PatchScale is the content of a scale after a patch.
func PatchScale(scale *autoscalingv1.Scale, patchType types.PatchType, patch []byte) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(scale)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if patchType == types.ApplyYAMLPatchType {
		return nil, apierrors.NewGenericServerResponse(http.StatusNotImplemented, "patch", schema.GroupResource{Group: "autoscaling", Resource: "scale"}, scale.Name,
			"this API server in memory does not implement server-side apply of the subresource scale", 0, false)
	}
	req := &Request{Name: scale.Name, Kind: &kind.Kind{
		GroupVersionKind: autoscalingv1.SchemeGroupVersion.WithKind("Scale"), Plural: "scale",
		New: func() runtime.Object { return &autoscalingv1.Scale{} },
	}}
	return patched(req, &unstructured.Unstructured{Object: content}, patchType, patch)
}
