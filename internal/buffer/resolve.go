// Package buffer resolves a CapacityBuffer: the pod template of one chunk, the number of chunks, and the virtual pods that
// represent them in scheduling.
//
// A virtual pod is never created in the cluster. It takes part in every scheduling simulation, after all real pods, and so
// reserves capacity for later ones. The package keeps no state and never changes the objects that it reads.
//
// Source: scheduling specification, CapacityBuffer.
package buffer

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
)

// Getter reads one object.
type Getter interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
}

// Source is where the objects that buffers refer to are read.
type Source struct {
	// Templates reads PodTemplates.
	Templates Getter
	// Workloads reads Deployments, StatefulSets and ReplicaSets.
	Workloads Getter
}

// Chunk is one replica of a buffer. The template is shared with the cache and must not be changed.
type Chunk struct {
	Template *corev1.PodTemplateSpec
	// Generation is that of the PodTemplate; 0 if a workload describes the chunk.
	Generation int64
	// Workload is the desired number of replicas of the workload; nil if a PodTemplate describes the chunk.
	Workload *int32
}

// Failure is why a buffer describes no chunk.
type Failure struct {
	// Reason is that of the condition.
	Reason string
	// Invalid is set when the buffer or an object that it refers to is invalid or missing. Otherwise reading has failed, and the
	// former chunk remains valid.
	Invalid bool
	// Retry is set when the controller should return an error and retry.
	Retry bool
	cause error
}

// Error implements error.
func (f *Failure) Error() string { return f.cause.Error() }

// Unwrap is the cause.
func (f *Failure) Unwrap() error { return f.cause }

// Resolve finds the chunk of a buffer. The failure is nil when there is one.
func Resolve(ctx context.Context, from Source, b *v1beta1.CapacityBuffer) (Chunk, *Failure) {
	switch {
	case b.Spec.PodTemplateRef != nil:
		return fromTemplate(ctx, from.Templates, b.Namespace, b.Spec.PodTemplateRef.Name)
	case b.Spec.ScalableRef != nil:
		return fromWorkload(ctx, from.Workloads, b.Namespace, *b.Spec.ScalableRef)
	}
	return Chunk{}, &Failure{
		Reason: v1beta1.ReasonResolutionFailed, Invalid: true,
		cause: errors.New("neither podTemplateRef nor scalableRef is set"),
	}
}

func fromTemplate(ctx context.Context, from Getter, namespace, name string) (Chunk, *Failure) {
	template := &corev1.PodTemplate{}
	if err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, template); err != nil {
		return Chunk{}, missing(v1beta1.ReasonPodTemplateNotFound, "PodTemplate", name, err)
	}
	return Chunk{Template: &template.Template, Generation: template.Generation}, nil
}

// ScalableKinds are the kinds of workloads that buffers may refer to.
func ScalableKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	}
}

// Names reports whether ref refers to a workload of a kind, one of ScalableKinds, with a name.
func Names(ref *v1beta1.ScalableRef, kind, name string) bool {
	return ref != nil && ofApps(ref) && ref.Kind == kind && ref.Name == name
}

// ofApps reports whether ref refers to the group of workloads, which is the default.
func ofApps(ref *v1beta1.ScalableRef) bool {
	return ref.APIGroup == "" || ref.APIGroup == appsv1.GroupName
}

func fromWorkload(ctx context.Context, from Getter, namespace string, ref v1beta1.ScalableRef) (Chunk, *Failure) {
	if !ofApps(&ref) {
		return Chunk{}, unsupported(fmt.Errorf("unsupported apiGroup %q of scalableRef, want %q", ref.APIGroup, appsv1.GroupName))
	}
	key := client.ObjectKey{Namespace: namespace, Name: ref.Name}
	get := func(o client.Object) *Failure {
		if err := from.Get(ctx, key, o); err != nil {
			return missing(v1beta1.ReasonScalableRefNotFound, ref.Kind, ref.Name, err)
		}
		return nil
	}
	switch ref.Kind {
	case "Deployment":
		o := &appsv1.Deployment{}
		failure := get(o)
		return chunk(&o.Spec.Template, o.Spec.Replicas, failure)
	case "StatefulSet":
		o := &appsv1.StatefulSet{}
		failure := get(o)
		return chunk(&o.Spec.Template, o.Spec.Replicas, failure)
	case "ReplicaSet":
		o := &appsv1.ReplicaSet{}
		failure := get(o)
		return chunk(&o.Spec.Template, o.Spec.Replicas, failure)
	}
	return Chunk{}, unsupported(fmt.Errorf("unsupported kind %q of scalableRef, want Deployment, StatefulSet or ReplicaSet", ref.Kind))
}

// chunk returns the chunk of a workload; replicas default to one.
func chunk(template *corev1.PodTemplateSpec, replicas *int32, failure *Failure) (Chunk, *Failure) {
	if failure != nil {
		return Chunk{}, failure
	}
	if replicas == nil {
		replicas = new(int32(1))
	}
	return Chunk{Template: template, Workload: replicas}, nil
}

func missing(reason, kind, name string, err error) *Failure {
	if apierrors.IsNotFound(err) {
		return &Failure{Reason: reason, Invalid: true, cause: fmt.Errorf("%s %q not found", kind, name)}
	}
	return &Failure{
		Reason: v1beta1.ReasonResolutionFailed, Retry: true,
		cause: fmt.Errorf("getting %s %q: %w", kind, name, err),
	}
}

func unsupported(cause error) *Failure {
	return &Failure{Reason: v1beta1.ReasonResolutionFailed, Invalid: true, Retry: true, cause: cause}
}
