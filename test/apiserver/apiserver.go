// Package apiserver is an API server in memory, for tests: controller-runtime's fake client with every kind of Kubernetes and Karpenter.
//
// What never changes is built once for all tests of a package. The client tracks no managed fields, unlike the default of
// controller-runtime: for them the default builds a converter of every kind of Kubernetes with each write, which takes some ten times as
// long as the write. Only server-side apply needs managed fields, and no test uses it.
package apiserver

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	azurev1beta1 "github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	legacyv1alpha1 "github.com/karpenter-anew/karpenter/api/legacy/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha5"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
)

// Scheme has every kind of Kubernetes and Karpenter. All tests share it; it must not be changed.
var Scheme = sync.OnceValue(func() *runtime.Scheme { //nolint:gochecknoglobals // a constant, but for its type
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, v1.AddToScheme, v1alpha1.AddToScheme, opsv1alpha1.AddToScheme, v1beta1.AddToScheme, kwok.AddToScheme, awsv1.AddToScheme, azurev1beta1.AddToScheme,
		v1alpha5.AddToScheme, legacyv1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	return s
})

var decoder = sync.OnceValue(func() runtime.Decoder { //nolint:gochecknoglobals // a constant, but for its type
	return serializer.NewCodecFactory(Scheme()).UniversalDecoder()
})

// New describes an empty API server.
func New() *fake.ClientBuilder {
	return fake.NewClientBuilder().WithScheme(Scheme()).WithObjectTracker(clienttesting.NewObjectTracker(Scheme(), decoder()))
}
