package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kwokv1alpha1 "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// budgetPercent is the budget of pools, in percent of their nodes.
const budgetPercent = 30

// User is the people who use the cluster: they create, scale and delete workloads, edit NodePools, and delete nodes by hand; and it is the
// bad luck of hardware.
type User struct {
	cluster *Cluster
	scene   Scene
	// Stopped ends its actions.
	Stopped bool

	// actions counts the actions, whether they happen or not, and rand is what the current one draws from: leaving one out moves no other.
	actions int
	rand    *rand.Rand
}

// Begin creates the first objects and schedules the first action.
func (u *User) Begin() error {
	if err := u.cluster.API.Create(&kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}); err != nil {
		return err
	}
	u.rand = u.cluster.World.stream("user action")
	expires := u.draw(2) == 0
	for _, p := range u.pools(expires) {
		if err := u.cluster.API.Create(p); err != nil {
			return err
		}
	}
	for _, o := range u.extras() {
		if err := u.cluster.API.Create(o); err != nil {
			return err
		}
	}
	u.plan()
	u.repeat("reboot", "reboot", u.scene.Reboots, u.requestReboot)
	u.repeat("unhealthy node", "health", u.scene.Unhealthy, u.spoil)
	return nil
}

func (u *User) plan() {
	every := u.scene.Every
	u.cluster.World.soon("user", "user", every/4, every*7/4, func() {
		if u.Stopped {
			return
		}
		if u.actions++; u.cluster.World.chosen("user", u.actions) {
			u.rand = u.cluster.World.stream(fmt.Sprintf("user action %d", u.actions))
			u.act()
		}
		u.plan()
	})
}

// repeat does something beside the actions, with a mean time between two of them; zero for never. It has dedicated streams, so that it moves no
// action.
func (u *User) repeat(name, stream string, every time.Duration, do func(*rand.Rand)) {
	if every <= 0 {
		return
	}
	n := 0
	var plan func()
	plan = func() {
		u.cluster.World.soon(name, stream, every/4, every*7/4, func() {
			if u.Stopped {
				return
			}
			if n++; u.cluster.World.chosen(name, n) {
				do(u.cluster.World.stream(fmt.Sprintf("%s %d", name, n)))
			}
			plan()
		})
	}
	plan()
}

// draw is a number below n.
func (u *User) draw(n int) int { return u.rand.IntN(n) }

// act chooses an action by the weights of the scene, and does it if there is something to do it with.
func (u *User) act() {
	s := &u.scene
	all := All[appsv1.Deployment](u.cluster.API)
	actions := []struct {
		weight int
		do     func()
	}{
		{s.Create, u.create},
		{s.Scale, func() { pick(u, all, func(d *appsv1.Deployment) { u.scale(d, u.draw(15)) }) }},
		{s.Remove, func() { pick(u, all, func(d *appsv1.Deployment) { u.remove(d) }) }},
		{s.EditPool, u.editPool},
		{s.DeleteNode, func() { pick(u, All[corev1.Node](u.cluster.API), func(n *corev1.Node) { u.remove(n) }) }},
		{s.DeleteClaim, func() { pick(u, All[v1.NodeClaim](u.cluster.API), func(c *v1.NodeClaim) { u.remove(c) }) }},
		{s.Die, func() {
			pick(u, slices.Sorted(maps.Keys(u.cluster.Datacenter.Instances())), u.cluster.Datacenter.Die)
		}},
		{s.EditStatic, u.editStatic},
		{s.Silent, func() {
			pick(u, All[corev1.Node](u.cluster.API), func(n *corev1.Node) { u.cluster.Datacenter.silence(n.Name, true) })
		}},
		{s.Outdate, u.cluster.Datacenter.outdate},
		{s.Outage, u.cluster.Datacenter.outage},
		{s.Foreign, u.foreign},
		{s.Stateful, u.createStateful},
	}
	pods, sum := 0, 0
	for _, d := range all {
		pods += int(ptr.Deref(d.Spec.Replicas, 1))
	}
	if pods >= s.MaxPods {
		actions[0].weight, actions[2].weight = 0, s.Remove+s.Create*min(s.Remove, 1)
	}
	for _, a := range actions {
		sum += a.weight
	}
	n := u.draw(max(sum, 1))
	if len(all) == 0 || sum == 0 {
		actions[0].do()
		return
	}
	for _, a := range actions {
		if n -= a.weight; n < 0 {
			a.do()
			return
		}
	}
}

// pick does something with one of a list, if it has any.
func pick[T any](u *User, list []T, do func(T)) {
	if len(list) > 0 {
		do(list[u.draw(len(list))])
	}
}

func (u *User) remove(o client.Object) { _ = u.cluster.API.Delete(o, metav1.DeleteOptions{}) }

// create creates a Deployment, at times with a PodDisruptionBudget, a spread or an annotation.
func (u *User) create() {
	d := newDeployment(fmt.Sprintf("app-%d", u.actions), int32(1+u.draw(12)), []string{"100m", "500m", "1", "1500m", "3", "7"}[u.draw(6)]) //nolint:gosec // small
	if u.scene.Plain {
		_ = u.cluster.API.Create(d)
		return
	}
	if u.draw(4) == 0 {
		d.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: []string{corev1.LabelHostname, corev1.LabelTopologyZone}[u.draw(2)], WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: d.Spec.Selector,
		}}
	}
	if u.draw(u.scene.Protected) == 0 {
		d.Spec.Template.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
	}
	_ = u.cluster.API.Create(d)
	if u.draw(u.scene.Guarded) == 0 {
		one := intstr.FromInt32(1)
		_ = u.cluster.API.Create(&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: d.Name, Namespace: d.Namespace},
			Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: d.Spec.Selector},
		})
	}
}

func (u *User) scale(d *appsv1.Deployment, replicas int) {
	d = d.DeepCopy()
	d.Spec.Replicas = ptr.To(int32(replicas)) //nolint:gosec // small
	_ = u.cluster.API.update(d, "")
}

// editPool changes labels of new nodes, which drifts the others.
func (u *User) editPool() {
	for _, p := range All[v1.NodePool](u.cluster.API) {
		p = p.DeepCopy()
		p.Spec.Template.Labels = map[string]string{"example.com/generation": fmt.Sprint(u.draw(cmp.Or(u.scene.Generations, 4)))}
		_ = u.cluster.API.update(p, "")
	}
}

func newPool(name string) *v1.NodePool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: kwokv1alpha1.Group, Kind: "KWOKNodeClass", Name: "default"}
	p.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{
		{Key: v1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{v1.CapacityTypeSpot, v1.CapacityTypeOnDemand}},
	}
	return p
}

func newDeployment(name string, replicas int32, cpu string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "c", Image: "pause",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
				}}},
			},
		},
	}
}
