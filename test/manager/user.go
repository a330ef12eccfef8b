package manager

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	kwokv1alpha1 "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const (
	// mostPods is how many pods users ask for.
	mostPods = 120
	// expireAfter is the lifetime of nodes.
	expireAfter = 8 * time.Hour
)

// begin creates the first objects: a NodePool for pods, a static one, and a buffer.
func (c *Cluster) begin() error {
	pool := newPool("default")
	pool.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{Duration: ptr.To(time.Minute)}
	fixed := newPool("fixed")
	fixed.Spec.Replicas = ptr.To[int64](2)
	fixed.Spec.Template.Spec.TerminationGracePeriod = &metav1.Duration{Duration: 20 * time.Minute}
	name := "spare"
	for _, o := range []client.Object{
		&kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, pool, fixed,
		&corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Template: corev1.PodTemplateSpec{Spec: podSpec("2")}},
		&v1beta1.CapacityBuffer{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec:       v1beta1.CapacityBufferSpec{PodTemplateRef: &v1beta1.LocalObjectRef{Name: name}, Replicas: ptr.To[int32](1)},
		},
	} {
		if err := c.client.Create(c.ctx, o); err != nil {
			return fmt.Errorf("creating %T: %w", o, err)
		}
	}
	return nil
}

func newPool(name string) *v1.NodePool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: kwokv1alpha1.Group, Kind: "KWOKNodeClass", Name: "default"}
	p.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{
		{Key: v1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{v1.CapacityTypeSpot, v1.CapacityTypeOnDemand}},
	}
	p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: fmt.Sprintf("%d%%", budgetPercent)}}
	p.Spec.Template.Spec.ExpireAfter = v1.NillableDuration{Duration: ptr.To(expireAfter)}
	return p
}

func podSpec(cpu string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Image: "pause",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
	}}}
}

// habits are how users and operators act.
type habits struct {
	// every is the mean time between two actions.
	every time.Duration
	// disturb is how many percent of the actions are those of operators on a replica.
	disturb int
}

// use lets users, hardware and operators act for a time.
func (c *Cluster) use(t *testing.T, d time.Duration, h habits) {
	t.Helper()
	for until := time.Now().Add(d); time.Now().Before(until); {
		time.Sleep(c.chance.between(h.every/4, h.every*7/4))
		act := c.action
		if c.chance.below(100) < h.disturb {
			act = c.disturb
		}
		if err := act(); err != nil {
			t.Fatal(err)
		}
	}
}

// action does one thing.
func (c *Cluster) action() error {
	deployments := &appsv1.DeploymentList{}
	if err := c.client.List(c.ctx, deployments); err != nil {
		return fmt.Errorf("listing deployments: %w", err)
	}
	all, pods := deployments.Items, 0
	for i := range all {
		pods += int(ptr.Deref(all[i].Spec.Replicas, 1))
	}
	switch n := c.chance.below(92); {
	case len(all) == 0 || n < 25 && pods < mostPods:
		return c.deploy()
	case n < 30:
		return c.runJob()
	case n < 60:
		d := &all[c.chance.below(len(all))]
		d.Spec.Replicas = ptr.To(int32(c.chance.below(15))) //nolint:gosec // small
		return c.did("scale", c.client.Update(c.ctx, d))
	case n < 72:
		return c.did("remove", c.client.Delete(c.ctx, &all[c.chance.below(len(all))]))
	case n < 78:
		return c.editPools()
	case n < 82:
		return c.deleteOne("delete node", &corev1.NodeList{})
	case n < 85:
		return c.deleteOne("delete NodeClaim", &v1.NodeClaimList{})
	case n < 90:
		if _, exist := c.datacenter.owners(); len(exist) > 0 {
			c.count("dead instance")
			c.datacenter.die(exist[c.chance.below(len(exist))])
		}
		return nil
	}
	return c.newImage()
}

// disturb does something to a replica, or reads its endpoints, while controllers deal with something else that has happened.
func (c *Cluster) disturb() error {
	if err := c.action(); err != nil {
		return err
	}
	time.Sleep(c.chance.between(100*time.Millisecond, 8*time.Second))
	r := c.replica(c.chance.below(replicas))
	if r == nil {
		return nil
	}
	if leader := c.leaders.leading(); leader != nil && c.chance.below(2) == 0 {
		r = leader
	}
	switch c.chance.below(6) {
	case 0:
		c.count("orderly stop")
		r.stop()
	case 1:
		c.count("kill")
		r.kill()
	case 2:
		c.count("severed connection")
		r.sever(c.chance.between(time.Second, 40*time.Second), false)
	case 3:
		c.count("severed connection of the lease")
		r.sever(c.chance.between(time.Second, 40*time.Second), true)
	default:
		c.count("scrape")
		return c.scrape(r)
	}
	return nil
}

// did ignores that an object has changed meanwhile.
func (c *Cluster) did(name string, err error) error {
	c.count(name)
	if transient(err) {
		return nil
	}
	return err
}

