package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kwokv1alpha1 "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// budgetPercent is the budget of pools, in percent of their nodes.
const budgetPercent = 30

// User is the people who use the cluster: they create, scale and delete workloads, edit NodePools, and delete nodes by hand; and it is the
// bad luck of hardware.
type User struct {
	cluster *Cluster
	// Every is the mean time between two actions; MaxPods bounds the pods that it asks for.
	Every   time.Duration
	MaxPods int
	// Stopped ends its actions.
	Stopped bool

	names int
}

// Begin creates the first objects and schedules the first action.
func (u *User) Begin() error {
	if err := u.cluster.API.Create(&kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}); err != nil {
		return err
	}
	p := newPool("default")
	p.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{Duration: ptr.To(30 * time.Second)}
	p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: fmt.Sprintf("%d%%", budgetPercent)}}
	if u.draw(2) == 0 {
		p.Spec.Template.Spec.ExpireAfter = v1.NillableDuration{Duration: ptr.To(6 * time.Hour)}
	}
	if err := u.cluster.API.Create(p); err != nil {
		return err
	}
	u.plan()
	return nil
}

func (u *User) plan() {
	u.cluster.World.soon("user", "user", u.Every/4, u.Every*7/4, func() {
		if u.Stopped {
			return
		}
		u.act()
		u.plan()
	})
}

// draw is a number below n.
func (u *User) draw(n int) int { return u.cluster.World.stream("user action").IntN(n) }

func (u *User) act() {
	all := All[appsv1.Deployment](u.cluster.API)
	pods := 0
	for _, d := range all {
		pods += int(ptr.Deref(d.Spec.Replicas, 1))
	}
	switch n := u.draw(100); {
	case n < 35 && pods < u.MaxPods || len(all) == 0:
		u.create()
	case n < 65:
		u.scale(all[u.draw(len(all))], u.draw(15))
	case n < 80:
		_ = u.cluster.API.Delete(all[u.draw(len(all))], metav1.DeleteOptions{})
	case n < 88:
		u.editPool()
	case n < 93:
		if nodes := All[corev1.Node](u.cluster.API); len(nodes) > 0 {
			_ = u.cluster.API.Delete(nodes[u.draw(len(nodes))], metav1.DeleteOptions{})
		}
	case n < 96:
		if claims := All[v1.NodeClaim](u.cluster.API); len(claims) > 0 {
			_ = u.cluster.API.Delete(claims[u.draw(len(claims))], metav1.DeleteOptions{})
		}
	default:
		if ids := slices.Sorted(maps.Keys(u.cluster.Datacenter.Instances())); len(ids) > 0 {
			u.cluster.Datacenter.Die(ids[u.draw(len(ids))])
		}
	}
}

// create creates a Deployment, at times with a PodDisruptionBudget, a spread or an annotation.
func (u *User) create() {
	u.names++
	d := newDeployment(fmt.Sprintf("app-%d", u.names), int32(1+u.draw(12)), []string{"100m", "500m", "1", "1500m", "3", "7"}[u.draw(6)]) //nolint:gosec // small
	if u.draw(4) == 0 {
		d.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: []string{corev1.LabelHostname, corev1.LabelTopologyZone}[u.draw(2)], WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: d.Spec.Selector,
		}}
	}
	if u.draw(6) == 0 {
		d.Spec.Template.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
	}
	_ = u.cluster.API.Create(d)
	if u.draw(3) == 0 {
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
		p.Spec.Template.Labels = map[string]string{"example.com/generation": fmt.Sprint(u.draw(4))}
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
