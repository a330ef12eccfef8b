package nodeclass

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
)

// localDNSVersion is the version from which on classes that prefer LocalDNS get it, unless the settings name another.
const localDNSVersion = "1.36.0"

// localDNS decides whether new nodes have a DNS proxy. A class that prefers one and has got it keeps it, so that nodes do not drift back and
// forth.
func (c *Controller) localDNS(ctx context.Context, class *v1beta1.AKSNodeClass, set condition.Set) (again time.Duration, err error) {
	state := v1beta1.LocalDNSStateDisabled
	switch mode(class) {
	case v1beta1.LocalDNSModeRequired:
		state = v1beta1.LocalDNSStateEnabled
	case v1beta1.LocalDNSModePreferred:
		again = localDNSAgain
		enabled := class.Status.LocalDNSState == v1beta1.LocalDNSStateEnabled
		if !enabled {
			if enabled, err = c.takesLocalDNS(ctx, class); err != nil {
				set.False(v1beta1.ConditionTypeLocalDNSReady, v1beta1.ReasonCheckingClusterRequirementsFailed, err.Error())
				return 0, err
			}
		}
		if enabled {
			state = v1beta1.LocalDNSStateEnabled
		}
	}
	class.Status.LocalDNSState = state
	set.True(v1beta1.ConditionTypeLocalDNSReady)
	return again, nil
}

func mode(class *v1beta1.AKSNodeClass) v1beta1.LocalDNSMode {
	if class.Spec.LocalDNS == nil {
		return ""
	}
	return class.Spec.LocalDNS.Mode
}

// takesLocalDNS reports whether nothing in the cluster speaks against a DNS proxy: its version, and what would lose packets to it.
func (c *Controller) takesLocalDNS(ctx context.Context, class *v1beta1.AKSNodeClass) (bool, error) {
	text, err := class.CurrentKubernetesVersion()
	if err != nil {
		return false, err
	}
	have, err := version.ParseSemantic(text)
	if err != nil {
		return false, err
	}
	from, err := version.ParseGeneric(cmp.Or(c.LocalDNSVersion, localDNSVersion))
	if err != nil {
		return false, err
	}
	f, err := family.Of(class, text)
	if err != nil {
		return false, err
	}
	if have.LessThan(from) || c.NetworkPlugin == "none" || f == family.Ubuntu2004 {
		return false, nil
	}
	for _, k := range policies(c.NetworkPolicy) {
		found, err := c.finds(ctx, k)
		if found || err != nil {
			return false, err
		}
	}
	daemon := &metav1.PartialObjectMetadata{}
	daemon.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"})
	err = c.Reader.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "node-local-dns"}, daemon)
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}

// policies are the kinds of object by which a network policy engine restricts the traffic of pods; AKS's own engine restricts none of the
// proxy's.
func policies(engine string) []schema.GroupVersionKind {
	own := schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}
	switch engine {
	case "cilium":
		of := func(kind string) schema.GroupVersionKind {
			return schema.GroupVersionKind{Group: "cilium.io", Version: "v2", Kind: kind}
		}
		return []schema.GroupVersionKind{own, of("CiliumNetworkPolicy"), of("CiliumClusterwideNetworkPolicy")}
	case "calico":
		of := func(kind string) schema.GroupVersionKind {
			return schema.GroupVersionKind{Group: "crd.projectcalico.org", Version: "v1", Kind: kind}
		}
		return []schema.GroupVersionKind{own, of("NetworkPolicy"), of("GlobalNetworkPolicy")}
	}
	return nil
}

// finds reports whether there is an object of a kind, besides the one that AKS itself creates. A kind that is not served has none.
func (c *Controller) finds(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := c.Reader.List(ctx, list, client.Limit(2))
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("listing objects of kind %s: %w", kind.GroupKind(), err)
	}
	for i := range list.Items {
		if list.Items[i].Namespace != metav1.NamespaceSystem || list.Items[i].Name != "konnectivity-agent" {
			return true, nil
		}
	}
	return false, nil
}
