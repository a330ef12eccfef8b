// Package kwok is the simulated cloud: an instance is only a Node object, kept alive by kwok, the
// Kubernetes simulator. It is otherwise complete and serves demonstrations, tests and simulations.
//
// An instance starts when its NodeClaim is launched, and joins the cluster, that is, gets its Node, after the node class's
// registration delay. All its properties are a function of the claim: name, provider ID and the choice among
// equally cheap offerings are derived from the claim's UID, and labels and resources are recorded on the claim at launch. A
// crash between any two steps therefore loses and duplicates nothing: the joiner creates missing Nodes.
//
// The instance ends when its Node is deleted. Delete of an instance whose Node is already being deleted returns not found,
// because Karpenter's finalizer holds the Node and waits for the instance. Until then Get returns the instance, so that its node can be
// drained, ready or not.
//
// Source: disruption specification, kwok provider; API specification, kwok provider.
package kwok

import (
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Name is the provider's name in metrics.
const Name = "kwok"

// Options choose the instance types. The zero value is the generic catalog on the real clock.
type Options struct {
	// Catalog is the name of an embedded catalog, one of CatalogNames; empty means DefaultCatalog.
	Catalog string
	// InstanceTypesFile is the path of a JSON file that replaces the catalog; empty means none.
	InstanceTypesFile string
	// Clock tells when a registration delay has passed; nil means the real clock.
	Clock clock.Clock
}

// New returns the kwok cloud on the API server of c. It fails when the catalog does not exist or is invalid.
func New(c client.Client, opts Options) (cloud.Cloud, error) {
	cat, err := loadCatalog(opts)
	if err != nil {
		return cloud.Cloud{}, err
	}
	now := opts.Clock
	if now == nil {
		now = clock.RealClock{}
	}
	class := cloud.NodeClass{
		GVK: v1alpha1.SchemeGroupVersion.WithKind("KWOKNodeClass"),
		New: func() cloud.NodeClassObject { return &v1alpha1.KWOKNodeClass{} },
	}
	rules := labelRules(cat.offeringKeys)
	types := instanceTypes(cat, rules)
	offeringLists := newOfferingLists(types, rules)
	instances := &provider{client: c, types: types, offeringLists: offeringLists, rules: rules}
	result := cloud.Cloud{
		Name:           Name,
		Provider:       instances,
		Rebooter:       instances,
		NodeClasses:    []cloud.NodeClass{class},
		Labels:         rules,
		UseCorrection:  offeringLists.use,
		RepairPolicies: repairPolicies(),
	}
	manages := result.Manages
	result.Register = func(m manager.Manager) error {
		j := &joiner{client: c, live: m.GetAPIReader(), clock: now, manages: manages, devices: devicesByType(types)}
		if err := j.register(m); err != nil {
			return fmt.Errorf("registering controller %q: %w", joinerName, err)
		}
		return nil
	}
	return result, nil
}

// labelRules are the core's rules with the labels of simulated nodes and those that distinguish offerings.
func labelRules(offeringKeys []string) v1.LabelRules {
	wellKnown := []string{LabelInstanceSize, LabelInstanceFamily, LabelInstanceCPU, LabelInstanceMemory}
	return v1.CoreLabelRules().With(append(wellKnown, offeringKeys...), []string{v1alpha1.Group})
}
