package shadow

import (
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Verb is what a Change does.
type Verb string

// The verbs of changes.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Change is a write to the mirror.
type Change struct {
	Verb Verb
	// Object is the whole object, of which Delete needs the name only.
	Object client.Object
	// Status is set where the status is written, too.
	Status bool
}

// ref identifies an object of either cluster.
type ref struct {
	kind string
	key  types.NamespacedName
}

// Mirror decides how the mirror follows the real cluster. The zero value is not usable: see NewMirror.
type Mirror struct {
	settings Settings
	// sources are the versions of the real objects as they were last written.
	sources map[ref]string
	// seeded is set once the nodes of the start are in the mirror.
	seeded bool
	// nodes are the real nodes that the mirror has, too.
	nodes map[string]bool
	pods  followed
	// left counts what has no twin, in the last step and at the start.
	left, leftAtStart map[string]int
}

// Settings are what the mirror needs to know about the simulated cloud.
type Settings struct {
	// ProviderID is the provider ID of the simulated instance of a Node.
	ProviderID func(node string) string
	// NodeClass refers to the node class of the simulated cloud that stands for all classes.
	NodeClass v1.NodeClassReference
	// Adoption is how long the twin of a pod that is gone waits for the pod that replaces it.
	Adoption time.Duration
}

// NewMirror returns a mirror of nothing.
func NewMirror(s Settings) *Mirror {
	return &Mirror{settings: s, sources: map[ref]string{}, nodes: map[string]bool{}, leftAtStart: map[string]int{}, pods: newFollowed()}
}

// Step compares both clusters and returns what has to be written to the mirror, in this order. The same step after failed writes, or with a
// state of the mirror that is a little old, repeats writes: that an object exists already, or is gone, is no failure.
func (m *Mirror) Step(real, mirror Cluster, now time.Time) []Change {
	out := m.follow(real, mirror)
	out = append(out, m.followNodes(real, mirror)...)
	start := !m.seeded
	if start {
		out = append(out, m.seed(real)...)
		m.seeded = true
	}
	return append(out, m.followPods(real, mirror, start, now)...)
}

// follow keeps the objects of some kinds equal.
func (m *Mirror) follow(real, mirror Cluster) []Change {
	var out []Change
	for _, kind := range Kinds() {
		if !kind.follow {
			continue
		}
		for _, source := range real.all(kind.Name) {
			id := ref{kind.Name, client.ObjectKeyFromObject(source)}
			if source.GetDeletionTimestamp() != nil || everywhere(source) {
				continue
			}
			twin := mirror.get(kind.Name, id.key)
			known, written := m.sources[id]
			if written && known == source.GetResourceVersion() && twin != nil {
				continue
			}
			m.sources[id] = source.GetResourceVersion()
			out = append(out, m.write(m.reflect(source), twin)...)
		}
	}
	return append(out, m.vanished(real, mirror)...)
}

// everywhere: every API server has the object from the start.
func everywhere(o client.Object) bool {
	_, class := o.(*schedulingv1.PriorityClass)
	return class && strings.HasPrefix(o.GetName(), "system-")
}

// vanished deletes what the real cluster has no more.
func (m *Mirror) vanished(real, mirror Cluster) []Change {
	var out []Change
	for _, kind := range Kinds() {
		if !kind.follow {
			continue
		}
		for id := range m.sources {
			if id.kind != kind.Name || real.get(id.kind, id.key) != nil {
				continue
			}
			twin := mirror.get(id.kind, id.key)
			if twin == nil {
				delete(m.sources, id)
			} else if twin.GetDeletionTimestamp() == nil {
				out = append(out, Change{Verb: Delete, Object: twin})
			}
		}
	}
	return out
}

// write creates or updates a twin, unless it is as wanted.
func (m *Mirror) write(want, twin client.Object) []Change {
	if twin == nil {
		return []Change{{Verb: Create, Object: want, Status: hasStatus(want)}}
	}
	// What the controllers of the mirror have written stays.
	want.SetResourceVersion(twin.GetResourceVersion())
	want.SetUID(twin.GetUID())
	want.SetFinalizers(twin.GetFinalizers())
	annotations := maps.Clone(twin.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, want.GetAnnotations())
	want.SetAnnotations(annotations)
	return []Change{{Verb: Update, Object: want, Status: hasStatus(want)}}
}

// hasStatus: the status comes from the real cluster. No controller of the mirror writes it.
func hasStatus(o client.Object) bool {
	switch o.(type) {
	case *corev1.PersistentVolume, *corev1.PersistentVolumeClaim, *corev1.Node, *v1.NodeClaim:
		return true
	default:
		return false
	}
}

// Left counts what has no twin, by what it is.
func (m *Mirror) Left() map[string]int {
	out := maps.Clone(m.leftAtStart)
	maps.Copy(out, m.left)
	return out
}

// Forget makes the next step write an object again whose write failed.
func (m *Mirror) Forget(o client.Object) {
	key := client.ObjectKeyFromObject(o)
	delete(m.sources, ref{kindOf(o), key})
	if kindOf(o) != "Pod" {
		return
	}
	for _, t := range m.pods.twins {
		if t.key == key {
			t.seen, t.meta = "", ""
		}
	}
}
