package nodeclass_test

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/nodeclass"
)

// policyReader answers lists of the policies of other engines; kinds that it does not have are not served.
type policyReader struct {
	client.Reader
	kinds map[string]int // number of objects by kind
	err   error
}

// List implements client.Reader.
func (r policyReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	kind := list.GetObjectKind().GroupVersionKind()
	if r.err != nil {
		return r.err
	}
	if kind.Group == "networking.k8s.io" {
		return r.Reader.List(ctx, list, options...)
	}
	n, served := r.kinds[kind.Kind]
	if !served {
		return &meta.NoKindMatchError{GroupKind: kind.GroupKind()}
	}
	list.(*metav1.PartialObjectMetadataList).Items = make([]metav1.PartialObjectMetadata, n)
	return nil
}

func prefer(class *v1beta1.AKSNodeClass) {
	class.Spec.LocalDNS = &v1beta1.LocalDNS{Mode: v1beta1.LocalDNSModePreferred}
}

func networkPolicy(namespace, name string) client.Object {
	return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestLocalDNSOfClassesThatPreferIt(t *testing.T) {
	t.Attr("covers", "Z129")
	daemon := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "node-local-dns"}}
	fips := v1beta1.FIPSModeFIPS
	for _, c := range []struct {
		name    string
		change  func(*nodeclass.Options)
		edit    func(*v1beta1.AKSNodeClass)
		version string
		kinds   map[string]int
		objects []client.Object
		want    v1beta1.LocalDNSState
	}{
		{name: "nothing speaks against it", want: v1beta1.LocalDNSStateEnabled},
		{name: "an early version", version: "v1.35.9", want: v1beta1.LocalDNSStateDisabled},
		{name: "another version is named", version: "v1.36.0", change: func(o *nodeclass.Options) { o.LocalDNSVersion = "1.40" }, want: v1beta1.LocalDNSStateDisabled},
		{name: "no plugin", change: func(o *nodeclass.Options) { o.NetworkPlugin = "none" }, want: v1beta1.LocalDNSStateDisabled},
		{name: "Ubuntu 20.04", edit: func(class *v1beta1.AKSNodeClass) { class.Spec.FIPSMode = &fips }, want: v1beta1.LocalDNSStateDisabled},
		{name: "node-local-dns", objects: []client.Object{daemon}, want: v1beta1.LocalDNSStateDisabled},
		{name: "a policy", objects: []client.Object{networkPolicy("default", "deny")}, want: v1beta1.LocalDNSStateDisabled},
		{name: "the policy of AKS", objects: []client.Object{networkPolicy("kube-system", "konnectivity-agent")}, want: v1beta1.LocalDNSStateEnabled},
		{name: "one more policy", objects: []client.Object{networkPolicy("kube-system", "konnectivity-agent"), networkPolicy("kube-system", "mine")}, want: v1beta1.LocalDNSStateDisabled},
		{name: "another's policy of that name", objects: []client.Object{networkPolicy("default", "konnectivity-agent")}, want: v1beta1.LocalDNSStateDisabled},
		{name: "a policy that Azure enforces", change: func(o *nodeclass.Options) { o.NetworkPolicy = "azure" }, objects: []client.Object{networkPolicy("default", "deny")}, want: v1beta1.LocalDNSStateEnabled},
		{name: "kinds of Cilium without objects", kinds: map[string]int{"CiliumNetworkPolicyList": 0, "CiliumClusterwideNetworkPolicyList": 0}, want: v1beta1.LocalDNSStateEnabled},
		{name: "a policy of Cilium", kinds: map[string]int{"CiliumNetworkPolicyList": 1}, want: v1beta1.LocalDNSStateDisabled},
		{name: "a policy of Cilium for the cluster", kinds: map[string]int{"CiliumClusterwideNetworkPolicyList": 1}, want: v1beta1.LocalDNSStateDisabled},
		{name: "a policy of another engine", kinds: map[string]int{"GlobalNetworkPolicyList": 1}, want: v1beta1.LocalDNSStateEnabled},
		{name: "a policy of Calico", change: func(o *nodeclass.Options) { o.NetworkPolicy = "calico" }, kinds: map[string]int{"GlobalNetworkPolicyList": 1}, want: v1beta1.LocalDNSStateDisabled},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(o *nodeclass.Options) {
				if c.change != nil {
					c.change(o)
				}
				o.Reader = policyReader{Reader: o.Reader, kinds: c.kinds}
			})
			if w.version = "v1.36.0"; c.version != "" {
				w.version = c.version
			}
			for _, o := range c.objects {
				w.create(o.DeepCopyObject().(client.Object))
			}
			w.edit(func(class *v1beta1.AKSNodeClass) {
				prefer(class)
				if c.edit != nil {
					c.edit(class)
				}
			})
			class, _ := w.settled()
			expect(t, class, v1beta1.ConditionTypeLocalDNSReady, "True")
			if class.Status.LocalDNSState != c.want {
				t.Errorf("the state is %s, want %s", class.Status.LocalDNSState, c.want)
			}
		})
	}
}

func TestLocalDNSModes(t *testing.T) {
	t.Attr("covers", "Z129")
	for mode, want := range map[v1beta1.LocalDNSMode]v1beta1.LocalDNSState{
		"": v1beta1.LocalDNSStateDisabled, v1beta1.LocalDNSModeDisabled: v1beta1.LocalDNSStateDisabled, v1beta1.LocalDNSModeRequired: v1beta1.LocalDNSStateEnabled,
	} {
		w := newWorld(t, nil)
		w.edit(func(class *v1beta1.AKSNodeClass) { class.Spec.LocalDNS = &v1beta1.LocalDNS{Mode: mode} })
		if class, _ := w.settled(); class.Status.LocalDNSState != want {
			t.Errorf("mode %q: the state is %s, want %s", mode, class.Status.LocalDNSState, want)
		}
	}
}

func TestLocalDNSStaysAndFails(t *testing.T) {
	t.Attr("covers", "Z129")
	reader := &policyReader{err: apierrors.NewForbidden(schema.GroupResource{Resource: "networkpolicies"}, "", errors.New("not allowed"))}
	w := newWorld(t, func(o *nodeclass.Options) { reader.Reader, o.Reader = o.Reader, reader })
	w.version = "v1.36.0"
	w.edit(prefer)
	class, _, err := w.reconcile()
	expect(t, class, v1beta1.ConditionTypeLocalDNSReady, "False CheckingClusterRequirementsFailed")
	if err == nil || class.Status.LocalDNSState != "" {
		t.Errorf("the state is %q, %v", class.Status.LocalDNSState, err)
	}
	reader.err = nil
	class, again := w.settled()
	expect(t, class, v1beta1.ConditionTypeReady, "True")
	if class.Status.LocalDNSState != v1beta1.LocalDNSStateEnabled || again != 3*time.Minute {
		t.Errorf("the state is %q, again after %v", class.Status.LocalDNSState, again)
	}
	w.create(networkPolicy("default", "deny"))
	if class, _ = w.settled(); class.Status.LocalDNSState != v1beta1.LocalDNSStateEnabled {
		t.Errorf("the state went back to %q", class.Status.LocalDNSState)
	}
}
