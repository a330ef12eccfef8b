// Package crdtest lets a real API server judge CustomResourceDefinitions: which objects it accepts and rejects, and what it
// defaults. It also shows the schema of a definition as text, for comparison with a file.
package crdtest

import (
	"context"
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Server runs an API server for the length of the test, and returns how to reach it. flags are added to its command line, as NAME=VALUE.
func Server(t *testing.T, definitions []*apiextensionsv1.CustomResourceDefinition, flags ...string) *rest.Config {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: this test needs a directory with the programs kube-apiserver and etcd; run \"make test\", which builds them")
	}
	environment := &envtest.Environment{CRDs: definitions}
	for _, flag := range flags {
		name, value, _ := strings.Cut(flag, "=")
		environment.ControlPlane.GetAPIServer().Configure().Append(name, value)
	}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("starting the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	config.QPS = -1
	return config
}

// Start is Server with a client of it.
func Start(t *testing.T, definitions []*apiextensionsv1.CustomResourceDefinition) client.Client {
	t.Helper()
	c, err := client.New(Server(t, definitions), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Create stores an object for the length of the test.
func Create(t *testing.T, c client.Client, object *unstructured.Unstructured) {
	t.Helper()
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, c, object) })
}

// remove deletes an object that a test created.
func remove(t *testing.T, c client.Client, object client.Object) {
	t.Helper()
	// The context of the test is already cancelled when clean-ups run.
	if err := c.Delete(context.Background(), object); err != nil {
		t.Errorf("deleting %s: %v", object.GetName(), err)
	}
}

// UpdateStatus writes the status of a Go object and reads the result into object.
func UpdateStatus(t *testing.T, c client.Client, from any, object *unstructured.Unstructured) {
	t.Helper()
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(from)
	if err != nil {
		t.Fatal(err)
	}
	kind := object.GroupVersionKind()
	object.Object = raw
	object.SetGroupVersionKind(kind)
	if err := c.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}
