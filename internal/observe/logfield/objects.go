package logfield

import (
	"log/slog"
	"strings"

	"k8s.io/klog/v2"
)

// object is a field that names a Kubernetes object: {"name": "a"}, or {"name": "a", "namespace": "default"} when id is "default/a".
// The controller library writes the object that is reconciled in the same form.
func object(key, id string) slog.Attr {
	if namespace, name, ok := strings.Cut(id, "/"); ok {
		return slog.Any(key, klog.KRef(namespace, name))
	}
	return slog.Any(key, klog.KRef("", id))
}

// Object is a field for an object of a kind that has no function below; id is as for object.
func Object(kind, name string) slog.Attr { return object(kind, name) }

// NodeClaim names a NodeClaim.
func NodeClaim(name string) slog.Attr { return object("NodeClaim", name) }

// NodePool names a NodePool.
func NodePool(name string) slog.Attr { return object("NodePool", name) }

// NodeOverlay names a NodeOverlay.
func NodeOverlay(name string) slog.Attr { return object("NodeOverlay", name) }

// Node names a node; the name is empty when a NodeClaim has none.
func Node(name string) slog.Attr { return object("Node", name) }

// Pod names a pod.
func Pod(namespacedName string) slog.Attr { return object("Pod", namespacedName) }

// DaemonSet names a DaemonSet.
func DaemonSet(namespacedName string) slog.Attr { return object("DaemonSet", namespacedName) }

// PodDisruptionBudget names a PodDisruptionBudget.
func PodDisruptionBudget(namespacedName string) slog.Attr {
	return object("PodDisruptionBudget", namespacedName)
}

// CapacityBuffer names a CapacityBuffer.
func CapacityBuffer(namespacedName string) slog.Attr { return object("CapacityBuffer", namespacedName) }
