package kwok

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// cluster is a real API server without controllers.
type cluster struct {
	t      *testing.T
	config *rest.Config
	client client.WithWatch
	nodes  watch.Interface
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: this test needs a directory with the programs kube-apiserver and etcd; run \"make test\", which builds them")
	}
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	env := &envtest.Environment{CRDInstallOptions: envtest.CRDInstallOptions{CRDs: definitions}}
	cfg, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: apiserver.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	k := &cluster{t: t, config: cfg, client: c}
	if k.nodes, err = c.Watch(t.Context(), &corev1.NodeList{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.nodes.Stop)
	if err := c.Create(t.Context(), &v1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: className}}); err != nil {
		t.Fatal(err)
	}
	return k
}

// process runs a manager with the kwok cloud's controllers until the returned function kills it.
func (k *cluster) process() (cloud.Cloud, func()) {
	k.t.Helper()
	m, err := manager.New(k.config, manager.Options{
		Scheme:     apiserver.Scheme(),
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		k.t.Fatal(err)
	}
	c, err := New(m.GetClient(), Options{})
	if err != nil {
		k.t.Fatal(err)
	}
	if err := c.Register(m); err != nil {
		k.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	if !m.GetCache().WaitForCacheSync(ctx) {
		k.t.Fatal("the cache did not fill")
	}
	killed := false
	kill := func() {
		if killed {
			return
		}
		killed = true
		cancel()
		if err := <-done; err != nil {
			k.t.Errorf("the manager ended with: %v", err)
		}
	}
	k.t.Cleanup(kill)
	return c, kill
}

// launch creates a claim and records its launch.
func (k *cluster) launch(c cloud.Cloud, name string, reqs ...v1.NodeSelectorRequirementWithMinValues) *v1.NodeClaim {
	k.t.Helper()
	claim := newClaim(name, reqs...)
	if len(reqs) == 0 {
		claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{}
	}
	ctx := k.t.Context()
	if err := k.client.Create(ctx, claim); err != nil {
		k.t.Fatal(err)
	}
	created, err := c.Provider.Create(ctx, claim)
	if err != nil {
		k.t.Fatal(err)
	}
	if err := record(ctx, k.client, created, time.Now()); err != nil {
		k.t.Fatal(err)
	}
	return created
}

// await returns the next event of the given type for a Node.
func (k *cluster) await(kind watch.EventType, name string) *corev1.Node {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), 30*time.Second)
	defer cancel()
	for {
		select {
		case e := <-k.nodes.ResultChan():
			if node, ok := e.Object.(*corev1.Node); ok && e.Type == kind && node.Name == name {
				return node
			}
		case <-ctx.Done():
			k.t.Fatalf("node %q was not %s", name, strings.ToLower(string(kind)))
		}
	}
}

func (k *cluster) nodeCount() int {
	k.t.Helper()
	var list corev1.NodeList
	if err := k.client.List(k.t.Context(), &list); err != nil {
		k.t.Fatal(err)
	}
	return len(list.Items)
}

// TestInstancesOnARealAPIServer: a launch joins, returns when its Node is deleted, survives a restart of the process, and is terminated.
func TestInstancesOnARealAPIServer(t *testing.T) {
	k := newCluster(t)
	c, kill := k.process()

	first := k.launch(c, "first", cloud.In(corev1.LabelOSStable, "linux"))
	node := k.await(watch.Added, nodeName(first))
	if diff := cmp.Diff(amounts(first.Status.Allocatable), amounts(node.Status.Allocatable)); diff != "" {
		t.Errorf("allocatable (-want +got):\n%s", diff)
	}
	if node.Spec.ProviderID != first.Status.ProviderID || node.Labels[corev1.LabelHostname] != "first" {
		t.Errorf("node has provider id %q and host name %q", node.Spec.ProviderID, node.Labels[corev1.LabelHostname])
	}
	if len(node.OwnerReferences) != 1 || node.OwnerReferences[0].UID != first.UID {
		t.Errorf("owners are %+v", node.OwnerReferences)
	}

	if err := k.client.Delete(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	k.await(watch.Added, node.Name)

	kill()
	second := k.launch(cloud.Cloud{Provider: k.provider(c)}, "second")
	if got := k.nodeCount(); got != 1 {
		t.Fatalf("%d nodes while the process is dead", got)
	}
	c, _ = k.process()
	k.await(watch.Added, nodeName(second))
	if got := k.nodeCount(); got != 2 {
		t.Errorf("%d nodes", got)
	}

	// The instance of a claim that is being deleted is terminated, and its Node does not come back.
	current := &v1.NodeClaim{}
	if err := k.client.Get(t.Context(), types.NamespacedName{Name: "second"}, current); err != nil {
		t.Fatal(err)
	}
	if err := k.client.Delete(t.Context(), current); err != nil {
		t.Fatal(err)
	}
	if err := c.Provider.Delete(t.Context(), current); err != nil {
		t.Fatal(err)
	}
	k.await(watch.Deleted, nodeName(second))
	third := k.launch(c, "third")
	k.await(watch.Added, nodeName(third))
	if got := k.nodeCount(); got != 2 {
		t.Errorf("%d nodes", got)
	}
}

// provider is the kwok provider of c without the cache of a terminated process.
func (k *cluster) provider(c cloud.Cloud) cloud.Provider {
	live := *c.Provider.(*provider)
	live.client = k.client
	return &live
}
