package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
)

// KWOKNodeClass holds the settings of simulated nodes.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=kwoknodeclasses,scope=Cluster,categories=karpenter,shortName={kwoknc,kwokncs}
// +kubebuilder:subresource:status
type KWOKNodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the configuration of the nodes.
	// +optional
	Spec KWOKNodeClassSpec `json:"spec,omitempty"`
	// status tells whether the class can be used. Nothing has to be prepared, so that it starts out ready.
	// +kubebuilder:default:={conditions: {{type: "Ready", status: "True", reason: "Ready", message: "", lastTransitionTime: "2024-01-01T01:01:01Z"}}}
	// +optional
	Status KWOKNodeClassStatus `json:"status,omitzero"`
}

// KWOKNodeClassList is a list of KWOKNodeClasses.
//
// +kubebuilder:object:root=true
type KWOKNodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []KWOKNodeClass `json:"items"`
}

// KWOKNodeClassSpec is the configuration of simulated nodes.
type KWOKNodeClassSpec struct {
	// nodeRegistrationDelay is the time between the launch of an instance and the creation of its Node. Absent means
	// immediately.
	// +kubebuilder:validation:XValidation:message="longer than 292 years",rule="!self.matches('^([0-9]+(s|m|h))+$') || duration(self) >= duration('0s')"
	// +kubebuilder:validation:Pattern:=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type:="string"
	// +optional
	NodeRegistrationDelay *metav1.Duration `json:"nodeRegistrationDelay,omitempty"`
}

// KWOKNodeClassStatus is the observed state of a KWOKNodeClass.
type KWOKNodeClassStatus struct {
	// conditions tell whether the class can be used.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionTypeReady is the only condition of a KWOKNodeClass.
const ConditionTypeReady = "Ready"

// ConditionList implements condition.Object.
func (c *KWOKNodeClass) ConditionList() *[]metav1.Condition { return &c.Status.Conditions }

// ConditionTypes implements condition.Object. Nothing has to become true before the class is ready.
func (c *KWOKNodeClass) ConditionTypes() condition.Types {
	return condition.Types{Root: ConditionTypeReady}
}
