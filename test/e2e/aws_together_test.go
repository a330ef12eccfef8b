package e2e

import (
	"context"
	"flag"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/test/awscluster"
	"github.com/karpenter-anew/karpenter/test/poll"
)

// scale is how many nodes each of the four things happens to.
var scale = flag.Int("scale", 8, "how many nodes expire, become empty, drift and are hardly used in TestAWSAllTogether")

const (
	// perNode is how many pods of the usual size fit a node.
	perNode = 3
	// The two pools.
	mixedPool    = "mixed"
	expiringPool = "expiring"
	// glances is after how many looks in a row too many disrupted nodes are a failure: a single one may show a moment between two states.
	glances = 3
)

// together is a cluster of two pools. In one, nodes become empty, drift and are hardly used, all at once and under one budget; in the other
// they expire, and its budget allows nothing of the controller's own will.
type together struct {
	*harness
	aws                  *awscluster.AWS
	controller           *controller
	n                    int
	mixed, expiring      *v1.NodePool
	class                *awsv1.EC2NodeClass
	empty, drift, hardly *appsv1.Deployment
	lasting              *appsv1.Deployment
	// old says of the claims of the mixed pool that are there at first whether the class will not want their subnet any more.
	old map[string]bool
}

// The subnet that the class of the mixed pool stops selecting, and its successor in the same zone.
const oldSubnet, newSubnet = "subnet-d1", "subnet-d2"

// budgets are how many nodes of the mixed pool may be disrupted at a time, for each reason and, with the reason "", in all.
func (w *together) budgets() map[v1.DisruptionReason]int {
	return map[v1.DisruptionReason]int{"": w.n * 5 / 4, v1.DisruptionReasonEmpty: w.n * 3 / 4}
}

// lifetime is how long the nodes live that expire. It has to be enough for all nodes to be there.
func (w *together) lifetime() time.Duration { return 35*time.Second + time.Duration(w.n)*time.Second }

// patience is how long the nodes of each step may take. Many pods take a busy API server a long time.
func (w *together) patience() time.Duration { return awsPatience + 2*time.Duration(w.n)*time.Second }

// TestAWSAllTogether: nodes expire, become empty, drift and are underutilized, all at the same time. No more of them are disrupted at a time
// than budgets allow, each kind of disruption completes, and as many nodes remain as the pods need.
func TestAWSAllTogether(t *testing.T) {
	t.Attr("covers", "A382")
	t.Parallel()
	w := &together{harness: begin(t), n: *scale}
	start := time.Now()
	w.aws = w.account("m5.large")
	w.setUp()
	watch, ready := w.watch(), time.Now()
	w.begin()
	w.await("all has come to its end", w.patience()+w.lifetime(), w.unfinished)
	peak := watch()
	t.Logf("%d nodes were there after %.0f s and at rest %.0f s later; at most %d were disrupted at a time, budgets %v", 4*w.n,
		ready.Sub(start).Seconds(), time.Since(ready).Seconds(), peak, w.budgets())
	if peak < 2 {
		t.Errorf("at most %d nodes were disrupted at a time, which does not test budgets", peak)
	}
	w.check()
}

