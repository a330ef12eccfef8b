// Package kwok is the simulated cloud: an instance is nothing but a Node object, kept alive by kwok, the
// Kubernetes simulator. It is complete in every other respect and serves demonstrations, tests and what-if questions.
//
// An instance begins when its NodeClaim is launched and joins the cluster, that is, gets its Node, once the node class's
// registration delay has passed. Everything about it is a function of the claim: name, provider id and the offering among
// equally cheap ones are derived from the claim's UID, and labels and resources are recorded on the claim at launch. A
// crash between any two steps therefore loses nothing and doubles nothing: the joiner creates whatever Node is missing.
//
// The instance ends when its Node is deleted. Asked to end one whose Node is being deleted already, the provider says that it
// is gone, because Karpenter's own finalizer is what keeps the Node, and that finalizer waits for the instance. Until then it is
// there to be drained, ready or not.
//
// Source: disruption specification, kwok provider; API specification, kwok provider.
package kwok

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Name is the provider's name in metrics.
const Name = "kwok"

// notReadyToleration is how long a simulated node may be NotReady or unreachable before it is repaired.
const notReadyToleration = 10 * time.Minute

// Options choose the instance types. The zero value is the generic catalog on the real clock.
type Options struct {
	// Catalog is the name of an embedded catalog, one of CatalogNames; empty means DefaultCatalog.
	Catalog string
	// InstanceTypesFile is the path of a JSON file that replaces the catalog; empty means none.
	InstanceTypesFile string
	// Clock tells when a registration delay has passed; nil means the real clock.
	Clock clock.Clock
}

// New builds the kwok cloud on the API server that c speaks to. It fails when the catalog does not exist or is wrong.
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
	menus := newMenus(types, rules)
	result := cloud.Cloud{
		Name:          Name,
		Provider:      &provider{client: c, types: types, menus: menus, rules: rules},
		NodeClasses:   []cloud.NodeClass{class},
		Labels:        rules,
		UseCorrection: menus.use,
		RepairPolicies: []cloud.RepairPolicy{
			{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse, TolerationDuration: notReadyToleration},
			{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionUnknown, TolerationDuration: notReadyToleration},
		},
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
