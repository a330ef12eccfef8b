package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// className is the node class that pools refer to by default.
const className = "default"

// class is a node class that is ready.
func class() *v1alpha1.KWOKNodeClass {
	c := &v1alpha1.KWOKNodeClass{}
	c.Name = className
	return c
}

// slowClass is a node class whose nodes take this long to register.
func slowClass(delay time.Duration) *v1alpha1.KWOKNodeClass {
	c := class()
	c.Spec.NodeRegistrationDelay = &metav1.Duration{Duration: delay}
	return c
}

// pool is a NodePool of Linux nodes that are not disrupted.
func pool(edits ...func(*v1.NodePool)) *v1.NodePool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1alpha1.Group, Kind: "KWOKNodeClass", Name: className}
	p.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{
		in(corev1.LabelArchStable, "amd64"), in(corev1.LabelOSStable, "linux"),
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

// in is a requirement.
func in(key string, values ...string) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

// cores lets a pool launch nodes with this many cores only.
func cores(n string) func(*v1.NodePool) {
	return func(p *v1.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in("karpenter.kwok.sh/instance-cpu", n))
	}
}

// limit bounds a pool.
func limit(name corev1.ResourceName, amount string) func(*v1.NodePool) {
	return func(p *v1.NodePool) { p.Spec.Limits = v1.Limits{name: resource.MustParse(amount)} }
}

// deployment is a workload of pods that request this much CPU.
func deployment(name string, replicas int32, cpu string, edits ...func(*corev1.PodTemplateSpec)) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	d.Spec.Replicas = &replicas
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "app", Image: "registry.k8s.io/pause:3.10",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
	}}
	for _, edit := range edits {
		edit(&d.Spec.Template)
	}
	return d
}

// scale changes the number of pods of a workload.
func (w *harness) scale(d *appsv1.Deployment, replicas int32) {
	w.t.Helper()
	change(w, d, func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas })
}

// unschedulable is how many pods kube-scheduler has tried in vain.
func (w *harness) unschedulable() (n int) {
	w.t.Helper()
	for _, pod := range w.pods() {
		if unschedulable(&pod) {
			n++
		}
	}
	return n
}

func unschedulable(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
	})
}

// awaitRunning waits until this many pods run, and no other exists.
func (w *harness) awaitRunning(pods int) {
	w.t.Helper()
	w.await(fmt.Sprintf("%d pods run", pods), patience, func() string { return w.notRunning(pods) })
}

// notRunning describes how the pods are not this many, all running; "" if they are.
func (w *harness) notRunning(pods int) string {
	w.t.Helper()
	all, running := w.pods(), 0
	for _, pod := range all {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			running++
		}
	}
	if running != pods || len(all) != pods {
		return fmt.Sprintf("%d run of %d", running, len(all))
	}
	return ""
}

// awaitNodes waits until there are this many claims and as many nodes, each claim with a node and both ready.
func (w *harness) awaitNodes(number int) {
	w.t.Helper()
	w.await(fmt.Sprintf("%d nodeclaims are initialized, each with one node", number), patience, func() string {
		return w.notPaired(number)
	})
}

// awaitPaired is awaitNodes for any number of nodes. Pods that come one after another, such as those that replace evicted ones, may be planned
// apart on a busy host, and then have several.
func (w *harness) awaitPaired() (number int) {
	w.t.Helper()
	w.await("each nodeclaim is initialized and has one node", patience, func() string {
		number = len(w.nodes())
		return w.notPaired(number)
	})
	return number
}

// notPaired describes how claims and nodes are not one to one; "" if they are.
func (w *harness) notPaired(number int) string {
	w.t.Helper()
	claims, nodes := w.claims(), w.nodes()
	if len(claims) != number || len(nodes) != number {
		return fmt.Sprintf("%d nodeclaims and %d nodes", len(claims), len(nodes))
	}
	byID := map[string]corev1.Node{}
	for _, node := range nodes {
		byID[node.Spec.ProviderID] = node
	}
	for i := range claims {
		c := &claims[i]
		node, ok := byID[c.Status.ProviderID]
		switch {
		case c.DeletionTimestamp != nil || ok && node.DeletionTimestamp != nil:
			return fmt.Sprintf("nodeclaim %q goes", c.Name)
		case condition.Status(c, v1.ConditionTypeInitialized) != metav1.ConditionTrue:
			return fmt.Sprintf("nodeclaim %q has the conditions %s", c.Name, conditions(c))
		case !ok || c.Status.NodeName != node.Name:
			return fmt.Sprintf("nodeclaim %q with provider id %q and node %q has no node", c.Name, c.Status.ProviderID, c.Status.NodeName)
		}
		delete(byID, c.Status.ProviderID)
	}
	return ""
}

// awaitNothing waits until no claim, no node and no pod is left.
func (w *harness) awaitNothing(within time.Duration) {
	w.t.Helper()
	w.await("no pod, nodeclaim and node is left", within, func() string {
		pods, claims, nodes := w.pods(), w.claims(), w.nodes()
		if len(pods)+len(claims)+len(nodes) > 0 {
			return fmt.Sprintf("%d pods, %d nodeclaims, %d nodes", len(pods), len(claims), len(nodes))
		}
		return ""
	})
}

// awaitEvent waits until karpenter has published this event about an object.
func (w *harness) awaitEvent(about client.Object, reason, text string) {
	w.t.Helper()
	w.await(fmt.Sprintf("event %s on %q with the message %q", reason, about.GetName(), text), patience, func() string {
		messages := w.events(about, reason)
		if slices.ContainsFunc(messages, func(m string) bool { return strings.Contains(m, text) }) {
			return ""
		}
		return fmt.Sprintf("messages %q", messages)
	})
}

// conditions shows the conditions of an object.
func conditions(o condition.Object) string {
	var out string
	for _, c := range *o.ConditionList() {
		out += fmt.Sprintf("%s=%s (%s: %s) ", c.Type, c.Status, c.Reason, c.Message)
	}
	return out
}
