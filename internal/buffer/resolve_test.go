package buffer

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
)

// shelf is a Getter of these objects.
type shelf struct {
	objects []client.Object
	err     error
}

func (s shelf) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if s.err != nil {
		return s.err
	}
	for _, o := range s.objects {
		if client.ObjectKeyFromObject(o) != key {
			continue
		}
		switch into := into.(type) {
		case *corev1.PodTemplate:
			if o, ok := o.(*corev1.PodTemplate); ok {
				*into = *o
				return nil
			}
		case *appsv1.Deployment:
			if o, ok := o.(*appsv1.Deployment); ok {
				*into = *o
				return nil
			}
		case *appsv1.StatefulSet:
			if o, ok := o.(*appsv1.StatefulSet); ok {
				*into = *o
				return nil
			}
		case *appsv1.ReplicaSet:
			if o, ok := o.(*appsv1.ReplicaSet); ok {
				*into = *o
				return nil
			}
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func TestResolution(t *testing.T) {
	t.Attr("covers", "L341")
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 7}
	}
	template := func(app string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}}}
	}
	objects := shelf{objects: []client.Object{
		&corev1.PodTemplate{ObjectMeta: meta("template"), Template: template("template")},
		&appsv1.Deployment{ObjectMeta: meta("deployment"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(4)), Template: template("deployment")}},
		&appsv1.StatefulSet{ObjectMeta: meta("set"), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(0)), Template: template("set")}},
		&appsv1.ReplicaSet{ObjectMeta: meta("replicas"), Spec: appsv1.ReplicaSetSpec{Template: template("replicas")}},
	}}
	scalable := func(group, kind, name string) v1beta1.CapacityBufferSpec {
		return v1beta1.CapacityBufferSpec{ScalableRef: &v1beta1.ScalableRef{APIGroup: group, Kind: kind, Name: name}}
	}
	ofTemplate := func(name string) v1beta1.CapacityBufferSpec {
		return v1beta1.CapacityBufferSpec{PodTemplateRef: &v1beta1.LocalObjectRef{Name: name}}
	}
	for name, c := range map[string]struct {
		spec       v1beta1.CapacityBufferSpec
		namespace  string
		err        error
		app        string
		generation int64
		workload   *int32
		failure    Failure
		message    string
	}{
		"a PodTemplate":                    {spec: ofTemplate("template"), app: "template", generation: 7},
		"a Deployment":                     {spec: scalable("apps", "Deployment", "deployment"), app: "deployment", workload: new(int32(4))},
		"no group means apps":              {spec: scalable("", "Deployment", "deployment"), app: "deployment", workload: new(int32(4))},
		"a StatefulSet scaled to zero":     {spec: scalable("apps", "StatefulSet", "set"), app: "set", workload: new(int32(0))},
		"a ReplicaSet without replicas":    {spec: scalable("apps", "ReplicaSet", "replicas"), app: "replicas", workload: new(int32(1))},
		"nothing is referred to":           {failure: Failure{Reason: "ResolutionFailed", Invalid: true}, message: "neither podTemplateRef nor scalableRef is set"},
		"the PodTemplate does not exist":   {spec: ofTemplate("none"), failure: Failure{Reason: "PodTemplateNotFound", Invalid: true}, message: `PodTemplate "none" not found`},
		"the workload does not exist":      {spec: scalable("apps", "Deployment", "none"), failure: Failure{Reason: "ScalableRefNotFound", Invalid: true}, message: `Deployment "none" not found`},
		"a workload of another namespace":  {spec: scalable("apps", "Deployment", "deployment"), namespace: "other", failure: Failure{Reason: "ScalableRefNotFound", Invalid: true}, message: `Deployment "deployment" not found`},
		"another kind":                     {spec: scalable("apps", "DaemonSet", "d"), failure: Failure{Reason: "ResolutionFailed", Invalid: true, Retry: true}, message: `unsupported kind "DaemonSet" of scalableRef, want Deployment, StatefulSet or ReplicaSet`},
		"another group":                    {spec: scalable("batch", "Job", "j"), failure: Failure{Reason: "ResolutionFailed", Invalid: true, Retry: true}, message: `unsupported apiGroup "batch" of scalableRef, want "apps"`},
		"the API server fails on a lookup": {spec: ofTemplate("template"), err: errors.New("boom"), failure: Failure{Reason: "ResolutionFailed", Retry: true}, message: `getting PodTemplate "template": boom`},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "b"}, Spec: c.spec}
			if c.namespace != "" {
				b.Namespace = c.namespace
			}
			from := shelf{objects: objects.objects, err: c.err}
			got, failure := Resolve(t.Context(), Source{Templates: from, Workloads: from}, b)
			if c.failure.Reason != "" {
				if failure == nil || failure.Error() != c.message || failure.Reason != c.failure.Reason ||
					failure.Invalid != c.failure.Invalid || failure.Retry != c.failure.Retry {
					t.Errorf("got %+v, want %+v with %q", failure, c.failure, c.message)
				}
				return
			}
			if failure != nil {
				t.Fatal(failure)
			}
			if got.Template.Labels["app"] != c.app || got.Generation != c.generation ||
				(got.Workload == nil) != (c.workload == nil) || got.Workload != nil && *got.Workload != *c.workload {
				t.Errorf("got %+v, want the template of %s, generation %d and replicas %v", got, c.app, c.generation, c.workload)
			}
		})
	}
}
