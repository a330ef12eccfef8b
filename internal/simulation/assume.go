package simulation

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// AssumedClass is a class that an object refers to and that is assumed to exist.
type AssumedClass struct{ Kind, Name string }

// AssumeNodeClasses adds the node classes that pools refer to, as existing and ready, so that pools can be simulated before
// their classes are written. It does so only for kinds without any object: if there is a class of the kind, a reference to
// another name is an error and stays one. The result is a new list.
func AssumeNodeClasses(objects []client.Object, c cloud.Cloud) ([]client.Object, []AssumedClass) {
	out := slices.Clone(objects)
	var assumed []AssumedClass
	for _, class := range c.NodeClasses {
		if slices.ContainsFunc(objects, func(o client.Object) bool { return o.GetObjectKind().GroupVersionKind() == class.GVK }) {
			continue
		}
		for _, name := range namesOf(objects, class.GVK) {
			out = append(out, readyClass(class, name))
			assumed = append(assumed, AssumedClass{class.GVK.Kind, name})
		}
	}
	slices.SortFunc(assumed, func(a, b AssumedClass) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return out, assumed
}

// namesOf is the names of the classes of a kind that pools refer to, sorted.
func namesOf(objects []client.Object, gvk runtimeschema.GroupVersionKind) []string {
	var names []string
	for _, o := range objects {
		pool, ok := o.(*v1.NodePool)
		if !ok {
			continue
		}
		if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil && ref.Group == gvk.Group && ref.Kind == gvk.Kind {
			names = append(names, ref.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func readyClass(class cloud.NodeClass, name string) cloud.NodeClassObject {
	o := class.New()
	o.GetObjectKind().SetGroupVersionKind(class.GVK)
	o.SetName(name)
	*o.ConditionList() = []metav1.Condition{{Type: v1.ConditionTypeReady, Status: metav1.ConditionTrue, Reason: "Assumed"}}
	return o
}
