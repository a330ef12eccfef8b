// Package explain explains one object of a cluster: what Karpenter would do for it now, what prevents that, and the remedy.
//
// The answers are those of the engine for the objects of a cluster; the in-memory state of a running controller, such as running
// commands, is not part of them. Equal objects and options give equal answers. docs/explain.md describes the
// fields; a field may be added under the same version, but none changes its meaning or is removed.
package explain

import (
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/document"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// Version is the version of the schema.
const Version = "v1"

// ErrNotFound means that there is no object of the name.
var ErrNotFound = errors.New("not found")

// Question is the input of an explanation.
type Question struct {
	// Objects are all objects of the cluster. They are not changed.
	Objects []client.Object
	Cloud   cloud.Cloud
	Options simulation.Options
}

// Answer is the explanation of one object.
type Answer interface {
	// Text renders the answer as text.
	Text() string
}

// Format is how an answer is written.
type Format string

// The formats.
const (
	Text Format = "text"
	JSON Format = "json"
)

// List is the JSON of several answers.
type List struct {
	// Version is that of the schema, Kind is List.
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Items are the answers, in the order of the questions.
	Items []Answer `json:"items"`
}

// Text implements Answer: an empty line separates the answers.
func (l List) Text() string {
	parts := make([]string, len(l.Items))
	for i, a := range l.Items {
		parts[i] = a.Text()
	}
	return strings.Join(parts, "\n")
}

// Write renders an answer.
func Write(to io.Writer, a Answer, format Format) error {
	switch format {
	case Text:
		_, err := io.WriteString(to, a.Text())
		return err
	case JSON:
		return document.Write(to, a, document.JSON)
	default:
		return fmt.Errorf("unknown format %q: known are %s, %s", format, Text, JSON)
	}
}

// find is the object of a type with a name; false when there is none.
func find[T client.Object](objects []client.Object, namespace, name string) (T, bool) {
	for _, o := range objects {
		if found, ok := o.(T); ok && o.GetNamespace() == namespace && o.GetName() == name {
			return found, true
		}
	}
	var none T
	return none, false
}

// Place is a node as its objects name it.
type Place struct {
	// Node is the name of the Node; empty for a NodeClaim that has no node yet.
	Node string `json:"node"`
	// NodeClaim is empty for nodes that Karpenter did not launch.
	NodeClaim string `json:"nodeClaim"`
	// NodePool is empty for nodes of no pool.
	NodePool string `json:"nodePool"`
}

// placeOf is the node with a name.
func placeOf(objects []client.Object, node string) Place {
	p := Place{Node: node}
	if found, ok := find[*corev1.Node](objects, "", node); ok {
		p.NodePool = found.Labels[v1.NodePoolLabelKey]
	}
	for _, o := range objects {
		if claim, ok := o.(*v1.NodeClaim); ok && claim.Status.NodeName == node {
			p.NodeClaim = claim.Name
		}
	}
	return p
}

// String names the node for people.
func (p Place) String() string {
	text := fmt.Sprintf("node %q", p.Node)
	switch {
	case p.NodeClaim != "" && p.NodePool != "":
		text += fmt.Sprintf(" (NodeClaim %q, NodePool %q)", p.NodeClaim, p.NodePool)
	case p.NodePool != "":
		text += fmt.Sprintf(" (NodePool %q)", p.NodePool)
	}
	return text
}
