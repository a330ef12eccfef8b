package nodeclaim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operation is an operation of a JSON patch. Source: RFC 6902.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// nodePatch returns a patch of the metadata and the taints of a Node, which the API server applies to the current version if the lists
// that it replaces are those of stored. It refuses the patch otherwise, and if the Node was replaced by one of the same name.
//
// With a resource version, every other write to the Node would make this one a conflict. A new Node is written by its kubelet and by
// several controllers at the same moment, because they all react to its creation. Labels and annotations are added, never removed.
// Source: spec shared rules, write discipline; the tests of the lists take the place of the resource version.
func nodePatch(stored, node *corev1.Node) (client.Patch, error) {
	ops := []operation{{"test", "/metadata/uid", stored.UID}}
	ops = append(ops, replaceList("/metadata/finalizers", stored.Finalizers, node.Finalizers)...)
	ops = append(ops, replaceList("/metadata/ownerReferences", stored.OwnerReferences, node.OwnerReferences)...)
	ops = append(ops, replaceList("/spec/taints", stored.Spec.Taints, node.Spec.Taints)...)
	ops = append(ops, addEntries("/metadata/labels", stored.Labels, node.Labels)...)
	ops = append(ops, addEntries("/metadata/annotations", stored.Annotations, node.Annotations)...)
	patch, err := json.Marshal(ops)
	if err != nil {
		return nil, fmt.Errorf("encoding the patch of node %q: %w", node.Name, err)
	}
	return client.RawPatch(types.JSONPatchType, patch), nil
}

// replaceList replaces a list that changed, if it still has the elements in before.
func replaceList[T any](path string, before, after []T) []operation {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	if len(before) == 0 {
		before = nil // encoded as null, which stands for a missing value
	}
	return []operation{{"test", path, before}, {"add", path, after}}
}

// addEntries adds the entries of a map that changed. A map that does not exist yet is added as a whole, if it is still missing.
func addEntries(path string, before, after map[string]string) (ops []operation) {
	if len(before) == 0 && len(after) > 0 {
		return []operation{{"test", path, nil}, {"add", path, after}}
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if old, ok := before[key]; !ok || old != after[key] {
			ops = append(ops, operation{"add", path + "/" + escape.Replace(key), after[key]})
		}
	}
	return ops
}
