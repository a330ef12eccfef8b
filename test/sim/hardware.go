package sim

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kwokv1alpha1 "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	"github.com/karpenter-anew/karpenter/embedded/kubelet"
)

// foreignPrefix begins the names of Nodes that are not Karpenter's.
const foreignPrefix = "foreign-"

// instance is the instance of a provider ID; nil if there is none.
func (d *Datacenter) instance(id string) *Instance {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.instances[id]
}

// zones are those of the offerings.
func (d *Datacenter) zones() []string {
	out := map[string]bool{}
	for _, t := range d.types {
		for i := range t.Offerings {
			out[t.Offerings[i].Zone()] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// silence makes the kubelet of a Node stop reporting: Ready becomes Unknown. One that recovers reports again after some minutes.
func (d *Datacenter) silence(name string, recovers bool) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if d.api.Get(node) != nil {
		return
	}
	metav1.SetMetaDataAnnotation(&node.ObjectMeta, kubelet.HandsOff, "true")
	if d.api.update(node, "") != nil {
		return
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionUnknown, "NodeStatusUnknown", metav1.NewTime(time.Now())
		}
	}
	_ = d.api.update(node, "status")
	if recovers {
		d.world.soon("return of "+name, "silence", time.Minute, 3*time.Minute, func() {
			if node := (&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); d.api.Get(node) == nil {
				delete(node.Annotations, kubelet.HandsOff)
				_ = d.api.update(node, "")
			}
		})
	}
}

// label adds labels to a Node.
func (d *Datacenter) label(name string, labels map[string]string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if d.api.Get(node) != nil {
		return
	}
	for key, value := range labels {
		metav1.SetMetaDataLabel(&node.ObjectMeta, key, value)
	}
	_ = d.api.update(node, "")
}

// foreign adds a Node that is not Karpenter's, or deletes one.
func (u *User) foreign() {
	var others []*corev1.Node
	for _, n := range All[corev1.Node](u.cluster.API) {
		if strings.HasPrefix(n.Name, foreignPrefix) {
			others = append(others, n)
		}
	}
	if len(others) > 0 && u.draw(2) == 0 {
		pick(u, others, func(n *corev1.Node) { u.remove(n) })
		return
	}
	name := foreignPrefix + strconv.Itoa(u.actions)
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	_ = u.cluster.API.Create(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{ProviderID: "other:///" + name},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	})
}

// outdate releases a new image with an edit of the NodeClass: instances with an older one drift.
func (d *Datacenter) outdate() {
	d.mu.Lock()
	d.image++
	image := d.image
	d.mu.Unlock()
	class := &kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if d.api.Get(class) == nil {
		metav1.SetMetaDataAnnotation(&class.ObjectMeta, "example.com/image", strconv.Itoa(image))
		_ = d.api.update(class, "")
	}
}

// outage makes all offerings of a zone run out for a while.
func (d *Datacenter) outage() {
	d.mu.Lock()
	defer d.mu.Unlock()
	var zones []string
	for _, t := range d.types {
		for i := range t.Offerings {
			zones = append(zones, t.Offerings[i].Zone())
		}
	}
	slices.Sort(zones)
	zones = slices.Compact(zones)
	zone, until := zones[d.world.stream("outage").IntN(len(zones))], time.Now().Add(outage)
	for _, t := range d.types {
		for i := range t.Offerings {
			if o := &t.Offerings[i]; o.Zone() == zone {
				d.out[offeringKey(t, o)] = until
			}
		}
	}
}
