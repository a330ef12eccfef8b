package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariofile"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariorun"
)

// TestDisruptionScenarios builds the cluster of every scenario about disruption and compares what the controller does with what
// the scenario expects.
func TestDisruptionScenarios(t *testing.T) {
	t.Parallel()
	scenarios, err := scenariofile.LoadDisruption("../scenario/testdata")
	if err != nil {
		t.Fatal(err)
	}
	reader, minor := scenariorun.Reader(t), kubernetesMinor(t)
	for _, s := range scenarios {
		if s.Options.EngineOnly != "" || s.Options.Kubernetes > minor {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			begin(t).runDisruption(reader, s)
		})
	}
}

// disruptionFlags are the flags of the controller that the settings of a scenario stand for.
func disruptionFlags(s scenariofile.Scenario) []string {
	flags := scenarioFlags(s)
	if s.Options.ConsolidateAfterScope != "" {
		flags = append(flags, "--consolidate-after-scope="+s.Options.ConsolidateAfterScope)
	}
	var gates []string
	if s.Options.SpotToSpot {
		gates = append(gates, "SpotToSpotConsolidation=true")
	}
	if s.Options.TerminateFirst {
		gates = append(gates, "StaticCapacity=true", "TerminateFirstDrift=true", "TerminateFirstRepair=true")
	}
	if s.Options.DeletionCostManagement {
		gates = append(gates, "PodDeletionCostManagement=true")
	}
	if len(gates) > 0 {
		flags = append(flags, "--feature-gates="+strings.Join(gates, ","))
	}
	return flags
}

// runDisruption sets up a scenario, starts a controller, and waits until its log contains what the scenario expects. The controller
// remembers commands and failures of nodes by their names, so that each scenario needs a new one.
func (w *harness) runDisruption(reader *manifest.Reader, s scenariofile.Scenario) {
	w.t.Helper()
	vendor, err := kwok.New(nil, kwok.Options{Catalog: s.Options.Catalog})
	w.must(err)
	f := fleet{harness: w, cloud: vendor}
	var bound []client.Object // as the pods of nodes, they come after these
	for _, o := range scenariorun.Objects(w.t, reader, s) {
		if pod, ok := o.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
			bound = append(bound, pod)
			continue
		}
		f.apply(o)
	}
	f.applyNodes(s.Nodes)
	for _, pod := range bound {
		f.apply(pod)
	}
	f.awaitStaged()
	p := w.controller(disruptionFlags(s)...)
	if len(s.Later) > 0 || s.LaterNodes != "" {
		w.await("the controller proposes a disruption", patience, func() string {
			if p.logged("proposing disruption") == nil {
				return "it has not: " + f.did(p)
			}
			return ""
		})
		for _, o := range scenariorun.Later(w.t, reader, s) {
			f.apply(o)
		}
		f.applyNodes(s.LaterNodes)
	}
	w.await("the controller does what the scenario says", patience, func() string { return cmp.Diff(s.Disrupt, f.did(p)) })
}

// renew creates a pod again that no test lets fail. kwok writes status by name: late on a busy host, it writes the end of a pod of the scenario
// before to a pod with the same name.
func (f *fleet) renew(pod corev1.Pod) {
	f.t.Helper()
	f.erase(&pod)
	again := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, Labels: pod.Labels, Annotations: pod.Annotations, OwnerReferences: pod.OwnerReferences}, Spec: pod.Spec}
	f.create(again)
}

// fleet is the cluster of a scenario about disruption.
type fleet struct {
	*harness
	cloud cloud.Cloud
	// nodes are the names of the nodes of the scenario.
	nodes []string
}

// did is what the controller has done so far.
func (f *fleet) did(p *controller) string {
	f.t.Helper()
	log, err := os.ReadFile(p.log)
	f.must(err)
	text, err := scenariorun.Disruption(log, f.nodes)
	f.must(err)
	return text
}

// apply creates an object, or replaces the specification of one that exists.
func (f *fleet) apply(o client.Object) {
	f.t.Helper()
	if pool, ok := o.(*v1.NodePool); ok {
		live := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: pool.Name}}
		if f.get(live) {
			change(f.harness, live, func(p *v1.NodePool) { p.Spec = pool.Spec })
			return
		}
	}
	o.SetUID("")
	o.SetCreationTimestamp(metav1.Time{})
	f.create(o)
	if pool, ok := o.(*v1.NodePool); ok {
		// The controller does so, too, but until then no node has drifted.
		change(f.harness, pool, func(p *v1.NodePool) {
			p.Annotations = map[string]string{v1.NodePoolHashAnnotationKey: p.Hash(), v1.NodePoolHashVersionAnnotationKey: v1.NodePoolHashVersion}
		})
	}
}

// applyNodes creates nodes and their pods. Of nodes that exist it changes the annotation, and adds pods.
func (f *fleet) applyNodes(text string) {
	f.t.Helper()
	nodes, err := scenariorun.ParseNodes(text)
	f.must(err)
	for _, n := range nodes {
		switch {
		case n.Type != "":
			f.addNode(n)
		case n.Protected:
			live := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
			change(f.harness, live, func(o *corev1.Node) { o.Annotations[v1.DoNotDisruptAnnotationKey] = "true" })
		}
	}
	// kwok starts the pods of nodes that it knows; a pod that comes before its node may be missed.
	f.awaitNodesReady()
	for _, n := range nodes {
		for _, p := range n.Pods {
			f.apply(p.Object(time.Now()))
		}
	}
}

// awaitNodesReady waits until kwok has made all nodes ready.
func (f *fleet) awaitNodesReady() {
	f.t.Helper()
	f.await("nodes are ready", patience, func() string {
		for _, node := range f.harness.nodes() {
			if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady }) {
				return fmt.Sprintf("node %q is not ready", node.Name)
			}
		}
		return ""
	})
}

func (f *fleet) addNode(n scenariorun.Node) {
	f.t.Helper()
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: n.Pool}}
	f.get(pool)
	instanceTypes, err := f.cloud.Provider.InstanceTypes(f.ctx, pool)
	f.must(err)
	node, claim := n.Objects(pool, instanceTypes, time.Now())
	status := claim.Status
	f.apply(claim)
	claim.Status = status
	f.must(f.client.Status().Update(f.ctx, claim))
	f.apply(node)
	f.nodes = append(f.nodes, n.Name)
}

// awaitStaged waits until pods run and PodDisruptionBudgets are counted.
func (f *fleet) awaitStaged() {
	f.t.Helper()
	f.await("pods run", patience, func() string {
		pods := f.pods()
		for _, pod := range pods {
			if pod.Status.Phase == corev1.PodFailed {
				f.renew(pod)
			}
			if pod.Status.Phase != corev1.PodRunning {
				return fmt.Sprintf("pod %q is %s", pod.Name, pod.Status.Phase)
			}
		}
		var budgets policyv1.PodDisruptionBudgetList
		f.list(&budgets)
		for _, b := range budgets.Items {
			healthy := 0
			for _, pod := range pods {
				if pod.Labels["app"] == b.Spec.Selector.MatchLabels["app"] {
					healthy++
				}
			}
			// Of several budgets for a pod only one is counted.
			if b.Status.ObservedGeneration != b.Generation || len(budgets.Items) == 1 && int(b.Status.CurrentHealthy) != healthy {
				return fmt.Sprintf("budget %q has %d healthy pods, want %d", b.Name, b.Status.CurrentHealthy, healthy)
			}
		}
		return ""
	})
}
