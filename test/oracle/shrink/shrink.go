// Package shrink makes problems smaller while a failure stays.
//
// It removes documents, then fields and elements of lists, largest first, and starts over until nothing more can go: delta debugging on
// the tree of the manifests. Whether a change keeps the failure is for the caller to say, so that nothing here knows the kinds.
package shrink

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// Documents returns documents from which nothing can be removed without losing the failure, or what is left after a number of tries, or
// when ctx ends.
func Documents(ctx context.Context, documents []map[string]any, tries int, fails func([]map[string]any) bool) []map[string]any {
	s := &shrinker{fails: fails, left: tries, ends: ctx.Done(), documents: documents}
	for changed := true; changed && !s.over(); {
		changed = s.dropDocuments()
		for i := range s.documents {
			changed = s.dropFields(i) || changed
		}
	}
	return s.documents
}

type shrinker struct {
	fails     func([]map[string]any) bool
	left      int
	ends      <-chan struct{}
	documents []map[string]any
}

// over reports whether no tries are left, or no time.
func (s *shrinker) over() bool {
	select {
	case <-s.ends:
		return true
	default:
		return s.left <= 0
	}
}

// try keeps a candidate that still fails.
func (s *shrinker) try(candidate []map[string]any) bool {
	if s.over() {
		return false
	}
	if s.left--; !s.fails(candidate) {
		return false
	}
	s.documents = candidate
	return true
}

// dropDocuments removes runs of documents, long ones first.
func (s *shrinker) dropDocuments() (changed bool) {
	for size := max(1, len(s.documents)/2); size > 0; size /= 2 {
		for at := 0; at+size <= len(s.documents); {
			if s.try(slices.Delete(slices.Clone(s.documents), at, at+size)) {
				changed = true
			} else {
				at += size
			}
		}
	}
	return changed
}

// step is one step into a tree: a key of an object or an index of a list.
type step struct {
	key   string
	index int
}

// dropFields removes fields and elements of one document, outer ones first, and lowers numbers of replicas.
func (s *shrinker) dropFields(document int) (changed bool) {
	for _, path := range paths(s.documents[document], nil) {
		candidate := slices.Clone(s.documents)
		candidate[document] = runtime.DeepCopyJSON(s.documents[document])
		if remove(candidate[document], path) && s.try(candidate) {
			changed = true
		}
	}
	return s.lowerReplicas(document) || changed
}

func (s *shrinker) lowerReplicas(document int) (changed bool) {
	for {
		candidate := slices.Clone(s.documents)
		candidate[document] = runtime.DeepCopyJSON(s.documents[document])
		spec, ok := candidate[document]["spec"].(map[string]any)
		if !ok {
			return changed
		}
		replicas, ok := spec["replicas"].(int64)
		if !ok || replicas <= 1 {
			return changed
		}
		spec["replicas"] = replicas - 1
		if !s.try(candidate) {
			return changed
		}
		changed = true
	}
}

// paths are the paths to everything in a tree, outer ones first, and later elements of a list before earlier ones, so that paths stay
// valid while elements go.
func paths(node any, at []step) [][]step {
	var out, deeper [][]step
	switch node := node.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			path := append(slices.Clone(at), step{key: key})
			if !kept(key) {
				out = append(out, path)
			}
			if key != "labelSelector" { // an emptier one selects more
				deeper = append(deeper, paths(node[key], path)...)
			}
		}
	case []any:
		for i := len(node) - 1; i >= 0; i-- {
			path := append(slices.Clone(at), step{index: i})
			out = append(out, path)
			deeper = append(deeper, paths(node[i], path)...)
		}
	}
	return append(out, deeper...)
}

// kept are fields without which the API server takes no object of the kind: a problem without them would be no problem of a user.
func kept(key string) bool {
	switch key {
	case "apiVersion", "kind", "metadata", "name", "topologyKey", "whenUnsatisfiable", "maxSkew", "weight", "containers", "image", "key", "operator",
		"nodeClassRef", "nodeName", "selector", "provisioner", "volumeBindingMode", "labelSelector":
		return true
	}
	return false
}

// remove removes what a path leads to. It reports whether that is still there.
func remove(node any, path []step) bool {
	parent := any(nil)
	for i, at := range path {
		if i == len(path)-1 {
			return removeFrom(parent, node, path, i)
		}
		parent = node
		switch n := node.(type) {
		case map[string]any:
			node = n[at.key]
		case []any:
			if at.index >= len(n) {
				return false
			}
			node = n[at.index]
		default:
			return false
		}
	}
	return false
}

// removeFrom removes the last step of a path from node, which the step before it reached from parent.
func removeFrom(parent, node any, path []step, last int) bool {
	switch n := node.(type) {
	case map[string]any:
		if _, ok := n[path[last].key]; !ok {
			return false
		}
		delete(n, path[last].key)
		return true
	case []any:
		if path[last].index >= len(n) || last == 0 {
			return false
		}
		shorter := slices.Delete(slices.Clone(n), path[last].index, path[last].index+1)
		switch p := parent.(type) {
		case map[string]any:
			p[path[last-1].key] = shorter
		case []any:
			p[path[last-1].index] = shorter
		default:
			return false
		}
		return true
	}
	return false
}
