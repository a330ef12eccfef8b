package shadow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/podrules"
)

// WorkloadAnnotation names the controller of the real pod on its twin, as Kind/name: the mirror has no workloads.
const WorkloadAnnotation = "shadow.karpenter.sh/workload"

// followed are the pods of the mirror.
type followed struct {
	// twins are by the UID of the real pod.
	twins map[types.UID]*twin
	// orphans are twins whose pod is gone; another pod may take them over.
	orphans []*twin
}

func newFollowed() followed { return followed{twins: map[types.UID]*twin{}} }

// twin is a pod of the mirror.
type twin struct {
	key types.NamespacedName
	// stands is equal for pods of which one can replace the other.
	stands string
	// meta is what may change in a pod without another place: labels, annotations.
	meta, spec string
	// seen is the version of the pod that meta and spec were last compared with.
	seen string
	// since is when an orphan became one, written when the twin was last created.
	since, written time.Time
}

// followPods keeps a twin for each pod. At the start, pods stay where they are.
func (m *Mirror) followPods(real, mirror Cluster, start bool, now time.Time) []Change {
	m.left = map[string]int{}
	var live []*corev1.Pod
	for _, pod := range real.pods() {
		if Mirrored(pod) {
			live = append(live, pod)
		} else if what := unsupported(pod); what != "" && podrules.Active(pod) {
			m.left[what]++
		}
	}
	m.abandon(live, now)
	var out []Change
	for _, pod := range live {
		if t := m.pods.twins[pod.UID]; t != nil {
			out = append(out, m.keep(pod, t, mirror, now)...)
			continue
		}
		spec := specOf(pod)
		like := stands(pod, spec)
		if t := m.adopt(pod, like); t != nil {
			out = append(out, m.keep(pod, t, mirror, now)...)
			continue
		}
		key := client.ObjectKeyFromObject(pod)
		if old := mirror.get("Pod", key); old != nil {
			if !m.taken(key) {
				out = append(out, Change{Verb: Delete, Object: old})
			}
			continue // its name is free in one of the next steps
		}
		m.pods.twins[pod.UID] = &twin{key: key, stands: like, meta: metaOf(pod), spec: spec, written: now}
		out = append(out, Change{Verb: Create, Object: m.reflectPod(pod, key, start)})
	}
	return append(out, m.dismiss(mirror, now)...)
}

// Mirrored reports whether a pod of the real cluster has a twin, and whether one of the mirror is a twin. Pods of DaemonSets and static pods
// are those of the nodes of each cluster.
func Mirrored(pod *corev1.Pod) bool {
	return podrules.Active(pod) && !podrules.OwnedByDaemonSet(pod) && !podrules.OwnedByNode(pod) && unsupported(pod) == ""
}

// unsupported is what the mirror has no twins of.
func unsupported(pod *corev1.Pod) string {
	switch {
	case len(pod.Spec.ResourceClaims) > 0:
		return "pods with resource claims"
	case podrules.PodGroupOf(pod) != "":
		return "pods of pod groups"
	case pod.Spec.SchedulerName != "" && pod.Spec.SchedulerName != corev1.DefaultSchedulerName:
		return "pods of other schedulers than " + corev1.DefaultSchedulerName
	default:
		return ""
	}
}

// abandon makes twins of pods that are gone orphans.
func (m *Mirror) abandon(live []*corev1.Pod, now time.Time) {
	alive := make(map[types.UID]bool, len(live))
	for _, pod := range live {
		alive[pod.UID] = true
	}
	var gone []*twin
	for uid, t := range m.pods.twins {
		if !alive[uid] {
			t.since = now
			gone = append(gone, t)
			delete(m.pods.twins, uid)
		}
	}
	slices.SortFunc(gone, func(a, b *twin) int { return compareKeys(a.key, b.key) })
	m.pods.orphans = append(m.pods.orphans, gone...)
}

// adopt gives a new pod the twin of a pod that it replaces.
func (m *Mirror) adopt(pod *corev1.Pod, like string) *twin {
	at := slices.IndexFunc(m.pods.orphans, func(t *twin) bool { return t.stands == like })
	if at < 0 {
		return nil
	}
	t := m.pods.orphans[at]
	m.pods.orphans = slices.Delete(m.pods.orphans, at, at+1)
	m.pods.twins[pod.UID] = t
	return t
}