// deploy creates a Deployment, at times with a PodDisruptionBudget, a spread or an annotation.
func (c *Cluster) deploy() error {
	c.count("deploy")
	name := fmt.Sprintf("app-%d", time.Now().Unix())
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(1 + c.chance.below(12))), Selector: &metav1.LabelSelector{MatchLabels: labels}, //nolint:gosec // small
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec([]string{"100m", "500m", "1", "1500m", "3", "6"}[c.chance.below(6)])},
		},
	}
	if c.chance.below(4) == 0 {
		d.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: []string{corev1.LabelHostname, corev1.LabelTopologyZone}[c.chance.below(2)], WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: d.Spec.Selector,
		}}
	}
	if c.chance.below(8) == 0 {
		d.Spec.Template.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
	}
	if c.chance.below(3) == 0 {
		one := intstr.FromInt32(1)
		if err := c.client.Create(c.ctx, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: d.Spec.Selector},
		}); err != nil {
			return err
		}
	}
	return c.client.Create(c.ctx, d)
}

// runJob creates a Job whose pods complete.
func (c *Cluster) runJob() error {
	c.count("job")
	spec := podSpec("500m")
	spec.RestartPolicy = corev1.RestartPolicyNever
	return c.client.Create(c.ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("job-%d", time.Now().Unix()), Namespace: "default"},
		Spec: batchv1.JobSpec{
			Parallelism: ptr.To[int32](4), Completions: ptr.To[int32](4), TTLSecondsAfterFinished: ptr.To[int32](60),
			Template: corev1.PodTemplateSpec{Spec: spec},
		},
	})
}

// editPools changes labels of new nodes, which drifts the others.
func (c *Cluster) editPools() error {
	c.count("edit NodePools")
	pools := &v1.NodePoolList{}
	if err := c.client.List(c.ctx, pools); err != nil {
		return err
	}
	for i := range pools.Items {
		p := &pools.Items[i]
		p.Spec.Template.Labels = map[string]string{"example.com/generation": fmt.Sprint(c.chance.below(4))}
		if err := c.client.Update(c.ctx, p); err != nil && !transient(err) {
			return err
		}
	}
	return nil
}

// newImage makes the instances with an older image drift.
func (c *Cluster) newImage() error {
	c.datacenter.mu.Lock()
	c.datacenter.image++
	image := c.datacenter.image
	c.datacenter.mu.Unlock()
	class := &kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if err := c.client.Get(c.ctx, client.ObjectKeyFromObject(class), class); err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&class.ObjectMeta, "example.com/image", fmt.Sprint(image))
	return c.did("new image", c.client.Update(c.ctx, class))
}

// deleteOne deletes one of the objects of a kind by hand.
func (c *Cluster) deleteOne(name string, list client.ObjectList) error {
	if err := c.client.List(c.ctx, list); err != nil {
		return err
	}
	var all []client.Object
	switch l := list.(type) {
	case *corev1.NodeList:
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	case *v1.NodeClaimList:
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	}
	if len(all) == 0 {
		return nil
	}
	return c.did(name, c.client.Delete(c.ctx, all[c.chance.below(len(all))]))
}

// scrape reads the probes and the metrics of a replica while it works.
func (c *Cluster) scrape(r *Replica) error {
	for address, path := range map[string]string{":8080": "/metrics", ":8081": "/healthz"} {
		status, text, err := r.get(c.ctx, address, path)
		if err != nil {
			continue // it starts or ends
		}
		if status != http.StatusOK {
			c.violated("endpoint", "%s of %s answers %d", path, r.name, status)
		}
		if path == "/metrics" && !strings.Contains(text, "karpenter_build_info") {
			c.violated("endpoint", "metrics of %s lack karpenter_build_info", r.name)
		}
		c.count("read " + path)
	}
	return nil
}

// calm ends what keeps a cluster from resting: pods that block drains, and the expiry of nodes.
func (c *Cluster) calm() error {
	c.chance.stop(true)
	deployments := &appsv1.DeploymentList{}
	if err := c.client.List(c.ctx, deployments); err != nil {
		return err
	}
	for i := range deployments.Items {
		if deployments.Items[i].Spec.Template.Annotations[v1.DoNotDisruptAnnotationKey] != "" {
			if err := c.client.Delete(c.ctx, &deployments.Items[i]); err != nil {
				return err
			}
		}
	}
	return c.expire(nil)
}

// expire sets the lifetime of nodes; nil for no end.
func (c *Cluster) expire(after *time.Duration) error {
	pools := &v1.NodePoolList{}
	if err := c.client.List(c.ctx, pools); err != nil {
		return err
	}
	for i := range pools.Items {
		for {
			p := &v1.NodePool{}
			if err := c.client.Get(c.ctx, client.ObjectKeyFromObject(&pools.Items[i]), p); err != nil {
				return err
			}
			p.Spec.Template.Spec.ExpireAfter = v1.NillableDuration{Duration: after}
			err := c.client.Update(c.ctx, p)
			if err == nil {
				break
			}
			if !transient(err) {
				return err
			}
		}
	}
	return nil
}
