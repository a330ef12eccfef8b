package cloud

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// NodeClassObject is a node class as an API object with conditions.
type NodeClassObject interface {
	client.Object
	condition.Object
}

// NodeClass is one kind of node class: how it is named and how to make an empty one to read into.
type NodeClass struct {
	// GVK names the kind.
	GVK schema.GroupVersionKind
	// New is a fresh, empty object of the kind.
	New func() NodeClassObject
}

// LabelKey is the label that holds the node class's name on NodeClaims and Nodes: <group>/<lower-case kind>.
func (c NodeClass) LabelKey() string { return v1.NodeClassLabelKey(c.GVK.Group, c.GVK.Kind) }
