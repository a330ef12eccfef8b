package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest/firstboot"
	"github.com/karpenter-anew/karpenter/test/awscluster"
)

// awsCluster is the name of the cluster in the account.
const awsCluster = "test"

// awsPatience is how long a whole table of cases may take.
const awsPatience = 90 * time.Second

// account starts an AWS test server beside the cluster for the duration of the test. Controllers that are started after it can use it.
// Beside the types there is always one of bare metal, as in every region: their prices are asked for apart.
func (w *harness) account(types ...string) *awscluster.AWS {
	w.t.Helper()
	return w.accountWith(awscluster.Options{Types: types})
}

// accountWith is an account as the options say, but for the name of the cluster and how long things take.
func (w *harness) accountWith(o awscluster.Options) *awscluster.AWS {
	w.t.Helper()
	o.Cluster, o.Boot, o.Shutdown = awsCluster, time.Second, time.Second
	o.Types = append(o.Types, "m5.metal")
	a, err := awscluster.Start(w.ctx, w.plane.Kubeconfig, w.client, o)
	w.must(err)
	w.environment = a.Environment()
	w.t.Cleanup(func() {
		w.environment = nil
		if err := a.Stop(); err != nil {
			w.t.Error(err)
		}
		if w.t.Failed() {
			for _, i := range a.Account.Instances() {
				if err := a.Joiner.Refusal(i.ID); err != nil {
					w.t.Logf("instance %s has not joined: %v", i.ID, err)
				}
			}
		}
	})
	return a
}

// awsClass is a class of a case. Its subnets and groups are those of the cluster.
func awsClass(name string, edits ...func(*awsv1.EC2NodeClass)) *awsv1.EC2NodeClass {
	discovery := map[string]string{"karpenter.sh/discovery": awsCluster}
	c := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: awsv1.EC2NodeClassSpec{
		SubnetSelectorTerms: []awsv1.SubnetSelectorTerm{{Tags: discovery}}, SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: discovery}},
		AMISelectorTerms: []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}, Role: awstest.Role,
	}}
	for _, edit := range edits {
		edit(c)
	}
	return c
}

// caseLabel is on the nodes of a case, and its pods ask for it.
const caseLabel = "example.com/case"

// awsPool is the pool of a case: on demand, and of these types only.
func awsPool(name string, types []string, edits ...func(*v1.NodePool)) *v1.NodePool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Template.Labels = map[string]string{caseLabel: name}
	p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: name}
	p.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{
		in(corev1.LabelInstanceTypeStable, types...), in(v1.CapacityTypeLabelKey, "on-demand"), in(corev1.LabelOSStable, "linux"),
	}
	p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "100%"}}
	p.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{} // never
	for _, edit := range edits {
		edit(p)
	}
	return p
}

// reserving lets a class use these capacity reservations, and no others.
func reserving(ids ...string) func(*awsv1.EC2NodeClass) {
	return func(c *awsv1.EC2NodeClass) {
		c.Spec.CapacityReservationSelectorTerms = nil
		for _, id := range ids {
			c.Spec.CapacityReservationSelectorTerms = append(c.Spec.CapacityReservationSelectorTerms, awsv1.CapacityReservationSelectorTerm{ID: id})
		}
	}
}

// allowCapacityTypes lets a pool launch nodes of these capacity types only.
func allowCapacityTypes(capacityTypes ...string) func(*v1.NodePool) {
	return func(p *v1.NodePool) {
		p.Spec.Template.Spec.Requirements[1] = in(v1.CapacityTypeLabelKey, capacityTypes...)
	}
}

// awsPods are the pods of a case.
func awsPods(name string, replicas int32, edits ...func(*corev1.PodTemplateSpec)) *appsv1.Deployment {
	return deployment(name, replicas, "100m", append([]func(*corev1.PodTemplateSpec){func(t *corev1.PodTemplateSpec) {
		t.Spec.NodeSelector = map[string]string{caseLabel: name}
		t.Spec.TerminationGracePeriodSeconds = new(int64)
	}}, edits...)...)
}

// wants lets a pod ask for one of a device.
func wants(name corev1.ResourceName) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		one := resource.MustParse("1")
		t.Spec.Containers[0].Resources.Requests[name] = one
		t.Spec.Containers[0].Resources.Limits = corev1.ResourceList{name: one}
	}
}

// kubeletOf is a kubelet block.
func kubeletOf(fields map[string]any) map[string]apiextensionsv1.JSON {
	out := map[string]apiextensionsv1.JSON{}
	for name, value := range fields {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // a test writes what can be encoded
		}
		out[name] = apiextensionsv1.JSON{Raw: text}
	}
	return out
}

// ec2Node is a node with the instance behind it.
type ec2Node struct {
	corev1.Node
	instance awstest.Host
	boot     firstboot.Settings
}

// pods is how many pods fit on it.
func (n *ec2Node) pods() int64 { return n.Status.Capacity.Pods().Value() }

// nodesOf are the nodes of a case that are in order.
func (w *harness) nodesOf(a *awscluster.AWS, name string) []ec2Node {
	w.t.Helper()
	instances := a.Account.Hosts()
	var out []ec2Node
	for _, node := range w.nodes() {
		if node.Labels[caseLabel] != name || node.Labels[v1.NodeInitializedLabelKey] != "true" || node.DeletionTimestamp != nil {
			continue
		}
		at := slices.IndexFunc(instances, func(m awstest.Host) bool { return strings.HasSuffix(node.Spec.ProviderID, "/"+m.ID) })
		if at < 0 {
			w.t.Fatalf("node %s is no instance of the account: %s", node.Name, node.Spec.ProviderID)
		}
		boot, _ := a.Joiner.Settings(instances[at].ID)
		out = append(out, ec2Node{node, instances[at], boot})
	}
	return out
}

// awaitCases waits until all pods of these workloads run, and their nodes are initialized: pods may run as soon as a node is registered.
func (w *harness) awaitCases(pods map[string]int32) {
	w.t.Helper()
	w.awaitPods(awsPatience, pods)
	w.await("the nodes of pods are initialized", awsPatience, func() string {
		initialized := map[string]bool{}
		for _, node := range w.nodes() {
			initialized[node.Name] = node.Labels[v1.NodeInitializedLabelKey] == "true"
		}
		for _, pod := range w.pods() {
			if pods[pod.Labels["app"]] > 0 && pod.Status.Phase == corev1.PodRunning && !initialized[pod.Spec.NodeName] {
				return fmt.Sprintf("node %q of pod %q is not", pod.Spec.NodeName, pod.Name)
			}
		}
		return ""
	})
}

// awaitPods is awaitCases for those who have more or less patience.
func (w *harness) awaitPods(within time.Duration, pods map[string]int32) {
	w.t.Helper()
	w.await("the pods of all cases run", within, func() string {
		running := map[string]int32{}
		for _, pod := range w.pods() {
			if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
				running[pod.Labels["app"]]++
			}
		}
		var waiting []string
		for name, want := range pods {
			if running[name] != want {
				waiting = append(waiting, fmt.Sprintf("%s %d of %d", name, running[name], want))
			}
		}
		slices.Sort(waiting)
		return strings.Join(waiting, ", ")
	})
}

// notReady is why a class is not ready; "" if it is.
func (w *harness) notReady(c *awsv1.EC2NodeClass) string {
	w.t.Helper()
	if w.get(c); condition.Status(c, v1.ConditionTypeReady) == metav1.ConditionTrue {
		return ""
	}
	return conditions(c)
}
