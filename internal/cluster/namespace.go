package cluster

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// Namespaces is the part of a Store that holds the labels of namespaces.
type Namespaces struct {
	store *Store
	// labels is shared with the last Snapshot while shared is set.
	labels map[string]map[string]string
	shared bool
}

// Update applies the current version of a namespace. Only its labels matter, for the namespace selectors of pod affinity.
func (n *Namespaces) Update(namespace *corev1.Namespace) {
	n.store.mu.Lock()
	defer n.store.mu.Unlock()
	before, known := n.labels[namespace.Name]
	if known && maps.Equal(before, namespace.Labels) {
		return
	}
	n.writable()[namespace.Name] = maps.Clone(namespace.Labels)
	n.store.changed = true
}

// Delete removes a namespace.
func (n *Namespaces) Delete(name string) {
	n.store.mu.Lock()
	defer n.store.mu.Unlock()
	if _, known := n.labels[name]; !known {
		return
	}
	delete(n.writable(), name)
	n.store.changed = true
}

func (n *Namespaces) publish() map[string]map[string]string {
	n.shared = true
	return n.labels
}

// writable returns the map, copied first if a Snapshot shares it.
func (n *Namespaces) writable() map[string]map[string]string {
	if n.shared {
		n.labels, n.shared = maps.Clone(n.labels), false
	}
	return n.labels
}
