package front_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/front"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
)

// serve runs an API server for the length of the test.
func serve(t *testing.T, history int) (*front.Server, *rest.Config) {
	t.Helper()
	return serveWith(t, history, front.Options{})
}

func serveWith(t *testing.T, history int, options front.Options) (*front.Server, *rest.Config) {
	t.Helper()
	next := 0
	count := func() string {
		next++
		return fmt.Sprintf("%05d", next)
	}
	r, err := registry.New(registry.Options{Now: time.Now, UID: func() types.UID { return types.UID("uid-" + count()) }, Suffix: count, History: history})
	if err != nil {
		t.Fatal(err)
	}
	options.Version = version.Info{Major: "1", Minor: "37", GitVersion: "v1.37.2"}
	s := front.New(r, options)
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	t.Cleanup(listener.CloseClientConnections)
	return s, &rest.Config{Host: listener.URL, QPS: -1}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": "a"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestTypedClientAndInformer: both content types of the client, and an informer that follows it.
func TestTypedClientAndInformer(t *testing.T) {
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			_, config := serve(t, 1000)
			config.ContentType = contentType
			clients := must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(config))
			pods := clients.CoreV1().Pods("default")
			must[*corev1.Pod](t)(pods.Create(t.Context(), pod("before"), metav1.CreateOptions{}))

			factory := informers.NewSharedInformerFactory(clients, 0)
			events := make(chan string, 100)
			informer := factory.Core().V1().Pods().Informer()
			must[cache.ResourceEventHandlerRegistration](t)(informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc:    func(o any) { events <- "add " + o.(*corev1.Pod).Name },
				UpdateFunc: func(_, o any) { events <- "update " + o.(*corev1.Pod).Name + " " + o.(*corev1.Pod).Spec.NodeName },
				DeleteFunc: func(o any) { events <- "delete " + o.(*corev1.Pod).Name },
			}))
			ctx, stop := context.WithCancel(t.Context())
			factory.Start(ctx.Done())
			t.Cleanup(func() { stop(); factory.Shutdown() })
			want := func(text string) {
				t.Helper()
				select {
				case got := <-events:
					if got != text {
						t.Fatalf("the informer saw %q, want %q", got, text)
					}
				case <-time.After(30 * time.Second):
					t.Fatalf("the informer did not see %q", text)
				}
			}
			want("add before")
			must[*corev1.Pod](t)(pods.Create(t.Context(), pod("a"), metav1.CreateOptions{}))
			want("add a")
			if err := pods.Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Target: corev1.ObjectReference{Name: "n"}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			want("update a n")
			if err := clients.PolicyV1().Evictions("default").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}}); err != nil {
				t.Fatal(err)
			}
			want("update a n") // the condition
			want("update a n") // the deletion timestamp
			if err := pods.Delete(t.Context(), "a", *metav1.NewDeleteOptions(0)); err != nil {
				t.Fatal(err)
			}
			want("update a n")
			want("delete a")
			if _, err := pods.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("reading a deleted pod: %v", err)
			}
		})
	}
}

// TestControllerRuntimeClient works with the CustomResourceDefinitions of Karpenter, which its client finds by discovery.
func TestControllerRuntimeClient(t *testing.T) {
	_, config := serve(t, 1000)
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1.AddToScheme} {
		if err := add(types); err != nil {
			t.Fatal(err)
		}
	}
	admin := must[dynamic.Interface](t)(dynamic.NewForConfig(config))
	for _, definition := range must[[]*apiextensionsv1.CustomResourceDefinition](t)(kwokcrds.Definitions()) {
		content := must[map[string]any](t)(runtime.DefaultUnstructuredConverter.ToUnstructured(definition))
		content["apiVersion"], content["kind"] = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
		resource := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
		must[*unstructured.Unstructured](t)(admin.Resource(resource).Create(t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{FieldValidation: "Strict"}))
	}
	c := must[client.Client](t)(client.New(config, client.Options{Scheme: types}))
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "a"}
	pool.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{}
	if err := c.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if pool.Generation != 1 || pool.Spec.Disruption.ConsolidationPolicy == "" {
		t.Errorf("the pool lacks defaults: %+v", pool)
	}
	before := pool.DeepCopy()
	pool.Labels = map[string]string{"a": "b"}
	if err := c.Patch(t.Context(), pool, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		t.Fatal(err)
	}
	before.Labels = map[string]string{"a": "c"}
	if err := c.Update(t.Context(), before); !apierrors.IsConflict(err) {
		t.Errorf("updating an old version: %v", err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Finalizers: []string{"karpenter.sh/termination"}}}
	if err := c.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	node.Status.Phase = corev1.NodeRunning
	if err := c.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(node), node); err != nil || node.DeletionTimestamp.IsZero() {
		t.Errorf("a node with a finalizer: %v, %v", node.ObjectMeta, err)
	}
}

