package cloudtest

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/repair"
)

// describesItself: the cloud has a name, node classes that it recognises on claims and nodes, and policies with which node repair starts.
func describesItself(_ context.Context, s Subject) error {
	var errs []error
	if s.Cloud.Name == "" {
		errs = append(errs, errors.New("the cloud has no name"))
	}
	if len(s.Cloud.NodeClasses) == 0 {
		errs = append(errs, errors.New("the cloud has no node class"))
	}
	for _, class := range s.Cloud.NodeClasses {
		if class.New == nil || class.New() == nil {
			errs = append(errs, fmt.Errorf("node class %s: New gives no object", class.GVK))
		}
		ref := &v1.NodeClassReference{Group: class.GVK.Group, Kind: class.GVK.Kind, Name: "any"}
		if !s.Cloud.Manages(ref) {
			errs = append(errs, fmt.Errorf("node class %s: references to it are not managed", class.GVK))
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{class.LabelKey(): "any"}}}
		if !s.Cloud.ManagesNode(node) {
			errs = append(errs, fmt.Errorf("node class %s: nodes labelled with it are not managed", class.GVK))
		}
	}
	if s.Cloud.Manages(&v1.NodeClassReference{Group: "other.example.com", Kind: "OtherNodeClass", Name: "any"}) {
		errs = append(errs, errors.New("the cloud manages a node class of another group"))
	}
	if len(s.Cloud.RepairPolicies) > 0 { // else the cloud has no node repair
		errs = append(errs, compile(s.Cloud.RepairPolicies))
	}
	return errors.Join(errs...)
}

// compile checks repair policies as the controller does at its start.
func compile(policies []cloud.RepairPolicy) error {
	var list []repair.Policy
	for _, p := range policies {
		list = append(list, repair.Policy{
			ConditionType: string(p.ConditionType), ConditionStatus: string(p.ConditionStatus), ReasonRegex: p.ReasonRegex,
			Toleration: p.TolerationDuration, GracePeriod: p.TerminationGracePeriod, Priority: p.Priority, Action: repair.Action(p.Action),
		})
	}
	_, err := repair.Compile(list)
	return err
}
