// Package translate converts between API objects and the values of the engine, once per event. It is the only place where
// quantities become integers, selectors become requirement sets and, in the other direction, plans become NodeClaims.
//
// It makes no decisions and does no I/O. Objects that are passed in are never changed.
package translate

import (
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/served"
)

// Translator translates between API objects and values of the engine, a type for each kind: labels and node affinity,
// amounts, pod specs, volumes and devices. These share resource names, label rules, and the shapes and labels of pods, so that
// equal pods share them. It is safe for concurrent use.
type Translator struct {
	labels  labelTerms
	amounts amounts
	specs   *podSpecs
	volumes volumeTerms
	devices *deviceTerms
	hashes  hashes
	costs   evictionCosts
	pods    *interned[model.Labels]
	minor   int
}

// New returns a Translator for a cloud's label rules.
func New(labels v1.LabelRules) *Translator {
	return NewWith(labels, Settings{Minor: served.Newest})
}

// podLevelResizeMinor is the first minor version of kube-scheduler that counts the requests of whole pods with their resizes by default.
const podLevelResizeMinor = 36

// Settings are what the translation depends on besides the cloud.
type Settings struct {
	// IgnorePreferences leaves out preferences of pods, for preference policy Ignore: pods that differ only in preferences then share a
	// shape. A preference that excludes all nodes with a NodePool is kept in both cases. Source: scheduling specification, preferences.
	IgnorePreferences bool
	// CompareTolerations lets tolerations with the operators Lt and Gt tolerate taints.
	CompareTolerations bool
	// RankedDeletionCosts leaves controller.kubernetes.io/pod-deletion-cost out of eviction costs, because deletion cost management writes it.
	RankedDeletionCosts bool
	// Minor is the minor version of kube-scheduler; 0 if it is unknown, which means an early one.
	Minor int
}

// NewWith returns a Translator for a cloud's label rules with the given settings.
func NewWith(labels v1.LabelRules, s Settings) *Translator {
	terms, quantities := labelTerms{labels}, amounts{resource.NewTable(), s.Minor >= podLevelResizeMinor}
	return &Translator{
		labels: terms, amounts: quantities,
		specs:   newPodSpecs(terms, quantities, s),
		volumes: volumeTerms{terms}, devices: newDeviceTerms(terms),
		hashes: newHashes(), costs: evictionCosts{ranked: s.RankedDeletionCosts}, pods: newInterned[model.Labels](), minor: s.Minor,
	}
}

// Resources returns the names of the entries of every vector that the translator creates.
func (t *Translator) Resources() *resource.Table { return t.amounts.resources }

// WellKnown reports whether pods may require the label although the NodePool does not define it.
func (t *Translator) WellKnown(key string) bool { return t.labels.rules.WellKnown[key] }

// Custom reports whether the label is the user's own: neither well-known nor restricted.
func (t *Translator) Custom(key string) bool {
	return !t.labels.rules.WellKnown[key] && !t.labels.rules.Restricted(key)
}

// Vector returns list in table order. CPU is rounded up to thousandths, all other resources up to whole units.
func (t *Translator) Vector(list corev1.ResourceList) resource.Vector { return t.amounts.vector(list) }

// ResourceList returns v in API form, without zero amounts.
func (t *Translator) ResourceList(v resource.Vector) corev1.ResourceList { return t.amounts.list(v) }

func taints(list []corev1.Taint) []model.Taint {
	out := make([]model.Taint, len(list))
	for i, t := range list {
		out[i] = model.Taint{Key: t.Key, Value: t.Value, Effect: model.Effect(t.Effect)}
	}
	return out
}
