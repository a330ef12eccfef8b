package judge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariorun"
)

// nodeKind is the kind of documents that are nodes with their NodeClaims: a line in the nodes of a scenario about disruption.
const nodeKind = "line of nodes"

// NodeDocument is a node with its NodeClaim, as a document. Words are those of its line in a scenario, such as type and zone; words
// without a value are empty.
func NodeDocument(name string, words map[string]string) map[string]any {
	spec := map[string]any{}
	for key, value := range words {
		spec[key] = value
	}
	return map[string]any{"kind": nodeKind, "metadata": map[string]any{"name": name}, "spec": spec}
}

func isNode(document map[string]any) bool { return document["kind"] == nodeKind }

// Disrupts reports whether the problem is about disruption: it has nodes with NodeClaims.
func (p Problem) Disrupts() bool { return slices.ContainsFunc(p.Documents, isNode) }

// nodeLines are the nodes as lines of a scenario.
func (p Problem) nodeLines() string {
	var b strings.Builder
	for _, document := range p.Documents {
		if isNode(document) {
			b.WriteString(nodeLine(document) + "\n")
		}
	}
	return b.String()
}

func nodeLine(document map[string]any) string {
	var b strings.Builder
	metadata, _ := document["metadata"].(map[string]any)
	fmt.Fprint(&b, metadata["name"])
	words, _ := document["spec"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(words)) {
		if value := fmt.Sprint(words[key]); value != "" {
			fmt.Fprintf(&b, " %s=%s", key, value)
		} else {
			fmt.Fprintf(&b, " %s", key)
		}
	}
	return b.String()
}

// NodeOf is the node that a document of NodeDocument stands for.
func NodeOf(document map[string]any) (scenariorun.Node, error) {
	nodes, err := scenariorun.ParseNodes(nodeLine(document))
	if err != nil {
		return scenariorun.Node{}, err
	}
	return nodes[0], nil
}

// nodes are the Nodes and NodeClaims of the problem.
func (p Problem) nodes(objects []client.Object, c cloud.Cloud) ([]client.Object, error) {
	lines, err := scenariorun.ParseNodes(p.nodeLines())
	if err != nil {
		return nil, err
	}
	pools := map[string]*v1.NodePool{}
	types := map[string][]*cloud.InstanceType{}
	for _, o := range objects {
		if pool, ok := o.(*v1.NodePool); ok {
			pools[pool.Name] = pool
			if types[pool.Name], err = c.Provider.InstanceTypes(context.Background(), pool); err != nil {
				return nil, err
			}
		}
	}
	var out []client.Object
	for _, line := range lines {
		if pools[line.Pool] == nil {
			return nil, fmt.Errorf("node %s: there is no pool %q", line.Name, line.Pool)
		}
		node, claim := line.Objects(pools[line.Pool], types[line.Pool], now())
		node.Finalizers, claim.Finalizers = nil, nil
		out = append(out, node, claim)
	}
	return out, nil
}

// ready reports whether a node is ready.
func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
