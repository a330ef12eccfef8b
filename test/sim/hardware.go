package sim

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kwokv1alpha1 "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	"github.com/karpenter-anew/karpenter/embedded/kubelet"
)

// instance is the instance of a provider ID; nil if there is none.
func (d *Datacenter) instance(id string) *Instance {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.instances[id]
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
