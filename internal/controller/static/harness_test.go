package static_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/static"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// harness is an API server in memory with a cluster state that sync updates, as watches would.
type harness struct {
	*fakecluster.Cluster
	deps static.Deps
	// ready is whether the feed reports the cluster state as synced.
	ready bool
}

func newHarness(t *testing.T, objects ...client.Object) *harness {
	t.Helper()
	w := &harness{Cluster: fakecluster.New(t, objects...), ready: true}
	translator := translate.New(w.Cloud.Labels)
	w.deps = static.Deps{
		Shared: w.Shared, Store: cluster.NewStore(w.Cloud, translator), Translator: translator,
		Ready: func() bool { return w.ready },
	}
	w.sync()
	return w
}

// restart drops all state but the API objects.
func (w *harness) restart() {
	w.deps.Store = cluster.NewStore(w.Cloud, w.deps.Translator)
}

// sync copies the objects of the API server to the cluster state.
func (w *harness) sync() {
	w.Helper()
	present := map[string]bool{}
	for _, c := range w.claims() {
		present[c.Name] = true
		w.deps.Store.UpdateNodeClaim(&c)
	}
	for _, c := range w.deps.Store.Pools.Claims("pool") {
		if !present[c.Claim.Name] {
			w.deps.Store.DeleteNodeClaim(c.Claim.Name)
		}
	}
	var nodes corev1.NodeList
	if err := w.Client.List(w.Context(), &nodes); err != nil {
		w.Fatal(err)
	}
	for i := range nodes.Items {
		w.deps.Store.UpdateNode(&nodes.Items[i])
	}
}

// up and down reconcile the pool.
func (w *harness) up() (reconcile.Result, error) {
	return w.Try(static.NewProvisioning(w.deps), fakecluster.Pool())
}

func (w *harness) down() (reconcile.Result, error) {
	return w.Try(static.NewDeprovisioning(w.deps), fakecluster.Pool())
}

// want checks the outcome of a reconcile and the number of claims that are not being deleted.
func (w *harness) want(again time.Duration, claims int, result reconcile.Result, err error) {
	w.Helper()
	if err != nil || result != (reconcile.Result{RequeueAfter: again}) {
		w.Errorf("got %+v, %v; want to run again after %v", result, err, again)
	}
	if got := w.live(); len(got) != claims {
		w.Errorf("%d nodeclaims, want %d", len(got), claims)
	}
}

func (w *harness) claims() []v1.NodeClaim {
	w.Helper()
	var list v1.NodeClaimList
	if err := w.Client.List(w.Context(), &list); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// live are the names of the claims that are not being deleted.
func (w *harness) live() []string {
	w.Helper()
	var out []string
	for _, c := range w.claims() {
		if c.DeletionTimestamp == nil {
			out = append(out, c.Name)
		}
	}
	return out
}

// pool is a ready NodePool with this number of replicas.
func pool(replicas int64, changes ...func(*v1.NodePool)) *v1.NodePool {
	p := fakecluster.Pool()
	p.Spec.Replicas = &replicas
	p.Status.Conditions = []metav1.Condition{{Type: v1.ConditionTypeReady, Status: metav1.ConditionTrue, Reason: "Ready"}}
	for _, change := range changes {
		change(p)
	}
	return p
}

func limit(nodes string) func(*v1.NodePool) {
	return func(p *v1.NodePool) { p.Spec.Limits = v1.Limits{v1.ResourceNodes: resource.MustParse(nodes)} }
}

func notReady(p *v1.NodePool) { p.Status.Conditions[0].Status = metav1.ConditionUnknown }

func unmanaged(p *v1.NodePool) { p.Spec.Template.Spec.NodeClassRef = fakecluster.Unmanaged() }

func dynamic(p *v1.NodePool) { p.Spec.Replicas = nil }

func going(p *v1.NodePool) {
	p.Finalizers = []string{"test/keep"}
	p.DeletionTimestamp = &metav1.Time{Time: time.Now()}
}

// launched adds claims with a Node each.
func (w *harness) launched(names ...string) {
	w.Helper()
	for _, name := range names {
		w.Add(w.LaunchedClaim(name, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized), w.RegisteredNode(name))
	}
	w.sync()
}