// setUp lets all nodes come up, full of pods.
func (w *together) setUp() {
	w.t.Helper()
	w.aws.Account.AddSubnet(awstest.Subnet{ID: newSubnet, Zone: "us-east-1d", ZoneID: "use1-az3", Free: 1000})
	n := int32(w.n)
	in := func(pool, zone, cpu string) func(*corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) {
			t.Spec.NodeSelector = map[string]string{caseLabel: pool, corev1.LabelTopologyZone: zone}
			t.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
	}
	const usual, large = "600m", "1500m"
	w.class = awsClass(mixedPool, subnets("subnet-a1", "subnet-b1", oldSubnet))
	w.mixed = awsPool(mixedPool, []string{"m5.large"})
	w.mixed.Spec.Disruption.Budgets = nil
	for reason, nodes := range w.budgets() {
		b := v1.Budget{Nodes: strconv.Itoa(nodes)}
		if reason != "" {
			b.Reasons = []v1.DisruptionReason{reason}
		}
		w.mixed.Spec.Disruption.Budgets = append(w.mixed.Spec.Disruption.Budgets, b)
	}
	w.expiring = awsPool(expiringPool, []string{"m5.large"}, func(p *v1.NodePool) {
		p.Spec.Template.Spec.ExpireAfter = v1.NewNillableDuration(w.lifetime())
		p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "0"}}
	})
	w.empty = awsPods("empty", n, in(mixedPool, "us-east-1b", large))
	w.hardly = awsPods("hardly", perNode*n, in(mixedPool, "us-east-1a", usual))
	w.drift = awsPods("drift", perNode*n, in(mixedPool, "us-east-1d", usual))
	w.lasting = awsPods("lasting", perNode*n, in(expiringPool, "us-east-1a", usual))
	w.create(w.class, awsClass(expiringPool), w.mixed, w.expiring, w.empty, w.hardly, w.drift, w.lasting)
	// Pods that are all there when they are seen first share nodes as well as can be.
	w.await("all pods are there", w.patience(), func() string { return expect(len(w.pods()) == (1+3*perNode)*w.n, "more pods") })
	w.controller = w.harness.controller(w.aws.Flags()...)
	w.awaitPods(w.patience(), map[string]int32{"empty": n, "hardly": perNode * n, "drift": perNode * n, "lasting": perNode * n})
	for name, want := range map[string]int{mixedPool: 3 * w.n, expiringPool: w.n} {
		w.await(fmt.Sprintf("there are %d nodes of %s", want, name), w.patience(), func() string {
			if have := len(w.nodesOf(w.aws, name)); have != want {
				return fmt.Sprintf("%d are in order", have)
			}
			return ""
		})
	}
	w.takeStock()
}

// takeStock notes which claims are in the old subnet. Nodes that are still to come would be disrupted as well.
func (w *together) takeStock() {
	w.t.Helper()
	subnets := map[string]string{} // by instance
	for _, i := range w.aws.Account.Instances() {
		subnets[i.ID] = i.Subnet
	}
	w.old = map[string]bool{}
	for _, c := range w.claims() {
		if c.Labels[v1.NodePoolLabelKey] == mixedPool {
			w.old[c.Name] = subnets[path.Base(c.Status.ProviderID)] == oldSubnet
		}
	}
	if len(w.old) != 3*w.n {
		w.t.Errorf("there are %d nodeclaims of %s for pods that need %d", len(w.old), mixedPool, 3*w.n)
	}
}

// subnets lets a class use these.
func subnets(ids ...string) func(*awsv1.EC2NodeClass) {
	return func(c *awsv1.EC2NodeClass) {
		c.Spec.SubnetSelectorTerms = nil
		for _, id := range ids {
			c.Spec.SubnetSelectorTerms = append(c.Spec.SubnetSelectorTerms, awsv1.SubnetSelectorTerm{ID: id})
		}
	}
}

// begin lets everything happen: a third of the mixed pool is empty, a third is in a subnet that its class does not want any more, and a
// third has one pod a node. What replaces nodes that expire lives on.
func (w *together) begin() {
	w.t.Helper()
	change(w.harness, w.expiring, func(p *v1.NodePool) { p.Spec.Template.Spec.ExpireAfter = v1.NillableDuration{} })
	w.scale(w.empty, 0)
	w.scale(w.hardly, int32(w.n))
	change(w.harness, w.class, subnets("subnet-a1", "subnet-b1", newSubnet))
	change(w.harness, w.mixed, func(p *v1.NodePool) { p.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(0) })
}

// unfinished lists what is not finished.
func (w *together) unfinished() string {
	w.t.Helper()
	want := w.n + (w.n+perNode-1)/perNode
	mixed, old, mortal := 0, 0, 0
	for _, n := range w.nodesOf(w.aws, mixedPool) {
		if mixed++; n.instance.Subnet == oldSubnet {
			old++
		}
	}
	claims := w.claims()
	for i := range claims {
		if claims[i].Spec.ExpireAfter.Duration != nil && claims[i].Labels[v1.NodePoolLabelKey] == expiringPool {
			mortal++
		}
	}
	if mixed == want && old == 0 && mortal == 0 && len(claims) == len(w.nodes()) {
		return ""
	}
	return fmt.Sprintf("of the mixed pool there are %d nodes, want %d, and %d have drifted; %d nodes are to expire; %d claims, %d nodes", mixed, want, old, mortal, len(claims), len(w.nodes()))
}