// keep writes what has changed in a pod, and replaces a twin that was evicted.
func (m *Mirror) keep(pod *corev1.Pod, t *twin, mirror Cluster, now time.Time) []Change {
	have, _ := mirror.get("Pod", t.key).(*corev1.Pod)
	if have != nil && t.seen == pod.ResourceVersion {
		return nil
	}
	meta, spec := metaOf(pod), specOf(pod)
	switch {
	case have == nil && now.Sub(t.written) < settle:
		return nil // the state of the mirror may be older than the last write
	case have == nil:
		t.meta, t.spec, t.written = meta, spec, now
		return []Change{{Verb: Create, Object: m.reflectPod(pod, t.key, false)}}
	case have.DeletionTimestamp != nil:
		return nil
	case spec != t.spec:
		// Resources or scheduling gates: the twin starts anew.
		t.written = time.Time{}
		return []Change{{Verb: Delete, Object: have}}
	case meta != t.meta:
		t.meta = meta
		changed := have.DeepCopy()
		fresh := m.reflectPod(pod, t.key, false)
		changed.Labels, changed.Annotations = fresh.Labels, fresh.Annotations
		return []Change{{Verb: Update, Object: changed}}
	}
	t.seen = pod.ResourceVersion
	return nil
}

// settle is how long a write may take to show.
const settle = 3 * time.Second

// dismiss deletes orphans that no pod has taken over.
func (m *Mirror) dismiss(mirror Cluster, now time.Time) []Change {
	var out []Change
	m.pods.orphans = slices.DeleteFunc(m.pods.orphans, func(t *twin) bool {
		if now.Sub(t.since) < m.settings.Adoption {
			return false
		}
		have := mirror.get("Pod", t.key)
		if have == nil {
			return now.Sub(t.written) > settle
		}
		if have.GetDeletionTimestamp() == nil {
			out = append(out, Change{Verb: Delete, Object: have})
		}
		return false
	})
	return out
}

func (m *Mirror) taken(key types.NamespacedName) bool {
	for _, t := range m.pods.twins {
		if t.key == key {
			return true
		}
	}
	return slices.ContainsFunc(m.pods.orphans, func(t *twin) bool { return t.key == key })
}

// reflectPod is the twin of a pod. bound is set at the start: then it stays where it is, if the mirror has that node.
func (m *Mirror) reflectPod(pod *corev1.Pod, key types.NamespacedName, bound bool) *corev1.Pod {
	out := pod.DeepCopy()
	strip(out)
	out.Name, out.Status = key.Name, corev1.PodStatus{}
	if !bound || !m.nodes[out.Spec.NodeName] {
		out.Spec.NodeName = ""
	}
	out.Spec.EphemeralContainers = nil
	if owner := metav1.GetControllerOf(pod); owner != nil {
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		out.Annotations[WorkloadAnnotation] = owner.Kind + "/" + owner.Name
	}
	return out
}

// stands is equal for two pods if one can take the place of the other: the same controller, and the same spec but for the node. A pod with
// volume claims replaces only one of the same name. spec is specOf the pod.
func stands(pod *corev1.Pod, spec string) string {
	owner, name := types.UID(""), ""
	if c := metav1.GetControllerOf(pod); c != nil {
		owner = c.UID
	}
	if owner == "" || hasClaims(pod) {
		name = pod.Name
	}
	return digest(struct {
		Namespace, Name, Spec string
		Owner                 types.UID
	}{pod.Namespace, name, spec, owner})
}

func hasClaims(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
}

// specOf is what the place of a pod depends on: resources, ports and volume claims of its containers, and how it is scheduled.
func specOf(pod *corev1.Pod) string {
	spec := pod.Spec.DeepCopy()
	spec.NodeName, spec.Hostname, spec.EphemeralContainers = "", "", nil
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim == nil && v.Ephemeral == nil })
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			c := &list[i]
			*c = corev1.Container{Resources: c.Resources, Ports: c.Ports, RestartPolicy: c.RestartPolicy}
		}
	}
	return digest(spec)
}

func metaOf(pod *corev1.Pod) string {
	annotations := maps.Clone(pod.Annotations)
	for _, key := range dropped() {
		delete(annotations, key)
	}
	return digest([]map[string]string{pod.Labels, annotations})
}

func digest(of any) string {
	text, err := json.Marshal(of)
	if err != nil {
		return err.Error() // no object of the API fails to encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
