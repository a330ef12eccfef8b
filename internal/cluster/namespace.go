package cluster

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// UpdateNamespace applies the current version of a namespace. Only its labels matter, for the namespace selectors of pod
// affinity.
func (s *Store) UpdateNamespace(namespace *corev1.Namespace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.namespaces[namespace.Name]
	if known && maps.Equal(before, namespace.Labels) {
		return
	}
	s.writableNamespaces()[namespace.Name] = maps.Clone(namespace.Labels)
	s.changed = true
}

// DeleteNamespace removes a namespace.
func (s *Store) DeleteNamespace(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.namespaces[name]; !known {
		return
	}
	delete(s.writableNamespaces(), name)
	s.changed = true
}

func (s *Store) publishNamespaces() map[string]map[string]string {
	s.namespacesShared = true
	return s.namespaces
}

// writableNamespaces returns the map, copied first if a Snapshot shares it.
func (s *Store) writableNamespaces() map[string]map[string]string {
	if s.namespacesShared {
		s.namespaces, s.namespacesShared = maps.Clone(s.namespaces), false
	}
	return s.namespaces
}