// check looks at what was done and why, and that no pod is left without a node.
func (w *together) check() {
	w.t.Helper()
	n := int32(w.n)
	w.awaitPods(w.patience(), map[string]int32{"hardly": n, "drift": perNode * n, "lasting": perNode * n})
	for name, times := range w.controller.disrupted("drifted") {
		if !w.old[name] {
			w.t.Errorf("nodeclaim %s was disrupted as drifted, and was not in %s at first", name, oldSubnet)
		}
		if times > 1 {
			w.t.Logf("nodeclaim %s was disrupted as drifted %d times", name, times)
		}
	}
	_, body, err := w.controller.get("metrics", "/metrics")
	w.must(err)
	for _, c := range []struct {
		pool, reason string
		least, most  int
	}{
		{mixedPool, "empty", w.n, 2 * w.n},
		{mixedPool, "drifted", w.n, w.n},
		{mixedPool, "underutilized", 1, w.n},
		{mixedPool, "expired", 0, 0},
		{expiringPool, "expired", w.n, 3 * w.n},
		{expiringPool, "drifted", 0, 0},
		{expiringPool, "underutilized", 0, 0},
	} {
		if got := disruptedFor(body, c.pool, c.reason); got < c.least || got > c.most {
			w.t.Errorf("%d nodes of %s were disrupted as %s, want %d to %d", got, c.pool, c.reason, c.least, c.most)
		}
	}
}

// disruptedFor is how many nodes of a pool were disrupted for a reason, as the metrics say.
func disruptedFor(metrics, pool, reason string) int {
	sum := 0.0
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "karpenter_nodeclaims_disrupted_total{") && strings.Contains(line, `nodepool="`+pool+`"`) && strings.Contains(line, `reason="`+reason+`"`) {
			if value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64); err == nil {
				sum += value
			}
		}
	}
	return int(sum)
}

// watch polls the cluster until its result is called, which returns the maximum number of nodes of the mixed pool that were disrupted at
// a time. Exceeding a budget is a failure.
func (w *together) watch() (ended func() (peak int)) {
	peak := 0
	var over poll.Streaks
	end := poll.Every(w.ctx, pollPeriod, func(ctx context.Context) {
		for pool, counts := range w.disrupted(ctx) {
			allowed := w.budgets()
			if pool == expiringPool {
				allowed = map[v1.DisruptionReason]int{"": 0}
			} else {
				peak = max(peak, counts[""])
			}
			for reason, most := range allowed {
				if over.Reached(fmt.Sprintf("%s %s", pool, reason), counts[reason] > most, glances) {
					w.t.Errorf("%d nodes of %s are being disrupted for the reason %q, the budget is %d", counts[reason], pool, reason, most)
				}
			}
		}
	})
	w.t.Cleanup(end) // also if the test fails meanwhile
	return func() int {
		end()
		return peak
	}
}

// disrupted counts, by pool and reason, the nodes that the controller disrupts voluntarily and whose instance is not about to end; with
// the reason "" all of a pool. It reads nodes before claims, so that it does not count a node that was released before the next was chosen.
func (w *together) disrupted(ctx context.Context) map[string]map[v1.DisruptionReason]int {
	var nodes corev1.NodeList
	var claims v1.NodeClaimList
	if w.client.List(ctx, &nodes) != nil || w.client.List(ctx, &claims) != nil {
		return nil // at the end of the test
	}
	closed := map[string]bool{}
	for i := range nodes.Items {
		closed[nodes.Items[i].Spec.ProviderID] = slices.ContainsFunc(nodes.Items[i].Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1.DisruptedTaintKey })
	}
	out := map[string]map[v1.DisruptionReason]int{mixedPool: {}, expiringPool: {}}
	for i := range claims.Items {
		claim := &claims.Items[i]
		reason := condition.For(claim, time.Now()).Get(v1.ConditionTypeDisruptionReason)
		chosen := reason != nil && reason.Status == metav1.ConditionTrue
		ending := condition.Status(claim, v1.ConditionTypeInstanceTerminating) == metav1.ConditionTrue
		if counts := out[claim.Labels[v1.NodePoolLabelKey]]; counts != nil && chosen && !ending && (claim.DeletionTimestamp != nil || closed[claim.Status.ProviderID]) {
			counts[""]++
			counts[v1.DisruptionReason(reason.Reason)]++
		}
	}
	return out
}
