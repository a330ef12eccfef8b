package registry_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
)

// cluster is a registry on a clock that the test sets.
type cluster struct {
	*testing.T
	*registry.Registry
	now time.Time
}

func newCluster(t *testing.T, history int) *cluster {
	t.Helper()
	c := &cluster{T: t, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	next := 0
	count := func() string {
		next++
		return fmt.Sprintf("%05d", next)
	}
	r, err := registry.New(registry.Options{
		Now: func() time.Time { return c.now }, UID: func() types.UID { return types.UID("uid-" + count()) }, Suffix: count, History: history,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Registry = r
	return c
}

func (c *cluster) request(resource, name string) *registry.Request {
	c.Helper()
	gvr := map[string]schema.GroupVersionResource{
		"configmaps":  {Version: "v1", Resource: "configmaps"},
		"namespaces":  {Version: "v1", Resource: "namespaces"},
		"pods":        {Version: "v1", Resource: "pods"},
		"replicasets": {Group: "apps", Version: "v1", Resource: "replicasets"},
	}[resource]
	k := c.Kind(gvr)
	if k == nil {
		c.Fatalf("%s is not served", resource)
	}
	req := &registry.Request{Kind: k, Name: name, Manager: "test"}
	if k.Namespaced {
		req.Namespace = "default"
	}
	return req
}

func (c *cluster) create(resource, text string) *unstructured.Unstructured {
	c.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		c.Fatal(err)
	}
	object, err := c.Create(c.request(resource, ""), content)
	if err != nil {
		c.Fatal(err)
	}
	return object
}

func (c *cluster) delete(resource, name string, policy metav1.DeletionPropagation) {
	c.Helper()
	if _, _, err := c.Delete(c.request(resource, name), metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		c.Fatal(err)
	}
}

// settle collects garbage until there is none.
func (c *cluster) settle() {
	c.Helper()
	for range 20 {
		wrote, err := c.Collect()
		if err != nil {
			c.Fatal(err)
		}
		if !wrote {
			return
		}
	}
	c.Fatal("garbage collection does not end")
}

func (c *cluster) names(resource string) string {
	c.Helper()
	list, err := c.List(c.request(resource, ""), registry.ListOptions{})
	if err != nil {
		c.Fatal(err)
	}
	var out []string
	for _, object := range list.Items {
		out = append(out, object.GetName())
	}
	return strings.Join(out, " ")
}

func (c *cluster) family() {
	c.Helper()
	owner := c.create("configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}")
	child := c.create("configmaps", fmt.Sprintf(
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: child, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s, blockOwnerDeletion: true}]}}", owner.GetUID()))
	c.create("configmaps", fmt.Sprintf(
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: grandchild, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: child, uid: %s, blockOwnerDeletion: true}]}}", child.GetUID()))
	c.settle()
	if got := c.names("configmaps"); got != "child grandchild owner" {
		c.Fatalf("before the deletion: %s", got)
	}
}

func TestDependentsFollowTheirOwner(t *testing.T) {
	for policy, want := range map[metav1.DeletionPropagation]string{
		metav1.DeletePropagationBackground: "", metav1.DeletePropagationForeground: "", metav1.DeletePropagationOrphan: "child grandchild",
	} {
		t.Run(string(policy), func(t *testing.T) {
			c := newCluster(t, 100)
			c.family()
			c.delete("configmaps", "owner", policy)
			c.settle()
			if got := c.names("configmaps"); got != want {
				t.Errorf("left are %q, want %q", got, want)
			}
		})
	}
}

func TestForegroundDeletionWaitsForDependents(t *testing.T) {
	c := newCluster(t, 100)
	owner := c.create("configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}")
	c.create("configmaps", fmt.Sprintf(
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: child, finalizers: [example.com/x], ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s, blockOwnerDeletion: true}]}}", owner.GetUID()))
	c.delete("configmaps", "owner", metav1.DeletePropagationForeground)
	c.settle()
	if got := c.names("configmaps"); got != "child owner" {
		t.Errorf("while a finalizer holds the child: %q", got)
	}
	if _, _, err := c.Patch(c.request("configmaps", "child"), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)); err != nil {
		t.Fatal(err)
	}
	c.settle()
	if got := c.names("configmaps"); got != "" {
		t.Errorf("after the finalizer: %q", got)
	}
}

func TestNamespacesEndWithTheirContent(t *testing.T) {
	c := newCluster(t, 100)
	c.create("namespaces", "{apiVersion: v1, kind: Namespace, metadata: {name: a}}")
	req := c.request("configmaps", "")
	req.Namespace = "a"
	if _, err := c.Create(req, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x"}}); err != nil {
		t.Fatal(err)
	}
	c.delete("namespaces", "a", metav1.DeletePropagationBackground)
	c.settle()
	if got := c.names("namespaces"); strings.HasPrefix(got, "a ") {
		t.Errorf("namespaces: %s", got)
	}
	if list, err := c.List(req, registry.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("objects of the namespace: %v, %v", list, err)
	}
}

