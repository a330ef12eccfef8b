// Package prediction predicts the requests of new pods that VerticalPodAutoscalers change: a new pod gets the recommendation of
// its autoscaler instead of the requests of its template.
//
// Source: scheduling specification, other side stores.
package prediction

import (
	"encoding/json"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-anew/karpenter/api/quantity"
)

// Kind returns the kind of VerticalPodAutoscalers.
func Kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "autoscaling.k8s.io", Version: "v1", Kind: "VerticalPodAutoscaler"}
}

// The values of the fields that are read.
const (
	// modeOff, of an autoscaler or of one container, means that pods are not changed.
	modeOff = "Off"
	// anyContainer is the name of the policy for containers without their own.
	anyContainer = "*"
	// boostFactor multiplies the recommended CPU of a starting container, boostQuantity is added to it.
	boostFactor, boostQuantity = "Factor", "Quantity"
)

// Autoscaler is the part of a VerticalPodAutoscaler that predictions use.
type Autoscaler struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec   spec   `json:"spec"`
	Status status `json:"status"`
}

type spec struct {
	TargetRef    *targetRef `json:"targetRef"`
	UpdatePolicy *struct {
		UpdateMode *string `json:"updateMode"`
	} `json:"updatePolicy"`
	ResourcePolicy *struct {
		ContainerPolicies []policy `json:"containerPolicies"`
	} `json:"resourcePolicy"`
	StartupBoost *startupBoost `json:"startupBoost"`
}

type targetRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// policy limits the changes to one container, or to containers without their own policy.
type policy struct {
	ContainerName       string                 `json:"containerName"`
	Mode                *string                `json:"mode"`
	MinAllowed          corev1.ResourceList    `json:"minAllowed"`
	MaxAllowed          corev1.ResourceList    `json:"maxAllowed"`
	ControlledResources *[]corev1.ResourceName `json:"controlledResources"`
	StartupBoost        *startupBoost          `json:"startupBoost"`
}

type startupBoost struct {
	CPU *boost `json:"cpu"`
}

// boost is how much more CPU a container gets while it starts.
type boost struct {
	Type     string             `json:"type"`
	Factor   *int64             `json:"factor"`
	Quantity *resource.Quantity `json:"quantity"`
}

type status struct {
	Recommendation *struct {
		ContainerRecommendations []recommendation `json:"containerRecommendations"`
	} `json:"recommendation"`
}

type recommendation struct {
	ContainerName string              `json:"containerName"`
	Target        corev1.ResourceList `json:"target"`
}

// Parse reads a VerticalPodAutoscaler.
func Parse(u *unstructured.Unstructured) (Autoscaler, error) {
	if unreadable := quantity.Unreadable(u.Object, reflect.TypeFor[Autoscaler]()); len(unreadable) > 0 {
		return Autoscaler{}, fmt.Errorf("reading VerticalPodAutoscaler %s/%s: %s is not a quantity, or its exponent is too large", u.GetNamespace(), u.GetName(), unreadable[0])
	}
	text, err := json.Marshal(u.Object)
	if err != nil {
		return Autoscaler{}, fmt.Errorf("writing VerticalPodAutoscaler %s/%s: %w", u.GetNamespace(), u.GetName(), err)
	}
	var a Autoscaler
	if err := json.Unmarshal(text, &a); err != nil {
		return Autoscaler{}, fmt.Errorf("reading VerticalPodAutoscaler %s/%s: %w", u.GetNamespace(), u.GetName(), err)
	}
	return a, nil
}

// active reports whether the autoscaler changes pods.
func (a *Autoscaler) active() bool {
	p := a.Spec.UpdatePolicy
	return a.Spec.TargetRef != nil && (p == nil || p.UpdateMode == nil || *p.UpdateMode != modeOff)
}

// target is the workload whose pods the autoscaler changes.
func (a *Autoscaler) target() Target {
	ref := a.Spec.TargetRef
	return Target{Namespace: a.Namespace, APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name}
}

// policyOf is the policy for a container: its own, or the one for all others; an empty one when there is neither.
func (a *Autoscaler) policyOf(container string) policy {
	var fallback policy
	if a.Spec.ResourcePolicy == nil {
		return fallback
	}
	for _, p := range a.Spec.ResourcePolicy.ContainerPolicies {
		switch p.ContainerName {
		case container:
			return p
		case anyContainer:
			fallback = p
		}
	}
	return fallback
}