// TestDiscovery: the client reads both forms of discovery, and OpenAPI.
func TestDiscovery(t *testing.T) {
	_, config := serve(t, 1000)
	client := must[*discovery.DiscoveryClient](t)(discovery.NewDiscoveryClientForConfig(config))
	for _, legacy := range []bool{false, true} {
		client.UseLegacyDiscovery = legacy
		_, lists, err := client.ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, list := range lists {
			for _, r := range list.APIResources {
				found[list.GroupVersion+" "+r.Name] = r.Kind
			}
		}
		for name, kind := range map[string]string{"v1 pods": "Pod", "v1 pods/eviction": "Eviction", "apps/v1 deployments/scale": "Scale", "coordination.k8s.io/v1 leases": "Lease"} {
			if found[name] != kind {
				t.Errorf("legacy %v: %s is of kind %q, want %q", legacy, name, found[name], kind)
			}
		}
	}
	paths := must[map[string]openapi.GroupVersion](t)(client.OpenAPIV3().Paths())
	for _, name := range []string{"api/v1", "apis/apps/v1", "apis/apiextensions.k8s.io/v1"} {
		if paths[name] == nil {
			t.Errorf("OpenAPI lacks %s", name)
			continue
		}
		if raw, err := paths[name].Schema(runtime.ContentTypeJSON); err != nil || len(raw) < 1000 {
			t.Errorf("OpenAPI document %s: %d bytes, %v", name, len(raw), err)
		}
	}
}

// TestInformersRecoverFromCompaction: an informer whose version is compacted while it does not look lists again.
func TestInformersRecoverFromCompaction(t *testing.T) {
	s, config := serve(t, 2)
	clients := must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(config))
	dynamicClient := must[dynamic.Interface](t)(dynamic.NewForConfig(config))
	metadataClient := must[metadata.Interface](t)(metadata.NewForConfig(config))
	resource := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	informer := dynamicinformer.NewFilteredDynamicInformer(dynamicClient, resource, "default", 0, cache.Indexers{}, nil).Informer()
	go informer.RunWithContext(t.Context())
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the informer does not start")
	}
	// All at once: the informer cannot follow, and two changes are remembered.
	if err := s.Do(func(r *registry.Registry) error {
		for i := range 10 {
			object := must[map[string]any](t)(runtime.DefaultUnstructuredConverter.ToUnstructured(pod(fmt.Sprintf("a%d", i))))
			object["apiVersion"], object["kind"] = "v1", "Pod"
			if _, err := r.Create(&registry.Request{Kind: r.Kind(resource), Namespace: "default"}, object); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(30 * time.Second)
	for len(informer.GetStore().ListKeys()) != 10 {
		select {
		case <-deadline:
			t.Fatalf("the informer has %v", informer.GetStore().ListKeys())
		case <-time.Tick(10 * time.Millisecond):
		}
	}
	list := must[*metav1.PartialObjectMetadataList](t)(metadataClient.Resource(resource).Namespace("default").List(t.Context(), metav1.ListOptions{Limit: 3}))
	if len(list.Items) != 3 || list.Continue == "" || list.Items[0].Name != "a0" {
		t.Errorf("metadata of pods: %v", list)
	}
	if err := clients.CoreV1().Pods("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=a"}); err != nil {
		t.Fatal(err)
	}
}

// TestGarbageIsCollectedAfterWrites: a server that collects after each write ends namespaces and deletes dependents.
func TestGarbageIsCollectedAfterWrites(t *testing.T) {
	_, config := serveWith(t, 1000, front.Options{AfterWrite: func(r *registry.Registry) error {
		for {
			if wrote, err := r.Collect(); err != nil || !wrote {
				return err
			}
		}
	}})
	clients := must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(config))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	must[*corev1.Namespace](t)(clients.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}))
	must[*corev1.ConfigMap](t)(clients.CoreV1().ConfigMaps("a").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{}))
	if err := clients.CoreV1().Namespaces().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := clients.CoreV1().Namespaces().Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted namespace: %v", err)
	}
}