// TestTheClockIsThatOfTheCaller: no time of the host gets into objects, not even into managed fields.
func TestTheClockIsThatOfTheCaller(t *testing.T) {
	c := newCluster(t, 100)
	c.create("configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}")
	c.now = c.now.Add(time.Hour)
	patched, _, err := c.Patch(c.request("configmaps", "a"), types.MergePatchType, []byte(`{"data":{"l":"w"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req := c.request("configmaps", "a")
	req.Manager = "apply"
	applied, _, err := c.Patch(req, types.ApplyYAMLPatchType, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {m: x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []*unstructured.Unstructured{patched, applied} {
		for _, entry := range object.GetManagedFields() {
			if entry.Time.Year() != 2030 {
				t.Errorf("managed fields of %s have the time %s", entry.Manager, entry.Time)
			}
		}
	}
	if len(applied.GetManagedFields()) != 2 {
		t.Errorf("managed fields: %v", applied.GetManagedFields())
	}
}

func TestWatchesOfCompactedVersionsAreGone(t *testing.T) {
	c := newCluster(t, 2)
	for i := range 6 {
		c.create("configmaps", fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: a%d}}", i))
	}
	_, _, err := c.Events(c.request("configmaps", ""), registry.ListOptions{}, 1)
	if !apierrors.IsResourceExpired(err) || err.(apierrors.APIStatus).Status().Code != 410 { //nolint:forcetypeassert // from the registry
		t.Errorf("watching version 1: %v", err)
	}
	first, err := c.List(c.request("configmaps", ""), registry.ListOptions{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		c.create("configmaps", fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: b%d}}", i))
	}
	_, err = c.List(c.request("configmaps", ""), registry.ListOptions{Limit: 2, Continue: first.GetContinue()})
	if !apierrors.IsResourceExpired(err) {
		t.Fatalf("continuing a list of a version that is compacted: %v", err)
	}
	next := err.(apierrors.APIStatus).Status().Continue //nolint:forcetypeassert // from the registry
	rest, err := c.List(c.request("configmaps", ""), registry.ListOptions{Continue: next})
	if err != nil {
		t.Fatalf("continuing with the token of the answer: %v", err)
	}
	if len(rest.Items) != 10 || rest.Items[0].GetName() != "a2" || rest.GetResourceVersion() != fmt.Sprint(c.Revision()) {
		t.Errorf("the rest has %d objects at version %s", len(rest.Items), rest.GetResourceVersion())
	}
	exact := registry.ListOptions{ResourceVersion: first.GetResourceVersion(), Match: metav1.ResourceVersionMatchExact}
	if _, err := c.List(c.request("configmaps", ""), exact); !apierrors.IsResourceExpired(err) {
		t.Errorf("listing a version that is compacted: %v", err)
	}
}

// TestReadObjectsDoNotChange: what was read stays as it was, whatever is written.
func TestReadObjectsDoNotChange(t *testing.T) {
	c := newCluster(t, 100)
	created := c.create("pods", "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: n1, containers: [{name: c, image: x}]}}")
	before := created.DeepCopy()
	for _, patch := range []string{`{"metadata":{"labels":{"a":"b"}}}`, `{"spec":{"containers":[{"name":"c","image":"y"}]}}`} {
		if _, _, err := c.Patch(c.request("pods", "a"), types.StrategicMergePatchType, []byte(patch)); err != nil {
			t.Fatal(err)
		}
	}
	c.delete("pods", "a", metav1.DeletePropagationBackground)
	if fmt.Sprint(before.Object) != fmt.Sprint(created.Object) {
		t.Errorf("the object changed from %v to %v", before.Object, created.Object)
	}
}

// TestTakenNamesAreNotGenerated: of the names that are generated for an object, the first free one is used, and after eight the client is told.
func TestTakenNamesAreNotGenerated(t *testing.T) {
	suffixes, next := []string{"a", "a", "b", "a", "b", "c"}, 0
	r, err := registry.New(registry.Options{
		Now: time.Now, UID: func() types.UID { return types.UID(fmt.Sprint(next)) }, History: 10,
		Suffix: func() string {
			next++
			return suffixes[min(next, len(suffixes))-1]
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	kind := r.Kind(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
	create := func() (string, error) {
		o, err := r.Create(&registry.Request{Kind: kind, Namespace: "default"}, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"generateName": "x-"},
		})
		if err != nil {
			return "", err
		}
		return o.GetName(), nil
	}
	for _, want := range []string{"x-a", "x-b", "x-c"} {
		if got, err := create(); got != want || err != nil {
			t.Errorf("created %q, %v, want %s", got, err, want)
		}
	}
	if _, err := create(); !apierrors.IsAlreadyExists(err) {
		t.Errorf("when all names are taken the error is %v", err)
	}
}

// TestUntracked: without managed fields, writes have the same effect.
func TestUntracked(t *testing.T) {
	for _, untracked := range []bool{false, true} {
		r, err := registry.New(registry.Options{
			Now: time.Now, UID: func() types.UID { return "uid" }, Suffix: func() string { return "x" }, History: 10, Untracked: untracked,
		})
		if err != nil {
			t.Fatal(err)
		}
		c := &cluster{T: t, Registry: r}
		req := c.request("configmaps", "a")
		created, err := r.Create(req, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": "v"}})
		if err != nil {
			t.Fatal(err)
		}
		patched, _, err := r.Patch(req, types.MergePatchType, []byte(`{"data":{"k":"w"}}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []*unstructured.Unstructured{created, patched} {
			if tracked := len(o.GetManagedFields()) > 0; tracked == untracked {
				t.Errorf("untracked is %v, the managed fields are %v", untracked, o.GetManagedFields())
			}
		}
		if value, _, _ := unstructured.NestedString(patched.Object, "data", "k"); value != "w" {
			t.Errorf("the value is %q", value)
		}
	}
}
