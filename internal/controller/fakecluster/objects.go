package fakecluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/api/condition"
	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// ClassLabel is the label that makes a Node managed.
const ClassLabel = "karpenter.kwok.sh/kwoknodeclass"

// classRef refers to the NodeClass "default".
func classRef() *v1.NodeClassReference {
	return &v1.NodeClassReference{Group: kwok.Group, Kind: "KWOKNodeClass", Name: "default"}
}

// Unmanaged refers to a NodeClass of another installation.
func Unmanaged() *v1.NodeClassReference {
	return &v1.NodeClassReference{Group: "karpenter.example.com", Kind: "OtherNodeClass", Name: "default"}
}

// Class is the NodeClass "default", ready.
func Class() *kwok.KWOKNodeClass {
	out := &kwok.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1}}
	out.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"}}
	return out
}

// Pool is a managed NodePool "pool".
func Pool() *v1.NodePool {
	out := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool", UID: "pool-uid", Generation: 1}}
	out.Spec.Template.Spec.NodeClassRef = classRef()
	zero := time.Duration(0)
	out.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{Duration: &zero}
	return out
}

// Claim is a managed NodeClaim of the NodePool "pool", created now.
func (w *Cluster) Claim(name string) *v1.NodeClaim {
	out := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name + "-uid"), Generation: 1, CreationTimestamp: metav1.NewTime(w.Time.Now()),
		Labels:          map[string]string{v1.NodePoolLabelKey: "pool", ClassLabel: "default"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "pool", UID: "pool-uid"}},
	}}
	out.Spec.NodeClassRef = classRef()
	out.Spec.Resources.Requests = Resources("cpu", "1")
	return out
}

// LaunchedClaim is a NodeClaim whose instance exists, with the finalizer and the conditions True.
func (w *Cluster) LaunchedClaim(name string, trueConditions ...string) *v1.NodeClaim {
	out := w.Claim(name)
	out.Finalizers = []string{v1.TerminationFinalizer}
	out.Labels[v1.CapacityTypeLabelKey] = "spot"
	out.Labels[corev1.LabelTopologyZone] = "zone-1"
	out.Labels[corev1.LabelInstanceTypeStable] = "small"
	out.Status.ProviderID = "test://" + name
	out.Status.Capacity = Resources("cpu", "2", "memory", "4Gi")
	set := condition.For(out, w.Time.Now())
	set.True(v1.ConditionTypeLaunched)
	for _, t := range trueConditions {
		set.True(t)
	}
	w.Provider.Put(&v1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: out.CreationTimestamp}, Status: v1.NodeClaimStatus{ProviderID: out.Status.ProviderID},
	})
	return out
}

// Node is a new Node of the NodeClaim of that name, with the unregistered taint, ready and with allocatable resources.
func (w *Cluster) Node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name + "-node-uid"), CreationTimestamp: metav1.NewTime(w.Time.Now()),
			Labels: map[string]string{corev1.LabelTopologyZone: "zone-1"},
		},
		Spec: corev1.NodeSpec{ProviderID: "test://" + name, Taints: []corev1.Taint{v1.UnregisteredNoExecuteTaint()}},
		Status: corev1.NodeStatus{
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Capacity:    Resources("cpu", "2", "memory", "4Gi"),
			Allocatable: Resources("cpu", "1900m", "memory", "3Gi"),
		},
	}
}

// RegisteredNode is a Node after registration.
func (w *Cluster) RegisteredNode(name string) *corev1.Node {
	out := w.Node(name)
	out.Spec.Taints = nil
	out.Finalizers = []string{v1.TerminationFinalizer}
	out.Labels[ClassLabel] = "default"
	out.Labels[v1.NodePoolLabelKey] = "pool"
	out.Labels[v1.NodeRegisteredLabelKey] = "true"
	return out
}

// Pod is a running pod on a Node, without an owner.
func (w *Cluster) Pod(name, node string) *corev1.Pod {
	grace := int64(30)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name + "-pod-uid"), CreationTimestamp: metav1.NewTime(w.Time.Now()),
		},
		Spec:   corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: &grace},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}
