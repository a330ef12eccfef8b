package reboot

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/termination"
)

var errOnFire = errors.New("the server is on fire")

// fixture is a claim with an initialized Node whose reboot was just requested. The cloud accepts reboots, and nothing boots on its own.
type fixture struct {
	*fakecluster.Cluster
	claim     *v1.NodeClaim
	node      *corev1.Node
	evictions *termination.EvictionQueue
	r         *Reboot
	requested time.Time
}

func newFixture(t *testing.T, changes ...func(*fixture)) *fixture {
	t.Helper()
	w := fakecluster.New(t, fakecluster.Pool())
	f := &fixture{Cluster: w, claim: w.LaunchedClaim("a", v1.ConditionTypeRegistered, v1.ConditionTypeInitialized), node: w.RegisteredNode("a"), requested: w.Time.Now()}
	f.node.Labels[v1.NodeInitializedLabelKey] = "true"
	f.node.Status.NodeInfo.BootID = "boot-1"
	f.claim.Annotations = map[string]string{}
	condition.For(f.claim, f.requested).TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, "rebooting for DiskBroken/Broken")
	for _, change := range changes {
		change(f)
	}
	w.Add(f.claim)
	if f.node != nil {
		w.Add(f.node)
	}
	f.restart()
	return f
}

// bounded limits the drain.
func bounded(text string) func(*fixture) {
	return func(f *fixture) { f.claim.Annotations[v1.RebootTerminationGracePeriodAnnotationKey] = text }
}

// bare has no drain to wait for.
func bare(f *fixture) { bounded("0s")(f) }

// restart replaces the controller by a new one, as after a crash.
func (f *fixture) restart() {
	f.evictions = termination.NewEvictionQueue(f.Shared)
	f.r = New(f.Shared, f.evictions)
}

func (f *fixture) pass() reconcile.Result { f.Helper(); return f.Run(f.r, f.claim) }

// after steps the clock and runs a pass.
func (f *fixture) after(d time.Duration) reconcile.Result {
	f.Helper()
	f.Time.Step(d)
	return f.pass()
}

func (f *fixture) progress() string {
	f.Helper()
	got, ok := fakecluster.Get(f.Cluster, f.claim)
	if !ok {
		return "gone"
	}
	return fakecluster.Condition(got.Status.Conditions, v1.ConditionTypeRebooting)
}

// expect fails the test unless the reboot is where it should be.
func (f *fixture) expect(want string) {
	f.Helper()
	if got := f.progress(); got != want {
		f.Fatalf("Rebooting is %q, want %q", got, want)
	}
}

// boots gives the Node another boot ID.
func (f *fixture) boots(id string, ready corev1.ConditionStatus) {
	fakecluster.Change(f.Cluster, f.node, func(n *corev1.Node) {
		n.Status.NodeInfo.BootID = id
		n.Status.Conditions[0].Status = ready
	})
}

func (f *fixture) deleting() bool {
	got, ok := fakecluster.Get(f.Cluster, f.claim)
	return !ok || got.DeletionTimestamp != nil
}

func (f *fixture) annotation(key string) (string, bool) {
	text, ok := fakecluster.Must(f.Cluster, f.claim).Annotations[key]
	return text, ok
}

// ended is how often the terminal metrics were counted with a result.
func (f *fixture) ended(result string) float64 {
	return f.Count("karpenter_nodes_reboots_total", "result="+result)
}

const (
	isRequested = "True/RebootRequested/rebooting for DiskBroken/Broken"
	isIssued    = "True/RebootIssued/rebooting for DiskBroken/Broken"
	isSucceeded = "False/RebootSucceeded/node rebooted and rejoined the cluster"
)
